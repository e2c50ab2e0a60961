"""The CSVs of `nsys stats` are read by name and exactly, or refused."""

from decimal import Decimal
from pathlib import Path

import pytest

from kernel_ledger.errors import EvidenceError
from kernel_ledger.nsys.tables import COLUMNS, range_name, read_stats_csv, split_range_symbol

DATA = Path(__file__).parent / "data" / "nsys"
KERNELS = COLUMNS["cuda_gpu_kern_sum.csv"]
HEADER = ",".join(KERNELS)


def read(tmp_path, *rows, header=HEADER):
    path = tmp_path / "kernels.csv"
    path.write_text("\n".join([header, *rows, ""]))
    return read_stats_csv(path, KERNELS)


def row(name="k", total="20", least="9", most="11"):
    return f"100.0,{total},2,10.0,10.0,{least},{most},1.4,{name}"


@pytest.mark.parametrize("workload", ["gelu", "linear"])
@pytest.mark.parametrize("name", [n for n in COLUMNS if n != "cuda_gpu_kern_sum.csv"])
def test_each_recorded_csv_of_nsys_2025_is_read(workload, name):
    assert read_stats_csv(DATA / f"{workload}_{name}", COLUMNS[name])


def test_counts_and_sums_are_exact_integers_and_means_exact_decimals():
    first = read_stats_csv(DATA / "linear_nvtx_sum.csv", COLUMNS["nvtx_sum.csv"])[0]
    assert first["Total Time (ns)"] == 6217477 and type(first["Instances"]) is int
    assert first["Avg (ns)"] == Decimal("621747.7")


def test_columns_are_found_by_name_in_any_order(tmp_path):
    reordered = ",".join(reversed(KERNELS))
    assert read(tmp_path, "k,1.4,11,9,10.0,10.0,2,20,100.0", header=reordered)[0]["Total Time (ns)"] == 20


def test_a_missing_column_is_refused_with_both_headers(tmp_path):
    with pytest.raises(EvidenceError, match="other columns") as raised:
        read(tmp_path, header=HEADER.replace("Med (ns),", ""))
    assert "Med (ns)" in raised.value.expected and "Med" not in raised.value.found


def test_an_unknown_column_is_refused(tmp_path):
    with pytest.raises(EvidenceError, match="other columns"):
        read(tmp_path, header=HEADER + ",Color")


def test_times_in_another_unit_are_refused(tmp_path):
    with pytest.raises(EvidenceError, match="other columns"):
        read(tmp_path, row(), header=HEADER.replace("(ns)", "(us)"))


def test_an_empty_file_is_a_failed_export_and_no_empty_table(tmp_path):
    path = tmp_path / "empty.csv"
    path.write_bytes(b"")
    with pytest.raises(EvidenceError, match="export of this report failed"):
        read_stats_csv(path, KERNELS)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(EvidenceError, match="missing"):
        read_stats_csv(tmp_path / "none.csv", KERNELS)


@pytest.mark.parametrize("name", ['"x"y,z"', "a\nb", '"start', '"c\nd,e"'])
def test_names_that_nsys_writes_as_invalid_csv_are_refused(tmp_path, name):
    with pytest.raises(EvidenceError, match="not valid CSV"):
        read(tmp_path, row(name), row('"void k<int, 2>(float *)"'))


@pytest.mark.parametrize("name", ["=cmd", 'q"r', "<b>", "; rm"])
def test_hostile_names_are_data(tmp_path, name):
    assert read(tmp_path, row(name))[0]["Name"] == name


@pytest.mark.parametrize("cell", ["-20", "1e3", "nan", "Infinity", "1_000", " 20", "20.5"])
def test_numbers_that_are_negative_or_none_are_refused(tmp_path, cell):
    with pytest.raises(EvidenceError, match="row 2: Total Time"):
        read(tmp_path, row(total=cell))


def test_a_least_time_above_the_greatest_is_refused(tmp_path):
    with pytest.raises(EvidenceError, match="reversed"):
        read(tmp_path, row(least="12"))


def test_a_number_that_was_not_measured_is_none_and_no_zero(tmp_path):
    assert read(tmp_path, "100.0,20,1,20.0,20.0,20,20,,k")[0]["StdDev (ns)"] is None


@pytest.mark.parametrize(
    ("printed", "expected"),
    [
        ("linear/eager", (None, "linear/eager")),
        (":linear/eager", (None, "linear/eager")),
        ("kernel_ledger:linear/eager", ("kernel_ledger", "linear/eager")),
        ("a:b:linear/eager", ("a:b", "linear/eager")),
        ("torch:other", (None, "torch:other")),
        (":other", (None, "other")),
    ],
)
def test_a_range_is_recognised_in_the_spelling_of_each_version(printed, expected):
    assert range_name(printed, {"linear/eager", "eager"}) == expected


def test_the_longest_announced_name_is_split_off_a_symbol():
    announced = ["a", "a/b"]
    assert split_range_symbol("a/b/_Z1kv", announced) == ("a/b", "_Z1kv")
    assert split_range_symbol("a/c/_Z1kv", announced) == ("a", "c/_Z1kv")


def test_a_kernel_outside_the_announced_ranges_keeps_its_whole_text():
    assert split_range_symbol("other/_Z1kv", ["a"]) == (None, "other/_Z1kv")
    assert split_range_symbol("_Z1kv", ["a"]) == (None, "_Z1kv")


@pytest.mark.parametrize("prefix", ["", ":", "kernel_ledger:"])
def test_a_domain_before_the_range_is_no_part_of_its_name(prefix):
    assert split_range_symbol(f"{prefix}w/v/k", ["w/v"]) == ("w/v", "k")
