"""Two passes never measure on one GPU at a time, and the waiting one says for whom it waits."""

import json
import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from kernel_ledger import exclusive
from kernel_ledger.errors import MachineError

SOURCE = str(Path(exclusive.__file__).parents[1])
HOLDER = {"command": "timing linear_chain/rows8", "run": "first"}
# holds the lock, says so, and hands the descriptor to a child that outlives it
LAUNCHER = """
import subprocess, sys, time
from pathlib import Path
from kernel_ledger.exclusive import gpu_lock
holder = {"command": "torch pass", "run": "other"}
with gpu_lock("GPU-1", holder=holder, folder=Path(sys.argv[1])) as descriptor:
    if len(sys.argv) > 2:
        subprocess.Popen(["sleep", sys.argv[2]], pass_fds=[descriptor], stdout=subprocess.DEVNULL)
    print("held", flush=True)
    time.sleep(60)
"""


def start(folder, *arguments):
    command = [sys.executable, "-c", LAUNCHER, str(folder), *arguments]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": SOURCE}, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"held\n"
    return process


def take(folder, wait_s=0.0, said=None):
    say = (said if said is not None else []).append
    return exclusive.gpu_lock("GPU-1", holder=HOLDER, folder=folder, wait_s=wait_s, say=say)


def test_a_free_gpu_is_taken_without_a_word(tmp_path):
    said = []
    with take(tmp_path, said=said) as descriptor:
        assert os.fstat(descriptor)
    assert said == []


def test_the_lock_says_who_holds_it(tmp_path):
    with take(tmp_path):
        facts = json.loads((tmp_path / "GPU-1.lock").read_text())
    assert facts["pid"] == os.getpid() and facts["command"] == HOLDER["command"] and facts["run"] == "first"
    assert facts["since"].startswith("20")


def test_a_taken_gpu_is_refused_after_the_limit_naming_the_holder(tmp_path):
    holder = start(tmp_path)
    try:
        with pytest.raises(MachineError) as caught, take(tmp_path):
            pass
        assert f"pid {holder.pid} (torch pass, run other) since 20" in str(caught.value)
        assert "gone" not in str(caught.value)
    finally:
        holder.kill()
        holder.wait()


def test_the_waiting_one_says_for_whom_and_goes_on_when_it_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(exclusive, "POLL_S", 0.05)
    holder, said = start(tmp_path), []
    threading.Timer(0.5, holder.kill).start()
    with take(tmp_path, wait_s=20, said=said):
        pass
    holder.wait()
    assert len(said) == 1 and f"held by pid {holder.pid}" in said[0]


def test_an_orphan_of_a_killed_launcher_keeps_the_gpu(tmp_path):
    holder = start(tmp_path, "2.5")
    holder.kill()
    holder.wait()
    with pytest.raises(MachineError, match="a child of it still measures"), take(tmp_path):
        pass
    with take(tmp_path, wait_s=20):
        pass


def test_after_a_clean_end_a_leftover_helper_does_not_hold_the_gpu(tmp_path):
    with take(tmp_path) as descriptor:
        command = [sys.executable, "-c", "import time; time.sleep(20)"]
        helper = subprocess.Popen(command, pass_fds=[descriptor])
    with take(tmp_path):
        pass
    helper.kill()
    helper.wait()


def test_other_gpus_are_not_held(tmp_path):
    with take(tmp_path), exclusive.gpu_lock("GPU-2", holder=HOLDER, folder=tmp_path, wait_s=0):
        pass


def test_folder_and_file_are_open_to_all_users(tmp_path):
    before = os.umask(0o077)
    try:
        with take(tmp_path / "locks"):
            pass
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "locks").stat().st_mode) == 0o1777
    assert stat.S_IMODE((tmp_path / "locks" / "GPU-1.lock").stat().st_mode) == 0o666


def test_a_link_in_place_of_the_lock_file_is_refused(tmp_path):
    (tmp_path / "GPU-1.lock").symlink_to(tmp_path / "victim")
    with pytest.raises(MachineError, match="cannot be opened"), take(tmp_path):
        pass
    assert not (tmp_path / "victim").exists()


def test_a_lock_file_with_odd_text_does_not_confuse(tmp_path):
    (tmp_path / "GPU-1.lock").write_text("half a li")
    descriptor = os.open(tmp_path / "GPU-1.lock", os.O_RDONLY)
    assert "not yet said" in exclusive.describe_holder(descriptor)
    os.close(descriptor)
    started = time.monotonic()
    with take(tmp_path):
        assert time.monotonic() - started < 1
