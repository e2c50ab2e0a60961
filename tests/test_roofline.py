"""Roofline: bytes and FLOPs that are known, roofs of the same run, and what is unknown said so."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from kernel_ledger.fusion.step import Step
from kernel_ledger.insight import read_cases
from kernel_ledger.plan_file import read_plan
from kernel_ledger.reconcile import read_table
from kernel_ledger.roofline import enter_roofs, picture, points
from kernel_ledger.roofline.products import bytes_moved, flops

REFERENCE = Path(__file__).parents[1] / "reports" / "h200-reference"


@pytest.fixture(scope="module")
def recorded():
    captures, table = REFERENCE / "captures", read_table(REFERENCE / "results.csv")
    cases = read_cases(read_plan(captures / "plan.json"), captures, table)
    found = [p for c in cases for p in points(c.identity("run"), c.plan, c.steps, c.rows, c.expected)]
    enter_roofs(found, table)
    return found


def of(recorded, variant, part):
    return next(p for p in recorded if p["variant"] == variant and part in p["name"])


def product(operator, shapes, types):
    return Step(operator, "library", 1.0, (), None, None, None, shapes, types)


def test_a_product_counts_two_operations_for_each_multiplication():
    step = product("aten::addmm", ((64,), (32, 16), (16, 64), (), ()), ("float",) * 3)
    assert flops(step) == 2 * 32 * 16 * 64
    assert bytes_moved(step) == 4 * (64 + 32 * 16 + 16 * 64 + 32 * 64)
    batched = product("aten::bmm", ((8, 4, 16), (8, 16, 2)), ("c10::BFloat16",) * 2)
    assert flops(batched) == 2 * 8 * 4 * 16 * 2 and bytes_moved(batched) == 2 * 8 * (64 + 32 + 8)


def test_shapes_that_do_not_fit_are_no_product():
    assert flops(product("aten::mm", ((32, 16), (8, 64)), ("float",) * 2)) is None
    assert flops(product("aten::gelu", ((32, 16),), ("float",))) is None


def test_the_recorded_product_is_the_compute_roof_of_its_run(recorded):
    gemm = of(recorded, "eager", "sm80_xmma_gemm")
    assert gemm["flops"] == 2 * 65536 * 1024 * 1024 and gemm["bound"] == "compute"
    assert gemm["flops_per_s"] == pytest.approx(50.0e12, rel=0.01) and gemm["fraction_of_roof"] == 1
    assert "the compute roof itself" in gemm["reason"]


def test_a_fused_kernel_is_held_against_the_copy_of_its_run(recorded):
    fused = of(recorded, "fused", "fused_chain_vector")
    assert fused["bytes"] == 3 * 65536 * 1024 * 4 and fused["copy_source"].startswith("copy of linear_chain")
    assert fused["fraction_of_roof"] == pytest.approx(1.04, abs=0.005) and fused["flops"] is None
    assert "FLOPs unknown" in fused["reason"]


def test_the_rulers_own_expectation_gives_its_bytes(recorded):
    assert of(recorded, "touch", "ruler_touch")["bytes"] == 2 << 30


def test_a_kernel_of_which_nothing_is_known_says_so(recorded):
    unknown = [p for p in recorded if p["bytes"] is None]
    assert unknown and all(p["bound"] == "unknown" and "bytes unknown" in p["reason"] for p in unknown)


def test_without_a_copy_there_is_no_memory_roof(recorded):
    alone = [dict(p, copy_bytes_per_s=None, reason=None) for p in recorded if p["variant"] == "fused"]
    enter_roofs(alone, [])
    assert {p["bound"] for p in alone if not p["flops"]} == {"unknown"}
    assert any("no copy" in p["reason"] for p in alone)


def test_the_picture_is_plain_svg_and_the_same_every_time(recorded):
    text = picture("<run> & 'more'", recorded)
    assert text == picture("<run> & 'more'", recorded)
    tags = {e.tag.rpartition("}")[2] for e in ElementTree.fromstring(text).iter()}
    assert {"circle", "polyline", "text"} <= tags and "script" not in tags
    ElementTree.fromstring(picture("none", []))
