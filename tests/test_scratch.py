"""A launcher's temporary folder goes with it, or with the next one."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

import kernel_ledger.scratch
from kernel_ledger.scratch import PREFIX, scratch

SOURCE = str(Path(kernel_ledger.scratch.__file__).parents[1])
HOLDER = """
import time
from kernel_ledger.scratch import scratch
with scratch() as folder:
    (folder / "raw").write_text("data")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_it_is_gone_afterwards(temporary):
    with scratch() as folder:
        (folder / "file").touch()
        assert folder.parent == temporary
    assert list(temporary.iterdir()) == []


def test_that_of_a_killed_launcher_is_removed_by_the_next_and_that_of_a_living_one_is_not(temporary):
    environment = {**os.environ, "PYTHONPATH": SOURCE, "TMPDIR": str(temporary)}
    command = [sys.executable, "-c", HOLDER]
    holder = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
    theirs = holder.stdout.readline().strip()
    (temporary / f"{PREFIX}foreign").mkdir()
    with scratch():
        assert theirs in map(str, temporary.iterdir())
    holder.kill()
    holder.wait()
    with scratch():
        assert theirs not in map(str, temporary.iterdir())
    assert [path.name for path in temporary.iterdir()] == [f"{PREFIX}foreign"]


def test_an_empty_one_that_a_kill_left_without_its_mark_is_removed_when_it_is_old(temporary):
    for name, age_s in (("old", 3600), ("new", 0), ("full", 3600)):
        folder = temporary / f"{PREFIX}{name}"
        folder.mkdir()
        if name == "full":
            (folder / "someone's").touch()
        os.utime(folder, times=(time.time() - age_s,) * 2)
    with scratch():
        pass
    assert sorted(path.name for path in temporary.iterdir()) == [f"{PREFIX}full", f"{PREFIX}new"]


def test_the_mark_is_removed_last(temporary, monkeypatch):
    with scratch() as folder:
        (folder / "a").mkdir()
        (folder / "raw").touch()
        seen = []
        real = kernel_ledger.scratch.shutil.rmtree
        monkeypatch.setattr(
            kernel_ledger.scratch.shutil,
            "rmtree",
            lambda path, **options: (
                seen.append(sorted(p.name for p in Path(path).iterdir())),
                real(path, **options),
            ),
        )
    assert seen[-1] == [".in-use"] and list(temporary.iterdir()) == []
