"""A trace in, a book out: five hand-written events say more than a recording."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from kernel_ledger import kineto
from kernel_ledger.errors import EvidenceError

RANGE = "w/v"


def event(cat, name, ts, dur, tid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": tid, "ts": ts, "dur": dur, "args": args}


def launch(correlation, ts, tid=1, api="cudaLaunchKernel"):
    return event("cuda_runtime", api, ts, 3, tid, correlation=correlation)


def kernel(correlation, ts, dur, name="k"):
    return event(
        "kernel",
        name,
        ts,
        dur,
        7,
        correlation=correlation,
        device=0,
        stream=7,
        grid=[2, 1, 1],
        block=[32, 1, 1],
    )


def read(tmp_path: Path, *events, text: str | None = None):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress((text or json.dumps({"traceEvents": list(events)})).encode()))
    return kineto.read(path, {RANGE})


def test_times_that_a_float_cannot_hold_are_read_to_the_nanosecond(tmp_path):
    text = '{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1790857026000000.123,"dur":2.001,"args":{"correlation":1}}]}'
    (op,) = read(tmp_path, text=text).ops
    assert (op.start, op.duration) == (1790857026000000123, 2001)


def test_a_kernel_belongs_to_the_innermost_operator_around_its_launch(tmp_path):
    book = read(
        tmp_path,
        event("cpu_op", "aten::linear", 0, 100),
        event("cpu_op", "aten::addmm", 10, 50, **{"Input Dims": [[2, 3], []]}),
        launch(1, 20),
        kernel(1, 200, 5),
        launch(2, 70),
        kernel(2, 300, 5),
    )
    assert [(o.operator, o.input_shapes) for o in book.ops] == [
        ("aten::addmm", "[[2,3],[]]"),
        ("aten::linear", ""),
    ]


def test_a_foreign_external_id_does_not_move_a_kernel_to_another_operator(tmp_path):
    book = read(
        tmp_path,
        event("cpu_op", "aten::mul", 0, 10, **{"External id": 1}),
        event("cpu_op", "aten::add", 20, 10, **{"External id": 2}),
        launch(2, 5),
        kernel(2, 100, 5) | {"args": {"correlation": 2, "External id": 2, "stream": 7}},
    )
    assert book.ops[0].operator == "aten::mul"


def test_a_launch_without_an_operator_belongs_to_the_range_around_it(tmp_path):
    book = read(
        tmp_path,
        event("user_annotation", RANGE, 0, 50),
        launch(1, 20, api="cuLaunchKernelEx"),
        kernel(1, 100, 5),
    )
    assert (book.ops[0].operator, book.ops[0].range, book.ops[0].iteration) == (RANGE, RANGE, 0)


def test_a_kernel_that_another_thread_launched_is_placed_by_time(tmp_path):
    book = read(tmp_path, event("user_annotation", RANGE, 0, 50), launch(1, 20, tid=9), kernel(1, 100, 5))
    assert book.ops[0].range == RANGE


def test_rows_that_repeat_a_kernels_time_are_not_kernels(tmp_path):
    book = read(
        tmp_path,
        event("gpu_user_annotation", "## Call CompiledFxGraph", 100, 500),
        event("overhead", "Activity Buffer Request", 0, 1914),
        launch(1, 20),
        kernel(1, 100, 5),
    )
    assert [op.name for op in book.ops] == ["k"]


def test_a_launch_that_left_no_kernel_is_counted(tmp_path):
    book = read(tmp_path, launch(1, 20), launch(2, 30), kernel(2, 100, 5))
    assert book.launches_without_kernel == 1


def test_a_kernel_without_a_launch_is_a_finding_and_not_dropped(tmp_path):
    book = read(tmp_path, kernel(1, 100, 5))
    assert len(book.ops) == 1 and "no launching call" in book.findings[0].text


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"traceEvents": 3}', '{"traceEvents":[{"ph":"X","cat":"kernel","ts":NaN,"dur":1}]}',
     '{"traceEvents":[{"ph":"X","cat":"kernel","ts":Infinity,"dur":1}]}',
     '{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","dur":1,"args":{"correlation":1}}]}',
     '{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","ts":1.0004,"dur":1,"args":{"correlation":1}}]}'],
)  # fmt: skip
def test_what_is_not_a_kineto_trace_is_refused_with_its_file_named(tmp_path, text):
    with pytest.raises(EvidenceError, match=r"trace\.json\.gz"):
        read(tmp_path, text=text)


def test_a_truncated_gzip_is_refused(tmp_path):
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": []}' * 99)[:-20])
    with pytest.raises(EvidenceError, match="truncated"):
        kineto.read(path, set())


def test_copies_of_both_tools_get_one_name(tmp_path):
    copy = event(
        "gpu_memcpy", "Memcpy DtoD (Device -> Device)", 100, 5, 7, correlation=1, device=0, stream=7, bytes=8
    )
    (op,) = read(tmp_path, launch(1, 20, api="cudaMemcpyAsync"), copy).ops
    assert (op.level, op.name, op.bytes) == ("memory", "Memcpy DtoD", 8)
