"""The interval of a ratio: exact ranks, no seed, and honest about few samples."""

from __future__ import annotations

import pytest

from kernel_ledger.compare.intervals import limit_rank, ratio


@pytest.mark.parametrize(
    ("few", "many", "table"), [(5, 5, 0), (6, 6, 2), (8, 8, 7), (10, 10, 16), (5, 10, 4), (20, 20, 105)]
)
def test_the_rank_is_the_critical_value_in_the_tables_of_mann_and_whitney(few, many, table):
    """Two-sided, alpha 0.01: the greatest U that is still significant; the interval begins at the next."""
    assert limit_rank(few, many, 0.99) == table


def test_beyond_the_exact_tables_the_normal_approximation_follows_on():
    exact, approximate = limit_rank(20, 21, 0.99), limit_rank(21, 21, 0.99)
    assert 0 < approximate - exact < 12


def test_too_few_samples_have_an_estimate_and_no_interval():
    found = ratio([100, 101, 99, 100], [105, 106, 104, 105])
    assert found.estimate == pytest.approx(1.05, abs=0.001) and found.low is None and found.high is None


def test_no_sample_on_one_side_is_no_ratio():
    assert ratio([], [1]) is None and ratio([1], []) is None


def test_one_odd_sample_in_ten_moves_no_limit_far():
    base = [100_000 + 50 * i for i in range(10)]
    new = [round(x * 1.05) for x in base[:9]] + [300_000]
    found = ratio(base, new)
    assert 1.04 < found.low < found.estimate < found.high < 1.06


def test_the_same_samples_give_the_same_interval_every_time():
    assert ratio([5, 6, 7, 8, 9, 10], [6, 7, 8, 9, 10, 11]) == ratio(
        [10, 9, 8, 7, 6, 5], [11, 10, 9, 8, 7, 6]
    )
