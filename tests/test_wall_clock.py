"""The host's clock in the timing pass: the GPU is idle before and after each call, and variants alternate."""

from types import SimpleNamespace

import pytest

pytest.importorskip("torch")


def test_each_call_is_between_two_waits_for_the_gpu_and_variants_alternate():
    from kernel_ledger.passes.timing import wall_clock

    happened = []
    calls = {name: lambda name=name: happened.append(name) for name in "ab"}
    session = SimpleNamespace(calls=calls, synchronize=lambda: happened.append("wait"))
    samples = wall_clock(session, 3)
    assert happened == ["wait", "a", "wait", "wait", "b", "wait"] * 3
    assert {name: len(values) for name, values in samples.items()} == {"a": 3, "b": 3}
    assert all(value > 0 for values in samples.values() for value in values)
