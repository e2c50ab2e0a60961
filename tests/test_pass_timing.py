"""Rounds of samples: their order, when they stop, and what the noise is."""

import itertools
import random
import statistics
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")

from kernel_ledger.passes import timing  # noqa: E402

LIMITS = {"min_samples": 5, "max_samples": 40, "max_seconds": 60, "noise_pct": 1.0}

ALONE = SimpleNamespace(barrier=lambda: None, agreed=lambda ending: ending, first=True)


def measure_rounds(draw, names=("a", "b", "c"), **limits):
    orders = []

    def measure(order):
        orders.append(order)
        return {name: draw(name) for name in order}

    session = SimpleNamespace(calls=dict.fromkeys(names), group=ALONE)
    return *timing.rounds(session, {**LIMITS, **limits}, measure), orders


def test_each_round_has_every_variant_and_begins_with_another():
    samples, _, orders = measure_rounds(lambda name: 1000)
    assert [order[0] for order in orders[:4]] == ["a", "b", "c", "a"]
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)
    assert {len(values) for values in samples.values()} == {len(orders)}


def test_quiet_variants_stop_at_the_least_number_of_samples():
    samples, stopped, _ = measure_rounds(lambda name: 1000)
    assert len(samples["a"]) == 5 and set(stopped.values()) == {"noise"}


def test_one_noisy_variant_keeps_all_going_until_the_samples_are_used_up():
    noisy = random.Random(1)
    samples, stopped, _ = measure_rounds(lambda n: noisy.randrange(500, 1500) if n == "b" else 1000)
    assert len(samples["a"]) == 40 and stopped == {"a": "noise", "b": "samples", "c": "noise"}


def test_time_is_a_limit_too():
    counter = itertools.count()
    _, stopped, orders = measure_rounds(lambda name: 1000 + 400 * (next(counter) % 2), max_seconds=0)
    assert len(orders) == 1 and set(stopped.values()) == {"time"}


def test_the_noise_is_the_standard_error_of_the_median():
    generator = random.Random(5)
    medians, noises = [], []
    for _ in range(400):
        draws = [round(generator.gauss(1e6, 2e4)) for _ in range(60)]
        medians.append(statistics.median(draws))
        noises.append(timing.noise_percent(draws))
    true = 100 * statistics.stdev(medians) / statistics.mean(medians)
    assert statistics.mean(noises) == pytest.approx(true, rel=0.1)


def test_the_noise_of_too_few_samples_is_unknown():
    assert timing.noise_percent([5, 5]) is None and timing.noise_percent([5, 5, 5]) == 0


def test_a_round_on_the_cpu_is_in_whole_nanoseconds():
    samples = timing.cpu_round({"a": lambda: sum(range(1000)), "b": lambda: None}, ["b", "a"], None)
    assert list(samples) == ["b", "a"] and all(type(value) is int for value in samples.values())
