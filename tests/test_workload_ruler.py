"""workloads/ruler.py: what it declares beforehand; the check `ruler` says whether a run came out so."""

import runpy
from pathlib import Path

import pytest

from kernel_ledger.workload import load

FILE = Path(__file__).parents[1] / "workloads" / "ruler.py"


@pytest.fixture(scope="module")
def definitions():
    return runpy.run_path(str(FILE))


def test_it_runs_on_cuda_only_and_every_variant_needs_the_extension():
    workload = load(FILE)
    assert set(workload.cases) == {"cuda"}
    assert [v.name for v in workload.variants] == ["spin", "spin_short", "touch", "many"]
    assert all(v.needs == ("extension", "cuda") and v.traffic is None for v in workload.variants)
    assert {v.name: sum(v.kernels.values()) for v in workload.variants} == {
        v.name: v.launches for v in workload.variants
    }


def test_what_is_expected_matches_what_is_launched(definitions, monkeypatch):
    torch = pytest.importorskip("torch")
    asked = type("Operators", (), {"peak_bandwidth": staticmethod(lambda like: 4_917_000_000_000)})
    monkeypatch.setattr(torch.ops, "kernel_ledger", asked, raising=False)
    properties = type("Properties", (), {"L2_cache_size": 60 << 20})
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: properties)
    context = definitions["Context"](device="cpu", seed=1)
    expected = definitions["expectations"]({}, context)
    workload = definitions["WORKLOAD"]
    assert set(expected) == {v.name for v in workload.variants}
    for variant in workload.variants:
        assert {e.kernel: e.launches for e in expected[variant.name]} == variant.kernels
    assert expected["spin"][0].least_ns == 999_000
    assert expected["touch"][0].bytes == 2 << 30


@pytest.mark.parametrize(
    ("size", "cache", "peak", "least"),
    [
        (10_000, 0, 1_000_000_000, 20_000),
        (10_000, 4_000, 1_000_000_000, 12_000),
        (10_000, 20_000, 1_000_000_000, 0),
        (10_000, 0, 0, 0),
    ],
    ids=["no cache", "a cache", "all in cache", "unknown peak"],
)
def test_the_least_time_of_a_touch_allows_for_what_the_cache_keeps(definitions, size, cache, peak, least):
    assert definitions["least_touch_ns"](size, cache, peak) == least
