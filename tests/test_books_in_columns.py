"""Columns say the same as objects: books, their statistics, and what is gathered by call, on random input."""

import random
import sqlite3
import statistics as of_python
from dataclasses import replace
from pathlib import Path

import capture_factory as factory
import nsys_oracle
import numpy as np
import pytest
from place_oracle import place as place_one_by_one

from kernel_ledger.checks.structure import overlaps
from kernel_ledger.columnar import column
from kernel_ledger.columnar.segments import covered, segments, spans, split, sums
from kernel_ledger.columnar.statistics import WIDEST, absolute_deviation
from kernel_ledger.evidence import GpuOp, Instances, Operations, RangeInstance, statistics
from kernel_ledger.nsys import book
from kernel_ledger.placing import place

ROOT = Path(__file__).parents[1]
EXPORTS = sorted((ROOT / "reports").glob("*/captures/**/report.sqlite"))
FIELDS = ("source", "findings", "launches_without_kernel", "graphs", "epoch", "rank")


def an_operation(rng: random.Random) -> GpuOp:
    start = rng.randrange(1, 400)
    return GpuOp(
        level=rng.choice(["kernel", "memory"]),
        name=rng.choice("abc"),
        symbol=rng.choice("ABC"),
        start=start,
        end=start + rng.randrange(-2, 40),
        device=rng.choice([0, 1]),
        stream=rng.choice([7, 8, None]),
        correlation=rng.randrange(6),
        grid=rng.choice([None, (1, 2, 3)]),
        launch_start=rng.choice([None, rng.randrange(300)]),
        thread=rng.choice([None, 1, "t"]),
        operator=rng.choice(["", "aten::mul"]),
        iteration=rng.choice([None, 0, 1, 2]),
        graph=rng.random() < 0.3,
        process=rng.choice([None, 1, 2]),
    )


def some_operations(seed: int, most: int = 60) -> list[GpuOp]:
    rng = random.Random(seed)
    return [an_operation(rng) for _ in range(rng.randrange(most))]


@pytest.mark.parametrize("seed", range(20))
def test_columns_hold_what_the_objects_held(seed):
    ops = some_operations(seed)
    columns = Operations.of(ops)
    assert columns == ops and len(columns) == len(ops) and bool(columns) == bool(ops)
    assert columns[3:9] == ops[3:9] and (not ops or columns[-1] == ops[-1])
    assert columns.where("name", "a") == [op for op in ops if op.name == "a"]
    assert columns.where("name", "nobody's") == []
    assert columns.take(columns.duration > 9).where("graph", True) == [
        op for op in ops if op.duration > 9 and op.graph
    ]
    assert columns.seen("operator") == {op.operator for op in ops}
    more = some_operations(seed + 1000)
    joined = Operations.joined([columns, Operations.of(more), columns.where("name", "b")])
    assert joined == [*ops, *more, *(op for op in ops if op.name == "b")]
    assert columns.where("level", "kernel").altered(process=column([5] * 99)[: len(columns.where("level", "kernel"))])\
        .decoded("process") == [5 for op in ops if op.level == "kernel"]  # fmt: skip


def random_durations(rng: random.Random) -> list[int]:
    least, width = rng.choice(
        [(0, 9), (-50, 100), (10**12, 10**6), (0, WIDEST - 1), (-(10**15), 10**16), (7, 1)]
    )
    return [least + rng.randrange(width) for _ in range(rng.choice([1, 2, 3, 10, 999, 1000]))]


@pytest.mark.parametrize("seed", range(60))
def test_statistics_of_a_column_are_those_of_the_list_to_the_last_bit(seed):
    values = random_durations(random.Random(seed))
    one, other = statistics(column(values)), statistics(values)
    for field in ("count", "total", "median", "least", "most", "stddev"):
        assert getattr(one, field) == getattr(other, field), field
        assert type(getattr(one, field)) is type(getattr(other, field)), field
    centre = of_python.median(values)
    if max(map(abs, values)) < 1 << 51:
        assert absolute_deviation(column(values), centre) == of_python.median(abs(v - centre) for v in values)


def by_call(ops: list[GpuOp]) -> dict[tuple, list[GpuOp]]:
    found: dict[tuple, list[GpuOp]] = {}
    for op in ops:
        found.setdefault((op.iteration, op.process), []).append(op)
    return found


def union(ops: list[GpuOp]) -> int:
    total, until = 0, None
    for op in sorted(ops, key=lambda o: (o.start, o.end)):
        begin = op.start if until is None else max(op.start, until)
        total += max(0, op.end - begin)
        until = op.end if until is None else max(until, op.end)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_what_is_gathered_by_call_is_what_a_dictionary_gathers(seed):
    ops = some_operations(seed)
    columns, calls = Operations.of(ops), by_call(ops).values()
    keys = columns.column("iteration"), columns.column("process")
    assert [[ops[i] for i in mine] for mine in split(keys)] == list(calls)
    rank, begin = segments(*keys)
    assert len(rank) == len(ops) and len(begin) == len(calls)
    assert sums(columns.duration, *keys).tolist() == [sum(op.duration for op in own) for own in calls]
    lasting = [max(op.end for op in own) - min(op.start for op in own) for own in calls]
    assert spans(columns.start, columns.end, *keys).tolist() == lasting
    assert covered(columns.start, columns.end, *keys).tolist() == [union(own) for own in calls]


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("processes", [(None,), (1,), (1, 2), (None, 1, 2)])
def test_operations_are_placed_as_one_after_another_is(seed, processes):
    rng = random.Random(seed)
    ranges = []
    for _ in range(rng.randrange(12)):
        start = rng.randrange(300)
        ranges.append(
            RangeInstance(rng.choice(["w/a", "w/b"]), start, start + rng.randrange(60), rng.choice(processes))
        )
    ops = [replace(op, iteration=None) for op in some_operations(seed)]
    assert place(Operations.of(ops), Instances.of(ranges)) == place_one_by_one(ops, ranges)


def overlaps_one_by_one(ops: list[GpuOp]):
    streams: dict[tuple, list[GpuOp]] = {}
    for op in ops:
        streams.setdefault((op.device, op.stream), []).append(op)
    for (_, stream), members in sorted(streams.items(), key=lambda item: str(item[0])):
        ordered = sorted(members, key=lambda o: (o.start, o.end))
        before = ordered[0]
        for after in ordered[1:]:
            one_replay = before.graph and after.graph and before.correlation == after.correlation
            if after.start < before.end and not one_replay:
                yield f"{before.name} and {after.name} overlap by {before.end - after.start} ns on stream {stream}"
            before = max(before, after, key=lambda o: o.end)


@pytest.mark.parametrize("seed", range(40))
def test_the_same_overlaps_are_told_in_the_same_order(seed):
    ops = some_operations(seed)
    assert list(overlaps(Operations.of(ops))) == list(overlaps_one_by_one(ops))


def assert_same_book(path, announced, processes=1):
    ours, theirs = book.read(path, announced, processes), nsys_oracle.read(path, announced, processes)
    for field in FIELDS:
        assert getattr(ours, field) == getattr(theirs, field), field
    assert ours.ranges == theirs.ranges
    assert ours.ops == theirs.ops


@pytest.mark.parametrize("path", EXPORTS, ids=lambda p: "/".join(p.parts[-6:-2]))
def test_a_recorded_export_gives_the_same_book_as_row_by_row(path):
    workload = path.parts[-4] if not path.parts[-3].startswith("repeat") else path.parts[-5]
    variants = [p.name for p in (path.parents[1] / "torch").iterdir()]
    names = {f"{name}/{v}" for v in variants for name in (workload, path.parents[2].name)}
    assert_same_book(path, names)


def scrambled(path: Path, seed: int) -> None:
    """Change an export at random: ids, threads, times, styles, names and domains that do not fit each other."""
    rng = random.Random(seed)
    with sqlite3.connect(path) as connection:

        def change(table: str, column: str, values: list, share: float = 0.2) -> None:
            for (row,) in connection.execute(f"SELECT rowid FROM {table}").fetchall():
                if rng.random() < share:
                    connection.execute(
                        f'UPDATE {table} SET "{column}" = ? WHERE rowid = ?', (rng.choice(values), row)
                    )

        kernels, calls, ranges = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS"
        ids = list(range(100, 140))
        threads = [factory.GLOBAL_TID, factory.GLOBAL_TID + 1, factory.GLOBAL_TID + (1 << 24)]
        for table in (kernels, "CUPTI_ACTIVITY_KIND_MEMCPY"):
            change(table, "correlationId", ids)
            change(table, "globalPid", [factory.GLOBAL_PID + (1 << 24)])
            change(table, "streamId", [7, 8])
            change(table, "graphNodeId", [None, 1, 2])
        change("CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", [1, 2, 8, 99])
        (string,) = connection.execute("SELECT max(id) FROM StringIds").fetchone()
        texts = ["cudaGraphLaunch_v10000", "cuMemAlloc", "tiny/eager", "else"]
        for number, text in enumerate(texts, string + 1):
            connection.execute("INSERT INTO StringIds VALUES (?, ?)", (number, text))
        change(calls, "correlationId", ids)
        change(calls, "globalTid", threads)
        change(calls, "nameId", [string + 1, string + 2])
        moments = [when for (when,) in connection.execute(f"SELECT start FROM {calls}")]
        change(calls, "start", moments)
        change(ranges, "end", [None, *moments], 0.3)
        change(ranges, "start", moments, 0.2)
        change(ranges, "globalTid", threads, 0.3)
        change(ranges, "eventType", [59, 60, 70, 71, 34], 0.2)
        change(ranges, "text", ["tiny/eager", "tiny/fused", "else", None], 0.2)
        change(ranges, "textId", [string + 3, string + 4, 10**6], 0.2)
        change(ranges, "domainId", [None, 0, 1, 2], 0.2)
        change(kernels, "mangledName", [None], 0.1)


@pytest.mark.parametrize("seed", range(30))
def test_a_scrambled_export_gives_the_same_book_as_row_by_row(tmp_path, seed):
    scenario = factory.tiny()
    scenario.iterations = 4
    path = tmp_path / "report.sqlite"
    factory.write_sqlite(path, scenario)
    scrambled(path, seed)
    assert_same_book(path, {"tiny/eager", "tiny/fused", "tiny/copy"}, processes=seed % 3)


def test_a_median_of_a_column_does_not_change_it():
    values = column([3, 1, 2])
    statistics(values)
    assert np.array_equal(values, [3, 1, 2])
