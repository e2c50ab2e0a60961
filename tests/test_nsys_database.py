"""The SQLite export is read whole, read-only, and with each kernel in its range."""

import hashlib
import sqlite3
from collections import Counter

import pytest
from nsys_tool import RECORDED, recorded_copy

from kernel_ledger.errors import EvidenceError
from kernel_ledger.nsys import book
from kernel_ledger.nsys.attribution import enclosing_ranges
from kernel_ledger.nsys.database import all_text, read_sqlite
from kernel_ledger.nsys.rows import RangeRow

MAIN, PROCESS = 0x1000000000001, 0x1000000000000
MINIMAL = """
CREATE TABLE StringIds (id INTEGER, value TEXT);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
"""
EVENTS = """
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER,
                          textId INTEGER, domainId INTEGER);
"""


def database(path, *parts):
    connection = sqlite3.connect(path)
    connection.executescript(MINIMAL + "".join(parts))
    connection.close()
    return path


def test_every_kernel_of_the_recording_is_in_its_announced_range():
    kernels = read_sqlite(RECORDED).kernels
    counts = Counter(k.range_path for k in kernels)
    assert counts == {("linear/eager",): 60, ("linear/fused",): 20, ("linear/compiled",): 20}
    assert all(k.start < k.end and k.call.start <= k.start for k in kernels)


def test_a_kernel_carries_symbol_geometry_and_its_launch():
    kernel = next(k for k in read_sqlite(RECORDED).kernels if k.short == "fused_chain_kernel")
    assert kernel.symbol == "_Z18fused_chain_kernelPK6float4S1_PS_m"
    assert kernel.block == (256, 1, 1) and kernel.call.name.startswith("cudaLaunchKernel")


def test_gpu_driver_versions_and_diagnostics_come_along():
    book = read_sqlite(RECORDED)
    assert book.gpus[0].name == "NVIDIA H200" and book.driver == "580.159.04"
    assert book.exporter_version == "2025.3.2.0"
    assert "Warning" in {d.severity for d in book.diagnostics}


def test_a_table_that_was_not_exported_is_none_and_not_empty():
    book = read_sqlite(RECORDED)
    assert book.memory is None and book.graph_launches is None and book.calls


def test_an_export_without_cuda_has_ranges_and_no_kernels(tmp_path):
    book = read_sqlite(database(tmp_path / "cpu.sqlite", EVENTS))
    assert book.kernels is None and book.calls is None and book.ranges == ()


def test_ranges_know_their_domain_by_the_process_that_made_it(tmp_path):
    rows = f"""
    INSERT INTO StringIds VALUES (7, 'w/eager');
    INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, 'kernel_ledger', {MAIN}, NULL, 1);
    INSERT INTO NVTX_EVENTS VALUES (5, 9, 59, NULL, {MAIN}, 7, 1);
    INSERT INTO NVTX_EVENTS VALUES (6, 8, 59, 'plain', {MAIN}, NULL, 0);
    INSERT INTO NVTX_EVENTS VALUES (7, NULL, 60, 'open', {MAIN + 0x1000000}, NULL, 1);
    """
    ranges = read_sqlite(database(tmp_path / "r.sqlite", EVENTS, rows)).ranges
    assert [(r.name, r.domain, r.end, r.style) for r in ranges] == [
        ("w/eager", "kernel_ledger", 9, "pushpop"),
        ("plain", None, 8, "pushpop"),
        ("open", None, None, "startend"),
    ]


def test_memory_operations_have_their_kind_and_size(tmp_path):
    operation = f"""
    CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id INTEGER, label TEXT);
    INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (8, 'Device-to-Device');
    CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
        streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER);
    INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 0, 1, 7, 3, {PROCESS}, 64, 8),
        (30, 40, 0, 1, 7, 4, 0, 1, 99);
    """
    memory = read_sqlite(database(tmp_path / "m.sqlite", operation)).memory
    assert [(m.kind, m.bytes, m.call) for m in memory] == [
        ("Memcpy Device-to-Device", 64, None),
        ("Memcpy kind 99", 1, None),
    ]


def test_the_same_correlation_id_of_another_process_is_not_taken_for_the_launch(tmp_path):
    other = "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET globalTid = globalTid + (1 << 24)"
    path = recorded_copy(tmp_path / "p.sqlite", other)
    kernels = read_sqlite(path).kernels
    assert all(k.call is None and k.range_path == () for k in kernels)


def test_a_negative_duration_is_kept_for_the_structure_check(tmp_path):
    reverse = "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET end = start - 5 WHERE rowid = 1"
    path = recorded_copy(tmp_path / "n.sqlite", reverse)
    assert min(k.end - k.start for k in read_sqlite(path).kernels) == -5


def test_a_recording_of_an_old_version_has_no_mangled_names(tmp_path):
    drop = "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN mangledName"
    path = recorded_copy(tmp_path / "o.sqlite", drop)
    assert {k.symbol for k in read_sqlite(path).kernels} == {None}


def test_reading_leaves_the_file_and_its_folder_as_they_were(tmp_path):
    path = recorded_copy(tmp_path / "a b?#%.sqlite")
    before = hashlib.sha256(path.read_bytes()).hexdigest()
    read_sqlite(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == before and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("size", [0, 200, 100_000])
def test_a_truncated_database_is_refused(tmp_path, size):
    path = tmp_path / "half.sqlite"
    path.write_bytes(RECORDED.read_bytes()[:size])
    with pytest.raises(EvidenceError):
        read_sqlite(path)


def test_a_missing_database_is_refused(tmp_path):
    with pytest.raises(EvidenceError, match="missing"):
        read_sqlite(tmp_path / "none.sqlite")


def test_all_text_of_a_database_can_be_searched(tmp_path):
    secret = "CREATE TABLE ODD (a TEXT, b BLOB); INSERT INTO ODD VALUES ('TOKEN=planted', x'706c616e746564');"
    found = [(t, c) for t, c, text in all_text(database(tmp_path / "s.sqlite", secret)) if "planted" in text]
    assert found == [("ODD", "a"), ("ODD", "b")]


def test_the_environment_that_a_recording_stores_is_listed(tmp_path):
    capture = """CREATE TABLE META_DATA_CAPTURE (name TEXT, value TEXT);
    INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:ENVIRONMENT_VARIABLE', 'HOME="/tmp"');
    INSERT INTO META_DATA_CAPTURE VALUES ('RATE_HZ', '0');"""
    assert read_sqlite(database(tmp_path / "e.sqlite", capture)).environment == {"HOME": "/tmp"}


def test_enclosing_ranges_are_outermost_first_on_the_same_thread_with_both_ends():
    ranges = [
        RangeRow("inner", None, 10, 20, 1, "pushpop"),
        RangeRow("outer", None, 10, 30, 1, "pushpop"),
        RangeRow("open", None, 40, None, 1, "pushpop"),
        RangeRow("elsewhere", None, 0, 100, 2, "pushpop"),
        RangeRow("not a stack", None, 0, 100, 1, "startend"),
    ]
    moments = [(1, t) for t in (9, 10, 20, 21, 35, 99)]
    found = enclosing_ranges(moments, ranges)
    both = ("outer", "inner")
    assert [found[m] for m in moments] == [(), both, both, ("outer",), (), ("open",)]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL RENAME COLUMN correlationId TO other",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME RENAME COLUMN nameId TO other",
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET demangledName = 77777777",
    ],
)
def test_an_export_of_another_schema_is_no_crash(tmp_path, statement):
    path = recorded_copy(tmp_path / "x.sqlite", statement)
    for read in (read_sqlite, lambda path: book.read(path, set())):
        with pytest.raises(EvidenceError):
            read(path)


def test_text_where_a_time_belongs_is_no_crash(tmp_path):
    path = recorded_copy(tmp_path / "x.sqlite", "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET start = 'x'")
    with pytest.raises(EvidenceError):
        book.read(path, set())


@pytest.mark.parametrize("pending", ["-wal", "-journal"])
def test_a_database_that_is_being_written_is_not_read(tmp_path, pending):
    path = recorded_copy(tmp_path / "x.sqlite")
    (tmp_path / f"x.sqlite{pending}").write_bytes(b"rows")
    with pytest.raises(EvidenceError, match="being written"):
        read_sqlite(path)
    (tmp_path / f"x.sqlite{pending}").write_bytes(b"")
    assert read_sqlite(path).kernels
