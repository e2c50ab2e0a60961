"""Rule scripts killed at each change that they make to the file system, one after the other.

A random moment seldom falls between two renames; here every such moment comes.
"""

import os
import signal
import sys
import traceback
from pathlib import Path

import kill_target
import pytest
from kill_bench import (
    KILLS,
    MARK,
    Bench,
    assert_no_half_verdict,
    assert_nothing_half_written,
    hidden,
    seeded,
)

STEPS = ("replace", "rename", "unlink", "rmdir", "mkdir", "fsync")
BEFORE = {"report": ["reconcile"], "gate": ["reconcile", "report"]}
MOST = 100


def killed_at(bench, script, step, number):
    """Run a script in a fork that gets the signal before its change number ``step``; its wait status."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        os.setsid()
        os.chdir(bench.root)
        os.environ.update({MARK: str(bench.root), "KERNEL_LEDGER_TEST_PAUSE": "0"})
        signal.signal(signal.SIGINT, signal.default_int_handler)
        left = [step]
        for name in STEPS:
            setattr(os, name, counted(getattr(os, name), left, number))
        Path.write_bytes = counted_write(Path.write_bytes, left, number)
        log = os.open(bench.root / "stderr.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        os.dup2(log, 1)
        os.dup2(log, 2)
        sys.stderr = sys.stdout = os.fdopen(2, "w", closefd=False)
        kill_target.run(script, bench.arguments(script))
        os._exit(0)
    except SystemExit as end:
        os._exit(end.code if isinstance(end.code, int) else 1 if end.code else 0)
    except BaseException:
        traceback.print_exc()
        os._exit(99)


def counted(function, left, number):
    def change(*arguments, **named):
        left[0] -= 1
        if left[0] == 0:
            os.kill(os.getpid(), number)
        return function(*arguments, **named)

    return change


def counted_write(function, left, number):
    """A write that the signal cuts short after half of the data."""

    def write(path, data):
        left[0] -= 1
        if left[0] == 0:
            function(path, data[: len(data) // 2])
            os.kill(os.getpid(), number)
        return function(path, data)

    return write


@pytest.mark.parametrize("script", ["numerics", "timing", "torch_pass", "reconcile", "report", "gate"])
def test_a_script_killed_before_any_of_its_changes_leaves_nothing_half(tmp_path, script):
    bench = Bench(tmp_path)
    for earlier in BEFORE.get(script, ()):
        bench.complete(earlier)
    bench.complete(script)
    signals = seeded(f"steps {script}")
    for step in range(1, MOST):
        bench.vary(script, step)
        number = signals.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
        status = killed_at(bench, script, step, number)
        assert status != 99, bench.said()
        bench.assert_all_dead()
        assert_nothing_half_written(bench.case)
        assert_no_half_verdict(bench.out)
        if status == 0 and step > 1:
            break
    assert 2 < step < MOST - 1
    print(f"{script}: {step - 1} changes, each a kill")
    assert hidden(bench.case) == hidden(bench.out) == []


def test_an_export_killed_before_any_file_gets_its_name_is_not_believed(tmp_path):
    pytest.importorskip("nvtx")
    from nsys_tool import real_nsys

    bench = Bench(tmp_path, real_nsys())
    for script in ("nsys_pass", "export"):
        bench.complete(script)
    last = 30  # of its changes, the last twenty give names
    for step in sorted(seeded("steps export").sample(range(1, last), k=min(last - 1, max(6, KILLS // 10)))):
        bench.vary("export", step)
        assert killed_at(bench, "export", step, signal.SIGKILL) != 99, bench.said()
        bench.assert_all_dead()
        assert_nothing_half_written(bench.case)
    bench.complete("export")
    assert hidden(bench.case) == []
