"""Rule scripts killed at random moments: Ctrl-C, SIGTERM, SIGKILL.  Nothing is left running, nothing half is believed.

The measured process is a stand-in without torch (kill_child.py) except where a test says so; nsys is the real one.
KERNEL_LEDGER_KILLS=200 makes more of them, KERNEL_LEDGER_SEED other ones.
"""

import signal

import pytest
from kill_bench import (
    KILLS,
    PASSES,
    SIGNALS,
    Bench,
    assert_no_half_verdict,
    assert_nothing_half_written,
    hidden,
    seeded,
    send,
    wait_until,
)
from nsys_tool import real_nsys

SCRIPTS = (*PASSES, "export", "reconcile", "report", "gate")
BEFORE = {"export": ["nsys_pass"], "report": ["reconcile"], "gate": ["reconcile", "report"]}


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_killed_script_leaves_nothing_half_and_nothing_running_and_the_next_completes(tmp_path, script):
    if script in ("nsys_pass", "export"):
        pytest.importorskip("nvtx")
        bench = Bench(tmp_path, real_nsys())
    else:
        bench = Bench(tmp_path)
    for earlier in BEFORE.get(script, ()):
        bench.complete(earlier)
    duration = bench.complete(
        script
    )  # its result is the older one, which a kill must leave whole or take away
    moments = seeded(script)
    kills, landed, attempts = -(-KILLS // len(SCRIPTS)), 0, 0
    while landed < kills and attempts < 5 * kills:
        attempts += 1
        bench.vary(script, attempts)
        number, moment = SIGNALS[landed % 3], moments.uniform(0.02, duration)
        process = bench.start(script)
        wait_until(lambda p=process: p.poll() is not None, moment)
        landed += send_if_running(process, number)
        process.wait(timeout=60)
        bench.assert_all_dead()
        assert_nothing_half_written(bench.case)
        assert_no_half_verdict(bench.out)
    assert landed == kills, f"only {landed} of {attempts} found it running"
    bench.complete(script)
    bench.assert_all_dead()
    assert_nothing_half_written(bench.case)
    assert hidden(bench.case) == hidden(bench.out) == []


def send_if_running(process, number):
    running = process.poll() is None
    if running:
        send(process, number)
    return running


@pytest.mark.parametrize(
    ("script", "number"),
    [("numerics", signal.SIGKILL), ("timing", signal.SIGTERM), ("torch_pass", signal.SIGINT)],
)
def test_a_pass_with_torch_itself_dies_with_its_launcher(tmp_path, script, number):
    pytest.importorskip("torch")
    bench, moments = Bench(tmp_path), seeded(f"torch {script}")
    process = bench.start(script, target=False)
    assert wait_until(lambda: any("kernel_ledger.passes" in words for _, words in bench.survivors()), 30)
    wait_until(lambda: process.poll() is not None, moments.uniform(0, 2))
    send_if_running(process, number)
    process.wait(timeout=60)
    bench.assert_all_dead()
    assert_nothing_half_written(bench.case)
