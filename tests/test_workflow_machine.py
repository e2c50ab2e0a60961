"""What is asked of a machine before anything is measured on it, and what the gate says."""

import sys
from pathlib import Path

import pytest

from kernel_ledger import machine
from kernel_ledger.errors import MachineError
from kernel_ledger.gate import NotVerified, require_verified


@pytest.mark.parametrize("hidden", ["", "-1", " "])
def test_a_gpu_hidden_from_cuda_programs_is_not_there(monkeypatch, hidden):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    assert machine.gpu_count() == 0
    with pytest.raises(MachineError) as caught:
        machine.check("cuda", nsys=None, with_nsys=False)
    assert machine.REPLAY in str(caught.value) and machine.ON_CPU in str(caught.value)
    assert caught.value.exit_status == 3


def test_missing_packages_are_named_with_the_command_that_installs_them(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    for name in ("torch", "nvtx"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(MachineError, match="torch and nvtx cannot be imported") as caught:
        machine.check("cpu", nsys=None, with_nsys=False)
    assert "pip install -c requirements/constraints.txt -e '.[gpu]'" in str(caught.value)


def test_a_configured_nsys_that_is_not_there_is_refused_before_any_job(tmp_path):
    pytest.importorskip("torch")
    with pytest.raises(MachineError, match="nsys"):
        machine.check("cpu", nsys=str(tmp_path / "nsys"), with_nsys=True)


def test_the_gate_lets_only_a_verified_run_pass_and_names_every_open_check():
    checks = [
        {"id": "agreement", "status": "fail", "reason": "one kernel differs by 3 %"},
        {"id": "subscriber", "status": "unknown", "reason": None},
        {"id": "ruler", "status": "pass", "reason": ""},
    ]
    where = Path("reports/x/verdict.json")
    require_verified({"verdict": "verified", "checks": checks[2:]}, where)
    with pytest.raises(NotVerified) as caught:
        require_verified({"verdict": "refuted", "checks": checks}, where)
    text = str(caught.value)
    assert "2 of 3 checks not passed" in text and "one kernel differs by 3 %" in text
    assert "subscriber: unknown: no reason given" in text and "ruler" not in text
    assert "reports/x/summary.md" in text
    assert caught.value.exit_status == 1
