"""Processes end with the run that started them, and what they printed is kept."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernel_ledger import process
from kernel_ledger.errors import MachineError

SOURCE = Path(process.__file__).parents[1]
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(SOURCE)}

WATCHING_CHILD = """
import os, sys, time
from kernel_ledger import lifeline
assert lifeline.watch(os.environ) is None
open(sys.argv[1], "w").write(str(os.getpid()))
time.sleep(60)
"""
# a grandchild in a session of its own, as nsys starts its target
DETACHING_CHILD = """
import os, subprocess, sys, time
descriptor = int(os.environ["KERNEL_LEDGER_LIFELINE"])
command = [sys.executable, "-c", sys.argv[2], sys.argv[1]]
subprocess.Popen(command, start_new_session=True, pass_fds=[descriptor])
time.sleep(60)
"""
LAUNCHER = """
import os, sys
from kernel_ledger import process
process.run([sys.executable, "-c", *sys.argv[1:]], environment=dict(os.environ), timeout_s=60)
"""


def run(code, *arguments, **options):
    return process.run(
        [sys.executable, "-c", code, *arguments], **{"environment": ENVIRONMENT, "timeout_s": 30, **options}
    )


def start_launcher(*arguments):
    command = [sys.executable, "-c", LAUNCHER, *arguments]
    return subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.DEVNULL)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def wait_until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return condition()


def started_pid(path):
    assert wait_until(lambda: path.exists() and path.read_text())
    return int(path.read_text())


def test_output_is_merged_and_kept_in_the_log(tmp_path):
    code = "import sys; print('one', flush=True); print('two', file=sys.stderr); sys.exit(7)"
    finished = run(code, log=tmp_path / "log.txt")
    assert (finished.exit_status, finished.signal, finished.timed_out) == (7, None, False)
    assert finished.output == "one\ntwo\n" == (tmp_path / "log.txt").read_text()


def test_output_is_echoed_when_asked(capsys):
    run("print('progress')", echo=True)
    assert "progress" in capsys.readouterr().err


def test_a_large_output_arrives_whole():
    assert len(run("print('x' * 3_000_000)").output) == 3_000_001


def test_only_the_given_environment_is_seen(monkeypatch):
    monkeypatch.setenv("SECRET_TOKEN", "planted")
    names = run("import os; print(*os.environ)").output.split()
    assert set(names) - {"LC_CTYPE"} == {"PATH", "PYTHONPATH", "KERNEL_LEDGER_LIFELINE"}


def test_arguments_reach_no_shell():
    assert run("import sys; print(sys.argv[1])", "$(id); `id` *").output == "$(id); `id` *\n"


def test_a_signal_is_reported_as_a_shell_would():
    finished = run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    assert (finished.exit_status, finished.signal) == (139, signal.SIGSEGV)


def test_a_missing_command_is_an_error_of_the_machine():
    with pytest.raises(MachineError, match="no-such-tool"):
        process.run(["no-such-tool"], environment=ENVIRONMENT, timeout_s=1)


def test_past_the_time_limit_the_whole_group_is_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(process, "GRACE_S", 0.3)
    code = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if os.fork() == 0:
    open(sys.argv[1], "w").write(str(os.getpid()))
print("working", flush=True)
time.sleep(60)
"""
    finished = run(code, str(tmp_path / "pid"), timeout_s=1)
    assert finished.timed_out and finished.signal == signal.SIGKILL and "working" in finished.output
    assert wait_until(lambda: not is_alive(started_pid(tmp_path / "pid")))


def test_what_a_child_leaves_behind_in_its_group_is_killed(tmp_path):
    code = """
import os, sys, time
if os.fork() == 0:
    open(sys.argv[1], "w").write(str(os.getpid()))
    time.sleep(60)
time.sleep(0.3)
"""
    finished = run(code, str(tmp_path / "pid"))
    assert finished.exit_status == 0 and finished.seconds < 5
    assert wait_until(lambda: not is_alive(started_pid(tmp_path / "pid")))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
@pytest.mark.parametrize("child", [[WATCHING_CHILD], [DETACHING_CHILD]], ids=["child", "grandchild"])
def test_the_measured_process_dies_with_its_launcher(tmp_path, number, child):
    launcher = start_launcher(*child, str(tmp_path / "pid"), WATCHING_CHILD)
    measured = started_pid(tmp_path / "pid")
    launcher.send_signal(number)
    status = launcher.wait(timeout=60)
    assert wait_until(lambda: not is_alive(measured))
    if number in (signal.SIGTERM, signal.SIGHUP):
        assert status == 128 + number


def test_a_child_that_never_asked_for_the_life_line_dies_too(tmp_path):
    code = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(60)"
    launcher = start_launcher(code, str(tmp_path / "pid"))
    measured = started_pid(tmp_path / "pid")
    launcher.kill()
    launcher.wait()
    assert wait_until(lambda: not is_alive(measured))


def test_what_a_child_leaves_behind_in_another_session_is_killed_too(tmp_path):
    code = "import subprocess, sys; print(subprocess.Popen(['sleep', '60'], start_new_session=True).pid)"
    assert not is_alive(int(run(code).output))


def test_a_grandchild_that_knows_nothing_of_us_dies_with_a_killed_launcher(tmp_path):
    code = """
import subprocess, sys, time
open(sys.argv[1], "w").write(str(subprocess.Popen(["sleep", "60"], start_new_session=True).pid))
time.sleep(60)
"""
    launcher = start_launcher(code, str(tmp_path / "pid"))
    grandchild = started_pid(tmp_path / "pid")
    launcher.kill()
    launcher.wait()
    assert wait_until(lambda: not is_alive(grandchild))


def test_a_child_dies_with_its_guard(tmp_path):
    code = (
        "import os, sys, time; open(sys.argv[1], 'w').write(f'{os.getpid()} {os.getppid()}'); time.sleep(60)"
    )
    launcher = start_launcher(code, str(tmp_path / "pid"))
    assert wait_until(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    child, guard = map(int, (tmp_path / "pid").read_text().split())
    os.kill(guard, signal.SIGKILL)
    assert launcher.wait(timeout=60) == 0 and wait_until(lambda: not is_alive(child))


def test_a_child_does_not_inherit_that_python_ignores_broken_pipes():
    finished = process.run(["sh", "-c", "kill -PIPE $$"], environment=ENVIRONMENT, timeout_s=9)
    assert finished.signal == signal.SIGPIPE


def test_a_life_line_that_was_not_inherited_is_named():
    code = "from kernel_ledger import lifeline; print(lifeline.watch({'KERNEL_LEDGER_LIFELINE': '77'}))"
    assert "was not inherited" in run(code).output
