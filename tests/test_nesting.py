"""Enclosing intervals found for many moments at once, against a search for each."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kernel_ledger.columnar import column
from kernel_ledger.columnar.nesting import enclosing, innermost, innermost_by_group
from kernel_ledger.columnar.table import grouped
from kernel_ledger.evidence import statistics


def intervals(seed: int, nested: bool) -> list[tuple[int, int]]:
    rng = random.Random(seed)
    if not nested:
        starts = [rng.randrange(100) for _ in range(rng.randrange(40))]
        return [(s, s + rng.randrange(40)) for s in starts]
    found, stack, now = [], [], 0
    for _ in range(rng.randrange(80)):
        now += rng.randrange(1, 4)
        if stack and rng.random() < 0.5:
            found.append((stack.pop(), now))
        else:
            stack.append(now)
    return found


def search(found: list[tuple[int, int]], moment: int) -> int:
    ordered = sorted(range(len(found)), key=lambda i: (found[i][0], -found[i][1]))
    around = [i for i in ordered if found[i][0] <= moment <= found[i][1]]
    return around[-1] if around else -1


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_the_innermost_interval_is_the_last_one_opened_that_is_still_open(seed, nested):
    found = intervals(seed, nested)
    moments = list(range(-1, 150))
    start, end = column([s for s, _ in found]), column([e for _, e in found])
    assert innermost(start, end, column(moments)).tolist() == [search(found, m) for m in moments]


@pytest.mark.parametrize("nested", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_every_interval_that_holds_a_span_is_found_once(seed, nested):
    found, rng = intervals(seed, nested), random.Random(seed)
    spans = [(a, a + rng.randrange(5)) for a in (rng.randrange(-2, 150) for _ in range(60))]
    columns = [column([x[i] for x in part]) for part in (found, spans) for i in (0, 1)]
    pairs = sorted(zip(*(c.tolist() for c in enclosing(*columns)), strict=True))
    assert pairs == [
        (i, j) for i, (a, b) in enumerate(spans) for j, (s, e) in enumerate(found) if s <= a and b <= e
    ]


def test_intervals_of_another_group_do_not_enclose():
    found = innermost_by_group(column([1, 2]), column([0, 0]), column([9, 9]), column([2, 3]), column([5, 5]))
    assert found.tolist() == [1, -1]


@pytest.mark.parametrize("seed", range(20))
def test_a_table_has_the_exact_statistics_of_each_group(seed):
    rng = np.random.default_rng(seed)
    far = 1 << int(rng.integers(5, 60))
    keys = [rng.integers(-3, 3, 50), rng.integers(0, 2, 50) * 10**12]
    durations = rng.integers(-far, far, 50)
    groups: dict[tuple, list[int]] = {}
    for key, value in zip(zip(*(k.tolist() for k in keys), strict=True), durations.tolist(), strict=True):
        groups.setdefault(key, []).append(value)
    rows = {row[:2]: row[2:7] for row in grouped(keys, durations).rows()}
    expected = {key: statistics(values) for key, values in groups.items()}
    if far < 1 << 50:  # beyond, the oracle's own means are floats
        assert rows == {k: (s.count, s.total, s.median, s.least, s.most) for k, s in expected.items()}
    assert {k: row[:2] for k, row in rows.items()} == {k: (s.count, s.total) for k, s in expected.items()}
