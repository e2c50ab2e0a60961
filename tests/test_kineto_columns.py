"""Large traces: read part by part into columns, with the same book as reading event by event."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path

import kineto_oracle
import pytest

from kernel_ledger import kineto
from kernel_ledger.errors import EvidenceError
from kernel_ledger.evidence import Book, statistics
from kernel_ledger.kineto.stream import Stream
from kernel_ledger.kineto.times import column_of_ns

ROOT = Path(__file__).parents[1]
RECORDED = sorted((ROOT / "reports/h200-reference/captures").rglob("trace.json.gz"))
ANNOUNCED = {"w/v", "linear_chain/eager", "linear_chain/compiled", "ruler/spin"}
LAYOUTS = {
    "as Python writes it": {},
    "without spaces": {"separators": (",", ":")},
    "indented as Kineto does": {"indent": 2},
    "indented by one": {"indent": 1},
}


def random_trace(seed: int) -> dict:
    """Events of all categories on a few threads, in any order, that nest, cross and touch; odd arguments too."""
    rng = random.Random(seed)
    base = rng.choice([0, 5138786023414, 1790857026000000])
    events, unused = [], rng.sample(range(99), 99)
    for _ in range(rng.randrange(120)):
        category = rng.choice(["cpu_op", "cpu_op", "user_annotation", "cuda_runtime", "cuda_driver", "kernel", "kernel",
                               "gpu_memcpy", "gpu_memset", "ac2g", "overhead", "python_function"])  # fmt: skip
        start, lasting = rng.randrange(2000), rng.choice([0, 1, rng.randrange(900)])
        args = {}
        if category in ("kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver"):
            args = {"correlation": rng.randrange(40), "External id": rng.randrange(9)}
        if category.startswith("cuda_"):  # of two calls with one id the old reader mixed start and operator
            args["correlation"] = unused.pop()
        if category == "kernel" and rng.random() < 0.7:
            args |= {
                "device": 0,
                "stream": rng.randrange(9),
                "grid": [rng.randrange(9), 1, 1],
                "block": [32, 1, 1],
            }
            args |= {"graph node id": 5} if rng.random() < 0.2 else {}
        if category == "gpu_memcpy":
            args["bytes"] = rng.randrange(1 << 40)
        if category == "cpu_op" and rng.random() < 0.5:
            args["Input Dims"] = rng.choice([[], [[2, 3], []], [[1]]])
        names = {"kernel": ["_Z1kPf", "k", 'odd "}, {" name'], "user_annotation": ["w/v", "else"],
                 "gpu_memcpy": ["Memcpy DtoD (Device -> Device)"], "gpu_memset": ["Memset (Device)"],
                 "cuda_runtime": ["cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpyAsync"]}  # fmt: skip
        events.append({"ph": "X" if rng.random() < 0.95 else "i", "cat": category, "pid": 1, "tid": rng.choice([1, 2, "t"]),
                       "name": rng.choice(names.get(category, ["aten::a", "aten::b"])), "ts": base + start / 8,
                       "dur": lasting / 8, **({"args": args} if args or rng.random() < 0.5 else {})})  # fmt: skip
    said = {"WARNING": ["Dropped 3 records"]} if rng.random() < 0.2 else {}
    nested = {"about": {"traceEvents": [{"cat": "kernel"}], "text": '"traceEvents": [{'}}
    return {"schemaVersion": 1, **nested, "traceEvents": events, **said, "traceName": "t"}


def entries(book: Book) -> tuple:
    """What both readers know of a trace."""
    return book.ops, book.ranges, book.findings, book.launches_without_kernel


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(25))
def test_a_book_is_the_same_however_small_the_parts_are(tmp_path, seed, layout):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(random_trace(seed), **LAYOUTS[layout]))
    expected = entries(kineto_oracle.read(path, ANNOUNCED))
    for size in (64, 1000, 1 << 20):
        assert entries(kineto.read(path, ANNOUNCED, size)) == expected


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.parent.name)
def test_a_recorded_trace_gives_the_same_book_as_before(path):
    assert entries(kineto.read(path, ANNOUNCED, 4096)) == entries(kineto_oracle.read(path, ANNOUNCED))


@pytest.mark.parametrize("seed", range(10))
def test_the_kernel_tables_are_the_statistics_of_the_books_kernels(tmp_path, seed):
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(random_trace(seed)))
    groups: dict[tuple, list[int]] = {}
    for op in kineto_oracle.read(path, set()).ops:
        if op.level == "kernel":
            groups.setdefault((op.name, op.operator), []).append(op.duration)
    expected = {key: statistics(found) for key, found in groups.items()}
    rows = {row[:2]: row[2:] for row in kineto.attributed_kernels(path, 500).rows()}
    assert {k: (s.count, s.total, s.median, s.least, s.most) for k, s in expected.items()} == {
        key: row[:5] for key, row in rows.items()
    }
    for key, row in rows.items():
        assert row[5] == pytest.approx(expected[key].stddev)
    plain = kineto.kernels(path, 500).rows()
    assert sum(r[1] for r in plain) == sum(s.count for s in expected.values())
    assert sum(r[2] for r in plain) == sum(s.total for s in expected.values())


def test_times_are_exact_whatever_their_spelling():
    texts = [b"1790857026000000.123", b"0.001", b"12", b"1.5", b"-3.250", b"1e3", b"5138786023414.790"]
    expected = [int(Decimal(text.decode()) * 1000) for text in texts]
    assert column_of_ns(texts).tolist() == expected
    assert [column_of_ns([text])[0] for text in texts] == expected
    alike = [b"%d.%03d" % (i * 7919, i % 1000) for i in range(999)]
    assert column_of_ns(alike).tolist() == [int(Decimal(t.decode()) * 1000) for t in alike]


@pytest.mark.parametrize("text", [b"", b"null", b"1.0004", b"1.23a", b"1..234", b"--1.000", b"1e-4"])
def test_what_is_no_whole_number_of_nanoseconds_is_refused(text):
    for texts in ([text], [b"1.000", text, b"2.000"]):
        with pytest.raises(ValueError):
            column_of_ns(texts)


def test_a_trace_that_breaks_off_is_refused_wherever_it_does(tmp_path):
    whole = json.dumps(random_trace(3), indent=2)
    path = tmp_path / "trace.json"
    for cut in range(1, len(whole), len(whole) // 60):
        path.write_text(whole[:cut])
        with pytest.raises(EvidenceError):
            kineto.read(path, ANNOUNCED, 200)


def test_a_trace_is_not_held_whole(tmp_path):
    path = tmp_path / "trace.json"
    event = {"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "tid": 1}
    path.write_text(json.dumps({"traceEvents": [event] * 5000}))
    sizes = [len(events) for events in Stream(path, kineto.Event, 2000)]
    assert sum(sizes) == 5000 and max(sizes) < 100
