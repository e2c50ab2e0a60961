"""A workload may import what lies beside it, and a change there makes its captures stale."""

import sys

import pytest

from kernel_ledger import local_modules
from kernel_ledger.errors import ConfigError
from kernel_ledger.local_modules import local_modules as modules_of
from kernel_ledger.workload import load, source_hash

MODEL = (
    "def model(batch: int = 8):\n    import torch\n    return torch.nn.Identity(), (torch.zeros(batch),)\n"
)


@pytest.fixture(autouse=True)
def clean(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(local_modules, "ADDED", [])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("beside", "layers", "kernel_ledger_workload_")):
            del sys.modules[name]


@pytest.fixture
def written(tmp_path):
    def write(**sources):
        for name, text in sources.items():
            path = tmp_path / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return tmp_path / "mine.py"

    return write


def test_a_module_beside_the_file_can_be_imported_as_by_python(written):
    path = written(mine="import beside\n" + MODEL, beside="WIDTH = 3\n")
    assert load(path).name == "mine"
    assert sys.modules["beside"].WIDTH == 3


def test_all_that_is_imported_of_ones_own_is_found_however_it_is_spelled(written):
    path = written(
        mine="import torch, json, numpy\nfrom kernel_ledger import workload\nimport layers.norm as n\n"
        "def model():\n    from beside import thing\n    try:\n        import absent\n    except ImportError:\n        pass\n",
        beside="from layers import act, WIDTH\n",
    )
    folder = path.parent / "layers"
    folder.mkdir(exist_ok=True)
    (folder / "__init__.py").write_text("WIDTH = 1\n")
    (folder / "norm.py").write_text("from . import act\nfrom .deep.inner import f\n")
    (folder / "act.py").write_text("")
    (folder / "deep").mkdir()
    (folder / "deep" / "inner.py").write_text("from ..act import g\nfrom ... import beyond\n")
    found = {
        name: file.relative_to(path.parent.resolve()).as_posix() for name, file in modules_of(path).items()
    }
    assert found == {
        "beside": "beside.py",
        "layers": "layers/__init__.py",
        "layers.act": "layers/act.py",
        "layers.deep.inner": "layers/deep/inner.py",
        "layers.norm": "layers/norm.py",
    }


def test_a_change_of_an_imported_module_is_a_change_of_the_workload(written):
    path = written(mine="import beside\n" + MODEL, beside="WIDTH = 3\n")
    before = source_hash(path)
    written(beside="WIDTH = 4\n")
    assert source_hash(path) != before
    written(unrelated="WIDTH = 4\n", beside="WIDTH = 3\n")
    assert source_hash(path) == before


def test_a_file_that_imports_nothing_of_ones_own_has_the_hash_of_the_file(written):
    import hashlib

    path = written(mine="import torch\n" + MODEL)
    assert source_hash(path) == hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_workloads_of_this_repository_import_none():
    from pathlib import Path

    for path in (Path(__file__).parents[1] / "workloads").glob("*.py"):
        assert modules_of(path) == {}, path


def test_two_workloads_with_different_modules_of_one_name_are_told_so(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text("import beside\n" + MODEL)
        (tmp_path / folder / "beside.py").write_text(f"WHO = {folder!r}\n")
    load(tmp_path / "one" / "mine.py")
    with pytest.raises(ConfigError, match="different modules of the name 'beside'"):
        load(tmp_path / "two" / "mine.py")


def test_the_latest_workload_finds_what_lies_beside_it(tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "beside.py").write_text(f"WHO = {folder!r}\n")
    (tmp_path / "one" / "mine.py").write_text(MODEL)  # imports nothing yet
    (tmp_path / "two" / "mine.py").write_text("import beside\n" + MODEL)
    load(tmp_path / "one" / "mine.py")
    load(tmp_path / "two" / "mine.py")
    assert sys.modules["beside"].WHO == "two"


def test_what_is_installed_goes_before_what_lies_beside_the_file(written):
    path = written(mine="import pandas\n" + MODEL, pandas="raise RuntimeError\n")
    assert load(path).name == "mine" and modules_of(path) == {}
