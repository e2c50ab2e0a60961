"""Evidence that is not there, or that contradicts itself, is never taken for a healthy capture."""

from __future__ import annotations

import json
from dataclasses import replace

import capture_factory as factory
import pytest
from test_reconcile import reconciled

CASE = "tiny/n1024"
TIMING, NSYS, EAGER = "run.json", "nsys/run.json", "torch/eager/run.json"


def altered(value, path, new):
    """Put ``new`` at a path of keys; None removes the key."""
    *above, last = path
    for key in above:
        value = value[key]
    if new is None:
        del value[last]
    else:
        value[last] = new


def judged(tmp_path, name, path, new):
    """The statuses and reasons of the checks after one change of one file of the capture."""
    captures = factory.written(tmp_path)
    file = captures / CASE / name if name else captures / "plan.json"
    value = json.loads(file.read_text())
    altered(value, path, new)
    file.write_text(json.dumps(value))
    if name in ("numerics.json", "timing.json"):
        record = json.loads((captures / CASE / TIMING).read_text())
        record["files"][name] = factory.sha256(file)
        (captures / CASE / TIMING).write_text(json.dumps(record))
    return told(captures, tmp_path)


def told(captures, tmp_path):
    _, verdict = reconciled(captures, tmp_path / "out")
    return {c["id"]: (c["status"], c["reason"] or "") for c in verdict["checks"]}


CHANGES = [
    ("freshness", "fail", TIMING, ["files"], {}, "timing: its record vouches for no file"),
    ("freshness", "fail", TIMING, ["files", "timing.json"], None, "timing.json"),
    ("freshness", "fail", TIMING, ["files", "numerics.json"], None, "numerics.json"),
    ("freshness", "fail", NSYS, ["files", "report.nsys-rep"], None, "report.nsys-rep"),
    ("freshness", "fail", NSYS, ["files"], None, "nsys: its record vouches for no file"),
    ("freshness", "fail", EAGER, ["files"], {}, "torch/eager: its record vouches for no file"),
    ("freshness", "fail", EAGER, ["files", "trace.json.gz"], None, "trace.json.gz"),
    ("freshness", "fail", EAGER, ["files", "key_averages.txt"], None, "key_averages.txt"),
    ("freshness", "fail", EAGER, ["files", "key_averages.csv"], None, "key_averages.csv"),
    ("freshness", "fail", "nsys/export.json", ["reports", "nvtx_sum.csv", "sha256"], None, "nvtx_sum.csv"),
    ("numerics", "unknown", TIMING, ["output_sha256"], {}, "fused's output is missing in timing"),
    ("numerics", "unknown", EAGER, ["output_sha256"], None, "eager's output is missing in torch/eager"),
    ("numerics", "unknown", NSYS, ["output_sha256", "fused"], None, "fused's output is missing in nsys"),
    ("numerics", "unknown", TIMING, ["tf32"], None, "timing did not state"),
    ("numerics", "unknown", EAGER, ["tf32"], {}, "torch/eager did not state"),
    ("numerics", "unknown", "numerics.json", ["run", "tf32"], None, "numerics did not state"),
    ("numerics", "fail", "numerics.json", ["tf32"], True, "TF32 was on in numerics"),
    ("sameness", "fail", EAGER, ["announced", "tiny/eager"], 9, "announced: torch/eager"),
    ("sameness", "fail", NSYS, ["announced"], {}, "announced: nsys"),
    ("sameness", "fail", TIMING, ["exit_status"], 1, "timing ended with 1"),
    ("sameness", "fail", EAGER, ["exit_status"], 143, "torch/eager ended with 143"),
    ("sameness", "pass", NSYS, ["exit_status"], 143, ""),
    ("sameness", "fail", EAGER, ["gpu", "name"], "NVIDIA A100", "gpu.name differs"),
    ("sameness", "fail", EAGER, ["workload_sha256"], "ef" * 32, "workload_sha256 differs"),
    ("sameness", "fail", None, ["cases", 0, "source_sha256"], "ef" * 32, "workload_sha256 differs: plan"),
    *(
        ("sameness", "fail", EAGER, ["versions", tool], "0", f"versions.{tool} differs")
        for tool in ("cuda", "cudnn", "kernel_ledger", "triton", "nvcc", "cupti")
    ),
    ("sameness", "pass", EAGER, ["versions", "triton"], None, ""),
    ("structure", "fail", "timing.json", ["variants", "fused", "median_ns"], 1, "fused's median is 1 ns"),
]


@pytest.mark.parametrize(
    ("check", "status", "name", "path", "new", "text"), CHANGES, ids=lambda v: str(v)[:40]
)
def test_one_changed_statement_is_answered(tmp_path, check, status, name, path, new, text):
    found, reason = judged(tmp_path, name, path, new)[check]
    assert found == status and text in reason, reason


def test_a_numerics_entry_without_a_hash_is_not_taken_on_trust(tmp_path):
    path = ["variants", "fused", "sha256"]
    status, reason = judged(tmp_path, "numerics.json", path, None)["numerics"]
    assert status != "pass" and "fused" in reason and "numerics" in reason


def test_no_pass_says_which_gpu_it_ran_on(tmp_path):
    captures = factory.written(tmp_path)
    for file in (captures / CASE).rglob("*.json"):
        value = json.loads(file.read_text())
        for record in (value, value.get("run", {})):
            if "gpu" in record:
                record["gpu"] = None
        file.write_text(json.dumps(value))
    status, reason = told(captures, tmp_path)["sameness"]
    assert status == "unknown" and "timing does not say which GPU" in reason


def test_a_variant_without_output_needs_no_hash(tmp_path):
    captures = factory.written(tmp_path)
    for file in (captures / CASE).rglob("run.json"):
        value = json.loads(file.read_text())
        value["output_sha256"] = {}
        file.write_text(json.dumps(value))
    file = captures / CASE / "numerics.json"
    value = json.loads(file.read_text())
    for entry in value["variants"].values():
        entry |= {"shape": [], "dtype": [], "sha256": None, "reason": "no output, nothing to compare"}
    value["run"]["output_sha256"] = {}
    file.write_text(json.dumps(value))
    assert told(captures, tmp_path)["numerics"][0] == "pass"


def test_the_ruler_answers_for_another_block(tmp_path):
    ruler = factory.ruler()
    ruler.variants["spin"] = [replace(ruler.variants["spin"][0], block=(64, 1, 1))]
    status, reason = told(factory.written(tmp_path, factory.tiny(), ruler), tmp_path)["ruler"]
    assert status == "fail" and "ruler_spin has block (32, 1, 1)" in reason
