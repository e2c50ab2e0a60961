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
from kernel_ledger.liveness import birth_of

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

OTHER_USER = """
import os, sys
from pathlib import Path
from kernel_ledger import entry
from kernel_ledger.exclusive import gpu_lock
def main():
    os.setuid(65534)  # nobody
    with gpu_lock("GPU-1", holder={}, folder=Path(sys.argv[1]), wait_s=0):
        pass
entry.run(main)
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


def test_a_later_process_with_the_holders_number_is_not_taken_for_it(tmp_path):
    facts = {"pid": os.getpid(), "birth": "1", "command": "c", "run": "r", "since": "s"}
    (tmp_path / "GPU-1.lock").write_text(json.dumps(facts))
    assert "that process is gone" in described(tmp_path / "GPU-1.lock")
    (tmp_path / "GPU-1.lock").write_text(json.dumps(facts | {"birth": birth_of(os.getpid())}))
    assert "gone" not in described(tmp_path / "GPU-1.lock")


def described(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return exclusive.describe_holder(descriptor)
    finally:
        os.close(descriptor)


def test_what_others_wrote_into_the_file_does_not_reach_the_terminal_as_it_is(tmp_path):
    facts = {"pid": 10**20, "command": "\x1b[2Jboo\n" + "x" * 999, "run": "r", "since": "s"}
    (tmp_path / "GPU-1.lock").write_text(json.dumps(facts))
    assert described(tmp_path / "GPU-1.lock").isprintable() and len(described(tmp_path / "GPU-1.lock")) < 500


def test_after_a_clean_end_the_file_names_nobody(tmp_path):
    with take(tmp_path):
        pass
    assert (tmp_path / "GPU-1.lock").read_bytes() == b""


def test_a_lock_file_that_was_deleted_while_someone_waited_is_not_locked_in_vain(tmp_path, monkeypatch):
    monkeypatch.setattr(exclusive, "POLL_S", 0.05)
    holder = start(tmp_path)

    def delete_and_end():
        (tmp_path / "GPU-1.lock").unlink()
        holder.kill()

    threading.Timer(0.5, delete_and_end).start()
    with take(tmp_path, wait_s=20), pytest.raises(MachineError, match="still taken"), take(tmp_path):
        pass
    holder.wait()


def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path):
    (tmp_path / "file").touch()
    with (
        pytest.raises(MachineError, match="give all users access to .*file/locks"),
        take(tmp_path / "file/locks"),
    ):
        pass


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@pytest.mark.parametrize(("mode", "status"), [(0o666, 0), (0o600, 3)])
def test_a_lock_file_of_another_user_is_shared_or_named(tmp_path, mode, status):
    with take(tmp_path / "locks"):
        pass
    (tmp_path / "locks" / "GPU-1.lock").chmod(mode)
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o755)
    command = [sys.executable, "-c", OTHER_USER, str(tmp_path / "locks")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": SOURCE}, capture_output=True, text=True)
    assert done.returncode == status, done.stderr
    assert status == 0 or "mode 666" in done.stderr


def test_a_lock_file_with_odd_text_does_not_confuse(tmp_path):
    (tmp_path / "GPU-1.lock").write_text("half a li")
    descriptor = os.open(tmp_path / "GPU-1.lock", os.O_RDONLY)
    assert "not yet said" in exclusive.describe_holder(descriptor)
    os.close(descriptor)
    started = time.monotonic()
    with take(tmp_path):
        assert time.monotonic() - started < 10  # it does not wait for its limit
