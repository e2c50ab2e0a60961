"""Results are seen whole or not at all."""

import os
import subprocess
import sys

import pytest

from kernel_ledger.partial import partial_folder, publish_files, publish_folder


def test_a_folder_replaces_the_older_one_with_all_that_lay_in_it(tmp_path):
    final = tmp_path / "torch" / "fused"
    final.mkdir(parents=True)
    (final / "stale.csv").write_text("old")
    with partial_folder(tmp_path, "torch-fused") as partial:
        (partial / "run.json").write_text("new")
        publish_folder(partial, final)
    assert os.listdir(final) == ["run.json"] and os.listdir(tmp_path) == ["torch"]


def test_an_error_leaves_the_older_results_and_no_partial_folder(tmp_path):
    (tmp_path / "timing.json").write_text("old")
    with pytest.raises(ValueError), partial_folder(tmp_path, "timing") as partial:
        (partial / "timing.json").write_text("half")
        raise ValueError
    assert os.listdir(tmp_path) == ["timing.json"] and (tmp_path / "timing.json").read_text() == "old"


def test_files_are_published_with_the_record_last(tmp_path, monkeypatch):
    (tmp_path / "run.json").write_text("old record")
    seen = []
    replace = os.replace

    def spy(source, target):
        seen.append((os.path.basename(target), (tmp_path / "run.json").exists()))
        replace(source, target)

    monkeypatch.setattr(os, "replace", spy)
    with partial_folder(tmp_path, "timing") as partial:
        for name in ("timing.json", "run.json"):
            (partial / name).write_text("new")
        publish_files(partial, tmp_path, ["timing.json", "run.json"])
    assert seen == [("timing.json", False), ("run.json", False)]


def test_leftovers_of_dead_processes_are_removed_and_those_of_living_and_other_labels_stay(tmp_path):
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    living = os.getppid()
    for name in (f".partial-torch-a-{dead.pid}", f".old-torch-a-{dead.pid}"):
        (tmp_path / name).mkdir()
    kept = {f".partial-torch-a-{living}", f".partial-torch-b-{dead.pid}", ".partial-mine"}
    for name in kept:
        (tmp_path / name).mkdir()
    with partial_folder(tmp_path, "torch-a"):
        pass
    assert set(os.listdir(tmp_path)) == kept
