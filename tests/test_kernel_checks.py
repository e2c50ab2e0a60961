"""The checks of the custom kernels: they pass here for what needs no GPU, and a wrong kernel does not get through."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from kernel_ledger.kernel_checks import sanitizer  # noqa: E402
from kernel_ledger.kernel_checks.checks import check_kernel  # noqa: E402
from kernel_ledger.kernel_checks.kernels import Kernel, gelu_exact  # noqa: E402

ROOT = Path(__file__).parents[1]
LIBRARY = ROOT / "build/cpu/kernels.so"


def good(x):
    if x.dtype != torch.float32 or not x.is_contiguous():
        raise RuntimeError("a contiguous float32 tensor")
    return torch.nn.functional.gelu(x, approximate="tanh")


def failures(call):
    results = list(check_kernel(Kernel("mine", 1, call, gelu_exact), "cpu", giant=False))
    return {result.check for result in results if result.status == "fail"}


def test_a_right_kernel_passes():
    assert failures(good) == set()


def test_a_kernel_that_forgets_the_tail_of_a_vector_fails_where_there_is_one():
    def no_tail(x):
        out = good(x)
        out.view(-1)[x.numel() // 4 * 4 :] = 0
        return out

    assert "contiguous" in failures(no_tail)


def test_a_kernel_that_reads_from_the_boundary_before_its_input_fails_on_offsets():
    def rounded_down(x):
        if x.storage_offset() % 4:
            x = torch.as_strided(x, x.shape, x.stride(), x.storage_offset() // 4 * 4)
        return good(x)

    assert failures(rounded_down) == {f"offset by {n} bytes" for n in (4, 8, 12)}


def test_a_kernel_that_takes_any_stride_or_dtype_in_silence_fails():
    found = failures(lambda x: good(x.contiguous().float()))
    assert {"refuses transposed", "refuses every second", "refuses dtype torch.float64"} <= found


def test_a_kernel_that_turns_nan_into_a_number_fails():
    assert failures(lambda x: good(x).nan_to_num()) == {"special values"}


def test_a_kernel_that_cannot_run_here_is_no_pass():
    kernel = Kernel("mine", 1, None, gelu_exact, absent="needs a GPU")
    (result,) = check_kernel(kernel, "cpu", giant=False)
    assert (result.status, result.reason) == ("not_run", "needs a GPU")


@pytest.mark.skipif(not LIBRARY.is_file(), reason="build/cpu/kernels.so is not built")
def test_the_script_checks_every_kernel_and_keeps_the_results(tmp_path):
    command = [sys.executable, ROOT / "scripts/check_kernels.py", "--device", "cpu", "--output", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment())
    assert done.returncode == 0, done.stderr
    summary = json.loads((tmp_path / "summary.json").read_text())
    assert summary["passed"] and "fail" not in summary["counts"]
    rows = list(csv.DictReader((tmp_path / "results.csv").open(newline="")))
    assert {row["kernel"] for row in rows} >= {
        "fused_chain_vector",
        "gelu_vector",
        "gelu_tanh_triton",
        "ruler",
    }
    assert all(row["reason"] for row in rows if row["status"] == "not_run")


def environment():
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def test_without_the_library_it_says_how_to_build_it(tmp_path):
    command = [
        sys.executable,
        ROOT / "scripts/check_kernels.py",
        "--device",
        "cpu",
        "--library",
        tmp_path / "none.so",
    ]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment())
    assert done.returncode == 3 and "make check-kernels builds them" in done.stderr


CLEAN = {
    "memcheck": "ERROR SUMMARY: 0 errors",
    "racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)",
}


def tool(path, text, status):
    path.write_text(f"#!{sys.executable}\nprint('========= {text}')\nraise SystemExit({status})\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_summary_of_a_sanitizer_passes(tmp_path, name):
    found = sanitizer.sanitize(tool(tmp_path / "tool", CLEAN[name], 0), name, ["python"], tmp_path / "log")
    assert (found["status"], found["errors"]) == ("pass", 0)
    assert CLEAN[name] in (tmp_path / "log").read_text()


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("ERROR SUMMARY: 3 errors", 86, "3 errors: see the log"),
        ("ERROR SUMMARY: 0 errors", 1, "the checks ended with status 1"),
        ("killed", 0, "the tool wrote no summary"),
    ],
)
def test_anything_else_fails_with_the_reason(tmp_path, text, status, said):
    found = sanitizer.sanitize(
        tool(tmp_path / "tool", text, status), "memcheck", ["python"], tmp_path / "log"
    )
    assert found["status"] == "fail" and said in found["reason"]
