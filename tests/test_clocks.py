"""The check `clocks`, on both sides: what fails a pass, what cannot be known, and what is no alarm."""

import copy

import pytest

from kernel_ledger.checks.clocks import judge
from kernel_ledger.checks.outcome import Parts

LOOK = {"sm_mhz": 1980, "idle": False, "throttle_reasons": [], "processes": [], "memory_used_mib": 4.0}
SAMPLE = {"statistic": "median", "sm_mhz": 1980, "throttle_reasons": []}
HEALTHY = {
    "before": LOOK,
    "after": LOOK,
    "samples": [SAMPLE, SAMPLE, SAMPLE],
    "sampling": {"period_s": 0.2, "count": 40, "busy_count": 30, "failure": None},
    "company": {"own_seen": True, "others": [], "most_at_once": 1, "looks": 40, "untold": 0},
}
TRAIN = {"pid": 99, "name": "train.py"}
UNSEEN = {"company.own_seen": False, "company.most_at_once": 0}


def judged(**changes):
    """(status, reason) of a healthy pass with these values in place of its own; ``a.b``: b in a."""
    nvml = copy.deepcopy(HEALTHY)
    for path, value in changes.items():
        *folders, name = path.split(".")
        place = nvml
        for folder in folders:
            place = place[folder]
        place[name] = value
    parts = Parts()
    judge(parts, "timing", {"nvml": nvml})
    outcome = parts.outcome()
    return outcome.status, outcome.reason


def test_a_pass_that_was_alone_on_a_cool_gpu_passes():
    assert judged() == ("pass", "")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"before.throttle_reasons": ["hw_slowdown"]}, "throttled (hw_slowdown)"),
        ({"after.throttle_reasons": ["hw_power_brake_slowdown"]}, "throttled (hw_power_brake_slowdown)"),
        ({"samples": [SAMPLE | {"throttle_reasons": ["sw_thermal_slowdown"]}]}, "throttled (sw_thermal"),
        ({"before.processes": [TRAIN]}, "other processes computed on the GPU: train.py (pid 99)"),
        ({"after.processes": [TRAIN]}, "train.py (pid 99)"),
        ({"company.others": [TRAIN], "company.most_at_once": 2}, "train.py (pid 99)"),
        ({"company.own_seen": False, "company.most_at_once": 2}, "2 processes computed on the GPU at once"),
        ({"company.others": [{"pid": 7, "name": None}]}, "None (pid 7)"),
    ],
)
def test_a_throttled_or_contended_pass_fails(changes, said):
    status, reason = judged(**changes)
    assert status == "fail" and said in reason


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"before": None}, "the state of the GPU before it (not recorded)"),
        (
            {"after": {"failure": "GPU is lost", "throttle_reasons": [], "processes": None}},
            "after it (GPU is lost)",
        ),
        ({"before.processes": None}, "which processes were on the GPU before it"),
        ({"after.processes": None}, "which processes were on the GPU after it"),
        ({"sampling.failure": "GPU is lost"}, "NVML stopped telling while it ran (GPU is lost)"),
        ({"sampling.count": 0}, "not sampled while it ran"),
        ({"samples": []}, "not sampled while it ran"),
        ({"samples": [SAMPLE | {"throttle_reasons": ["not_told"]}]}, "did not tell the throttle reasons"),
        ({"company.untold": 3}, "which processes were on the GPU while it ran"),
        ({**UNSEEN, "before.memory_used_mib": 600.0}, "600 MiB of the GPU were in use"),
        ({**UNSEEN, "after.memory_used_mib": None}, "not even the measured one; nor the memory in use"),
    ],
)
def test_what_nvml_did_not_tell_is_unknown_not_healthy(changes, said):
    status, reason = judged(**changes)
    assert status == "unknown" and said in reason


@pytest.mark.parametrize(
    "changes",
    [
        {"before.throttle_reasons": ["sw_power_cap"]},  # a large GEMM meets it on a healthy GPU
        {"before.idle": True, "before.sm_mhz": 375},
        UNSEEN,  # a container, and no memory in use before and after
        {
            "company.own_seen": False
        },  # a container that tells the number of the host: one process, the measured one
        {**UNSEEN, "before.memory_used_mib": 149.0},
    ],
)
def test_what_is_usual_raises_no_alarm(changes):
    assert judged(**changes) == ("pass", "")


def test_a_record_of_before_the_company_was_noted_is_still_judged():
    nvml = {key: HEALTHY[key] for key in ("before", "after", "samples", "sampling")}
    parts = Parts()
    judge(parts, "timing", {"nvml": nvml})
    assert parts.outcome().status == "pass"


def test_a_pass_without_nvml_says_why():
    parts = Parts()
    judge(parts, "timing", {"nvml": None, "nvml_reason": "no library"})
    assert parts.outcome().status == "unknown" and "no library" in parts.outcome().reason
