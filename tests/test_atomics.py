"""Outputs whose bytes differ from pass to pass: allowed where the workload says how far they may be apart."""

from __future__ import annotations

import json

import capture_factory as factory
import pytest
from test_reconcile import reconciled, statuses

NORMS = {"l1": 1000.0, "l2": 40.0, "alternating": 3.0}


def edit(path, change):
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def written(tmp_path, *, stated: bool, other: dict | None):
    """A capture in which the torch pass of `fused` computed other bytes, with these norms."""
    captures = factory.written(tmp_path)
    case = captures / "tiny/n1024"
    if stated:
        edit(captures / "plan.json", lambda p: p["cases"][0].update(output_rtol={"fused": 1e-6}))
    for record in ("run.json", "nsys/run.json"):
        edit(case / record, lambda r: r.update(output_norms={"fused": NORMS}))

    def differs(record):
        record["output_sha256"]["fused"] = "ee" * 32
        record["output_norms"] = {} if other is None else {"fused": other}

    edit(case / "torch/fused/run.json", differs)
    edit(case / "numerics.json", lambda n: n["run"].update(output_norms={"fused": NORMS}))
    factory_hash(case)
    return captures


def factory_hash(case):
    """numerics.json was changed above: its hash is recorded anew, as its pass would have."""
    from kernel_ledger.files import sha256

    edit(case / "run.json", lambda r: r["files"].update({"numerics.json": sha256(case / "numerics.json")}))


@pytest.mark.parametrize(
    ("stated", "other", "status"),
    [
        (True, NORMS | {"alternating": 3.0009}, "pass"),
        (True, NORMS | {"alternating": 3.0011}, "fail"),
        (True, NORMS | {"l2": float("nan")}, "fail"),
        (True, None, "fail"),
        (False, NORMS, "fail"),
    ],
)
def test_other_bytes_pass_only_within_the_stated_tolerance(tmp_path, stated, other, status):
    _, verdict = reconciled(written(tmp_path, stated=stated, other=other), tmp_path / "out")
    assert statuses(verdict)["numerics"] == status
