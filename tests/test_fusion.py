"""Fusion candidates: bytes from the data flow or from shapes, chains, Amdahl, and prediction beside result."""

import gzip
import json
import shutil
from pathlib import Path

import pytest
from capture_factory import Launch, Scenario, tiny, written

from kernel_ledger.fusion import achieved_rows, candidate_rows
from kernel_ledger.insight import read_cases
from kernel_ledger.plan_file import read_plan
from kernel_ledger.reconcile import read_table

REFERENCE = Path(__file__).parents[1] / "reports" / "h200-reference"
ELEMENTWISE = "_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi"
N = 1 << 20


@pytest.fixture(scope="module")
def reference():
    """The cases of the recorded run by workload."""
    captures = REFERENCE / "captures"
    rows = read_table(REFERENCE / "results.csv")
    return {c.plan.workload: c for c in read_cases(read_plan(captures / "plan.json"), captures, rows)}


def rows_of(case, variant):
    return candidate_rows(case.identity("run", variant), case.steps[variant], case.row(variant, "block"))


def test_the_recorded_chain_is_five_kernels_from_eleven_tensors_to_three(reference):
    first, gemm = rows_of(reference["linear_chain"], "eager")
    assert (first["rank"], first["kind"], first["kernels"]) == (1, "candidate", 5)
    assert (first["per_element_before"], first["per_element_after"]) == (11, 3)
    assert first["operators"] == "aten::mul → aten::add → aten::gelu → aten::add → aten::clamp"
    assert gemm["kind"] == "library" and "not worth rewriting" in gemm["reason"]


def test_the_prediction_is_within_a_tenth_of_what_was_measured(reference):
    case = reference["linear_chain"]
    fused = next(row for row in achieved(case) if row["variant"] == "fused")
    assert fused["predicted_chain_ratio"] == pytest.approx(11 / 3, abs=1e-4)
    assert fused["achieved_chain_ratio"] == pytest.approx(3.80, abs=0.01) and abs(fused["residual_pct"]) < 10
    assert (
        "the whole call gains 1.18×, because that part is 20.1% of eager's GPU time" in fused["explanation"]
    )
    assert "were it gone, the call's GPU work would be 1.25× as fast" in fused["explanation"]
    assert fused["achieved_block_ratio"] == pytest.approx(fused["predicted_block_ratio"], rel=0.01)
    assert "104.1%" in fused["explanation"] and "62.06 waves" in fused["explanation"]


def test_a_residual_is_the_quotient_of_both_rates(reference):
    for row in achieved(reference["linear_chain"]):
        quotient = row["achieved_chain_ratio"] / row["predicted_chain_ratio"]
        assert quotient == pytest.approx(row["variant_of_copy"] / row["baseline_of_copy"], rel=0.01)


def test_without_a_data_flow_the_assumption_is_stated_and_use_counts_are_unknown(tmp_path):
    captures = tmp_path / "captures"
    shutil.copytree(REFERENCE / "captures", captures)
    for flow in captures.rglob("dataflow.json"):
        flow.unlink()
    rows = read_table(REFERENCE / "results.csv")
    linear_chain = read_cases(read_plan(captures / "plan.json"), captures, rows)[0]
    first = rows_of(linear_chain, "eager")[0]
    assert first["use_count"] == "unknown" and first["kept"] is None and "assumed" in first["reason"]


def achieved(case):
    return achieved_rows(case.identity("run"), case.plan, case.steps, case.rows, 60 << 20)


def tensor(buffer, elements=N):
    return {"buffer": buffer, "offset": 0, "shape": [elements], "strides": [1], "dtype": "float32", "elements": elements,
            "bytes": 4 * elements}  # fmt: skip


def operator(name, reads, writes):
    entry = {"operator": name, "pointwise": True, "shapes": [[N]] * len(reads)}
    return entry | {"reads": list(map(tensor, reads)), "writes": list(map(tensor, writes))}


def chain(tmp_path, operators, outlive, kernels=None, only_written=False):
    """The rows of one variant that launches a pointwise kernel for each recorded operator."""
    launches = [
        Launch(ELEMENTWISE, entry["operator"], 100_000, shapes=entry["shapes"]) for entry in operators
    ]
    scenario = Scenario(variants={"eager": kernels or launches}, roles={"eager": "variant"}, iterations=3)
    captures = written(tmp_path, scenario)
    flow = {"eager": {"reason": None, "operators": operators, "outlive": outlive}}
    (captures / "tiny" / "n1024" / "dataflow.json").write_text(json.dumps({"format": 1, "variants": flow}))
    return captures if only_written else candidates(captures)


def candidates(captures):
    (case,) = read_cases(read_plan(captures / "plan.json"), captures, [])
    return candidate_rows(case.identity("run", "eager"), case.steps["eager"], None)


def test_an_intermediate_that_is_used_once_is_neither_written_nor_read(tmp_path):
    (row,) = chain(tmp_path, [operator("aten::mul", [0], [1]), operator("aten::add", [1, 2], [3])], [0, 2, 3])
    assert (row["per_element_before"], row["per_element_after"]) == (5, 3)
    assert (row["use_count"], row["intermediates"], row["kept"], row["reason"]) == ("known", 1, 0, None)


def test_an_intermediate_that_outlives_the_call_is_still_written(tmp_path):
    (row,) = chain(tmp_path, [operator("aten::mul", [0], [1]), operator("aten::add", [1], [2])], [0, 1, 2])
    assert (row["per_element_before"], row["per_element_after"], row["kept"]) == (4, 3, 1)
    assert "still written" in row["reason"]


def test_an_intermediate_that_a_later_product_reads_is_still_written(tmp_path):
    gemm = operator("aten::mm", [1, 2], [4]) | {"pointwise": False}
    operators = [operator("aten::mul", [0], [1]), operator("aten::add", [1], [2]), gemm]
    first = chain(tmp_path, operators, [0, 4])[0]
    assert (first["kind"], first["per_element_after"], first["kept"]) == ("candidate", 3, 1)


def test_a_tensor_that_is_read_twice_by_one_chain_is_read_once_after_fusing(tmp_path):
    (row,) = chain(tmp_path, [operator("aten::mul", [0, 0], [1]), operator("aten::add", [1, 0], [2])], [0, 2])
    assert (row["per_element_before"], row["per_element_after"]) == (5, 2)


def test_neighbours_that_share_no_tensor_are_no_chain(tmp_path):
    rows = chain(tmp_path, [operator("aten::mul", [0], [1]), operator("aten::add", [2], [3])], [0, 1, 2, 3])
    assert [row["kind"] for row in rows] == ["alone", "alone"]


def test_two_chains_are_ranked_by_what_they_save_of_the_call(tmp_path):
    short = [operator("aten::mul", [0], [1]), operator("aten::add", [1], [2])]
    product = operator("aten::mm", [2], [3]) | {"pointwise": False}
    long = [
        operator("aten::tanh", [3], [4]),
        operator("aten::mul", [4], [5]),
        operator("aten::add", [5], [6]),
    ]
    first, second, gemm = chain(tmp_path, [*short, product, *long], [0, 6])
    assert (first["kernels"], second["kernels"], gemm["kind"]) == (3, 2, "library")
    assert first["predicted_block_ratio"] == 1.5 and second["predicted_block_ratio"] == 1.2


def test_a_flow_of_another_program_is_not_believed(tmp_path):
    operators = [operator("aten::mul", [0], [1]), operator("aten::add", [1], [2])]
    fused = [Launch("triton_poi_fused_0", "triton_poi_fused_0", 100_000)]
    (row,) = chain(tmp_path, operators, [0, 2], kernels=fused)
    assert row["kind"] == "own"


def test_a_view_that_the_profiler_did_not_see_does_not_spoil_the_flow(tmp_path):
    view = operator("aten::detach", [1], []) | {"pointwise": False}
    operators = [operator("aten::mul", [0], [1]), view, operator("aten::add", [1], [2])]
    launches = [Launch(ELEMENTWISE, name, 100_000, shapes=[[N]]) for name in ("aten::mul", "aten::add")]
    (row,) = chain(tmp_path, operators, [0, 2], kernels=launches)
    assert (row["use_count"], row["per_element_after"]) == ("known", 2)


def test_a_kernel_launched_from_python_reads_what_nobody_knows(tmp_path):
    """What it may read is still written before it."""
    operators = [operator("aten::mul", [0], [1]), operator("aten::add", [1], [2])]
    launches = [Launch(ELEMENTWISE, entry["operator"], 100_000, shapes=[[N]]) for entry in operators]
    outside = Launch("my_triton_kernel", "", 100_000, shapes=[])
    captures = chain(tmp_path, operators, [0, 2], kernels=[*launches, outside], only_written=True)
    trace = captures / "tiny" / "n1024" / "torch" / "eager" / "trace.json.gz"
    value = json.loads(gzip.decompress(trace.read_bytes()))
    value["traceEvents"] = [e for e in value["traceEvents"] if e["name"]]
    trace.write_bytes(gzip.compress(json.dumps(value).encode()))
    rows = candidates(captures)
    assert [row["kind"] for row in rows] == ["candidate", "own"] and rows[0]["kept"] == 1


def test_every_workload_has_rows_and_none_is_guessed(tmp_path):
    captures = written(tmp_path, tiny())
    (case,) = read_cases(read_plan(captures / "plan.json"), captures, [])
    for variant in case.plan.variants:
        rows = rows_of(case, variant)
        assert rows and all(row["reason"] for row in rows)
