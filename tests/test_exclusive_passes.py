"""Whole launchers that want one GPU at once, from two folders: they never measure together."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from kill_bench import ROOT, Bench, assert_nothing_half_written, survivors, wait_until
from nsys_tool import real_nsys

LOCK = "GPU-abc0.lock"


@pytest.fixture
def machine(tmp_path):
    """A function that starts a pass in a folder of this machine; all that is left of it is killed."""
    started = []

    def start(folder, script="timing", wait_s=60, pause_s=0.5, nsys_path=None, gpu="0"):
        bench = Bench(tmp_path / folder, nsys_path)
        words = [
            ROOT / "tests" / "lock_target.py",
            tmp_path / "locks",
            wait_s,
            script,
            *bench.arguments(script),
        ]
        bench.process = subprocess.Popen(
            [sys.executable, *map(str, words)],
            cwd=bench.root,
            env=bench.environment() | {"KERNEL_LEDGER_TEST_PAUSE": str(pause_s), "CUDA_VISIBLE_DEVICES": gpu},
            stderr=(bench.root / "stderr.txt").open("w"),
        )
        started.append(bench)
        return bench

    yield start
    for pid, _ in survivors(tmp_path):
        with suppress(ProcessLookupError):  # it may end on its own in between
            os.kill(pid, signal.SIGKILL)
    for bench in started:
        bench.process.wait()


def measuring(bench, seconds=20):
    """The process id of the measured process, once it says that it is at work."""
    assert wait_until(lambda: "measuring" in bench.said(), seconds), bench.said()
    return next(
        pid for pid, words in bench.survivors() if "kill_child.py" in words and "guard.py" not in words
    )


def guard_of(bench):
    return next(pid for pid, words in bench.survivors() if "guard.py" in words)


def holders(tmp_path):
    """Command lines of the processes that have the lock file open."""
    found = []
    for link in Path("/proc").glob("[0-9]*/fd/*"):
        try:
            if os.readlink(link) == str(tmp_path / "locks" / LOCK):
                found.append((link.parents[1] / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue
    return found


@pytest.mark.parametrize("folders", [("one", "one"), ("one", "two")], ids=["one folder", "two folders"])
def test_the_second_waits_says_for_whom_and_measures_after_the_first(machine, folders):
    first = machine(folders[0], "timing", pause_s=1.5)
    measuring(first)
    said = first.root / "stderr.txt"
    said.rename(first.root / "first.txt")  # the second writes one of its own
    second = machine(folders[1], "numerics")
    assert wait_until(lambda: "waiting for the GPU GPU-abc0" in second.said(), 20)
    assert (
        f"held by pid {first.process.pid} (timing tiny/{first.case.name}, run test) since 20" in second.said()
    )
    assert "measuring" not in second.said() and first.process.poll() is None
    measuring(second)
    assert first.process.wait(timeout=60) == second.process.wait(timeout=60) == 0


def test_the_waiting_one_gives_up_after_its_limit_with_nothing_left(machine):
    first = machine("one", pause_s=20)
    measuring(first)
    second = machine("two", wait_s=0.5)
    assert second.process.wait(timeout=60) == 3
    assert "error: the GPU GPU-abc0 is still taken after 0 s" in second.said()
    assert (
        f"pid {first.process.pid} (timing" in second.said() and "no file needs to be deleted" in second.said()
    )
    assert not list(second.case.rglob("*")) and first.process.poll() is None


@pytest.mark.parametrize("script", ["timing", "nsys_pass"])
def test_what_a_killed_launcher_leaves_keeps_the_gpu_until_it_is_dead(machine, tmp_path, script):
    """Its guard is stopped, so that it cannot end the measured process at once; under nsys this stands in a
    PID namespace, behind unshare and nsys."""
    nsys_path = None
    if script == "nsys_pass":
        pytest.importorskip("nvtx")
        nsys_path = real_nsys()
    first = machine("one", script, pause_s=20, nsys_path=nsys_path)
    child, guard = measuring(first), guard_of(first)
    held = holders(tmp_path)
    assert any("guard.py" in words for words in held)
    if script == "nsys_pass":
        assert any(words.startswith("/") and "unshare" in words.split()[0] for words in held), held
    for pid in (guard, child):
        os.kill(pid, signal.SIGSTOP)
    first.process.kill()
    first.process.wait()
    second = machine("two")
    assert wait_until(lambda: "waiting for the GPU" in second.said(), 20)
    assert "that process is gone, a child of it still measures" in second.said()
    assert "measuring" not in second.said()
    os.kill(guard, signal.SIGCONT)
    assert second.process.wait(timeout=60) == 0
    assert not first.survivors()
    assert_nothing_half_written(first.case)


def test_two_passes_on_two_gpus_do_not_wait(machine):
    first = machine("one", pause_s=20)
    measuring(first)
    second = machine("two", gpu="1")
    assert second.process.wait(timeout=60) == 0
    assert "waiting" not in second.said() and first.process.poll() is None
