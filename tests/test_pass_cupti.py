"""The probe says whether another subscriber is in the process, by CUPTI's own answer."""

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch")
if shutil.which("gcc") is None:
    pytest.skip("no gcc to build the stand-in for libcupti", allow_module_level=True)

from kernel_ledger.passes import cupti  # noqa: E402

SOURCE = Path(__file__).parent / "data" / "fake_cupti.c"


@pytest.fixture
def library(tmp_path):
    """Builds a libcupti whose cuptiSubscribe gives ``result``; ``multi``: and its cuptiSubscribe_v2 this."""

    def build(result, multi=None):
        path = tmp_path / f"libcupti-{result}-{multi}.so"
        flags = [f"-DRESULT={result}", *([] if multi is None else [f"-DMULTI={multi}"])]
        subprocess.run(["gcc", "-shared", "-fPIC", *flags, "-o", path, SOURCE], check=True)
        return path

    return build


def test_a_clean_process_gives_0_and_the_subscription_is_handed_back(library):
    path = library(0)
    for _ in range(2):
        probe = cupti.probe("cuda", {}, path)
        assert probe["result"] == 0 and probe["regime"] == "exclusive" and probe["version"] == "130000"
        assert probe["reason"] is None and probe["injection"] == []
    assert ctypes.CDLL(str(path)).still_subscribed() == 0


def test_another_subscriber_gives_39_by_name(library):
    probe = cupti.probe("cuda", {}, library(39))
    assert probe["result"] == 39 and "MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED" in probe["reason"]


def test_any_other_answer_is_kept_as_it_is(library):
    probe = cupti.probe("cuda", {}, library(15))
    assert probe["result"] == 15 and "cuptiSubscribe gave 15" in probe["reason"]


def test_where_subscribers_may_coexist_it_asks_to_be_alone(library):
    alone, company = (cupti.probe("cuda", {}, library(0, multi)) for multi in (0, 39))
    assert alone["result"] == 0 and alone["regime"] == "multi" and alone["other"] is None
    assert company["result"] == 39 and company["other"] == "CUPTI for Nsight Systems"


def test_a_second_answer_that_is_neither_yes_nor_no_does_not_turn_the_first_into_a_fault(library):
    probe = cupti.probe("cuda", {}, library(0, 1))
    assert (probe["result"], probe["result_alone"], probe["reason"]) == (0, 1, None)


def test_without_a_library_or_a_gpu_the_result_is_none_with_a_reason(tmp_path):
    absent = cupti.probe("cuda", {}, tmp_path / "libcupti.so")
    assert absent["result"] is None and absent["regime"] == "absent" and "not found" in absent["reason"]
    assert cupti.probe("cpu", {})["reason"] == "device is cpu"


def test_what_a_profiler_leaves_in_the_environment_is_found():
    environ = {
        "NVTX_INJECTION64_PATH": "/opt/nsys/libToolsInjection64.so",
        "CUDA_INJECTION64_PATH": "",
        "LD_PRELOAD": "/opt/nvidia/nsight-systems/libToolsInjectionProxy64.so",
        "NSYS_THEME": "dark",
    }
    assert cupti.injections(environ) == ["NVTX_INJECTION64_PATH", "LD_PRELOAD"]
    assert cupti.injections({"LD_PRELOAD": "libjemalloc.so"}) == []


def test_the_copy_that_nsys_brings_along_is_not_asked(tmp_path):
    maps = tmp_path / "maps"
    row = "7f0000000000-7f0000001000 r-xp 00000000 08:01 1234    "
    ours, theirs = (
        "/venv of mine/nvidia/cu13/lib/libcupti.so.13",
        "/opt/nvidia/nsight-systems/libcupti.so.13.0",
    )
    maps.write_text("".join(f"{row}{path}\n" for path in (theirs, ours, ours, "/lib/libc.so.6")))
    assert cupti.mapped(maps) == [ours]
    assert cupti.mapped(tmp_path / "none") == []
