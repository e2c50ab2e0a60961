"""What makes a pass stale: the files that its process imports, and no others."""

from pathlib import Path

from workflow_copy import ROOT

from kernel_ledger.sources import imported_sources
from kernel_ledger.study import pass_sources, script_sources


def test_imports_are_followed_through_packages_and_functions(tmp_path):
    package = tmp_path / "kernel_ledger"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "inner/__init__.py").write_text("from ..far import x\n")
    (package / "inner/leaf.py").write_text("from . import twin\n")
    (package / "inner/twin.py").write_text("import json\n")
    (package / "far.py").write_text("def x():\n    from .lazy import y\n")
    (package / "lazy.py").write_text("")
    (package / "unused.py").write_text("")
    script = tmp_path / "script.py"
    script.write_text("import kernel_ledger.inner.leaf\n")
    found = [Path(p).relative_to(tmp_path).as_posix() for p in imported_sources([script], package)]
    assert found == [
        "kernel_ledger/far.py",
        "kernel_ledger/inner/__init__.py",
        "kernel_ledger/inner/leaf.py",
        "kernel_ledger/inner/twin.py",
        "kernel_ledger/lazy.py",
        "script.py",
    ]


def test_a_pass_depends_on_what_it_runs_and_not_on_the_report(monkeypatch):
    monkeypatch.chdir(ROOT)
    sources = pass_sources("scripts/torch_pass.py")
    assert {"scripts/torch_pass.py", "src/kernel_ledger/process.py", "src/kernel_ledger/workload.py"} <= set(
        sources
    )
    assert any(s.startswith("src/kernel_ledger/passes/") for s in sources)
    for part in ("reconcile", "verdict", "report", "checks", "config"):
        assert not any(f"/{part}" in s for s in sources), part


def test_the_reconciliation_does_not_depend_on_the_passes(monkeypatch):
    monkeypatch.chdir(ROOT)
    assert not any("/passes/" in s for s in script_sources("scripts/reconcile.py"))
