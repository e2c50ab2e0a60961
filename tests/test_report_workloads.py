"""The sections of summary.md that a workload asks for: ratios, rates, kernels, nested times, and what was left out."""

import csv
import json
import subprocess
import sys
from dataclasses import replace

import capture_factory as factory
import pytest
from test_reconcile import ROOT, reconciled

from kernel_ledger.report.workloads import workload_sections


@pytest.fixture
def sections(tmp_path):
    """A function that reconciles tiny with more said of its case, and returns the sections' text."""

    def write(prepare=None, scenario=None, **said):
        scenario = scenario or factory.tiny()
        captures = factory.written(tmp_path, scenario, factory.ruler())
        plan = json.loads((captures / "plan.json").read_text())
        plan["left_out"] = said.pop("left_out_workloads", [])
        plan["cases"][0] |= said
        (captures / "plan.json").write_text(json.dumps(plan))
        if prepare:
            prepare(captures / "tiny" / "n1024")
        rows, _ = reconciled(captures, tmp_path / "out")
        return workload_sections(rows, captures)

    return write


def line_with(text, part):
    (line,) = [line for line in text.splitlines() if part in line and line.startswith("|")]
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_run_that_asks_for_nothing_gets_no_section(sections):
    assert sections().strip() == ""


def test_our_ratios_stand_beside_published_ones(sections):
    theirs = {"source": "a published lecture", "times_ns": {"eager": 8_000_000, "fused": 2_000_000}}
    text = sections(published=theirs)
    assert "beside a published lecture" in text
    assert line_with(text, "`fused`") == ["`fused`", "2 ms", "4.00×", "2.8 ms", "1.06×", "40.000"]
    assert line_with(text, "`copy`")[1:3] == ["–", "–"]


def test_a_gemm_shows_its_rate_its_tile_and_its_stages(sections):
    gemm = "nvjet_tst_192x192_64x4_1x2_h_bz_coopA_TNT"
    scenario = factory.tiny()
    scenario.variants["eager"][0] = replace(scenario.variants["eager"][0], symbol=gemm)
    scenario.variants = {"eager": scenario.variants["eager"][:1]}
    scenario.roles, scenario.traffic, scenario.kernels = {"eager": "variant"}, {}, {}

    def wall(case):
        timing = json.loads((case / "timing.json").read_text())
        timing["variants"]["eager"]["wall_median_ns"] = 3_000_000
        (case / "timing.json").write_text(json.dumps(timing))

    text = sections(wall, scenario, sections=["kernel_names"], flops=2 * 4096**3)
    row = line_with(text, "nvjet")
    assert row[2:5] == ["2.71 ms", "3 ms", "50.7 TFLOP/s"]
    assert row[5:] == [f"`{gemm}`", "192×192", "64", "4", "1"]


def test_a_kernel_whose_name_says_nothing_gets_dashes(sections):
    text = sections(sections=["kernel_names"], flops=1)
    assert line_with(text, "fused_chain_vector")[6:] == ["–", "–", "–", "1"]


AVERAGES = [
    # name, count, self_cpu, cpu_total, self_device, device_total
    ("tiny/eager", 10, 0, 0, 29_500_000, 29_500_000),
    ("tiny/eager", 10, 1_000_000, 9_000_000, 0, 32_000_000),
    ("aten::conv2d", 10, 1_000_000, 8_000_000, 0, 29_500_000),
    ("aten::convolution", 10, 2_000_000, 7_000_000, 0, 29_500_000),
    ("aten::_convolution", 10, 5_000_000, 5_000_000, 29_500_000, 29_500_000),
    ("void at::native::kernel(int)", 10, 0, 0, 29_500_000, 29_500_000),
    ("cudnn::ops::kernel<float>(int)", 10, 0, 0, 1_000, 1_000),
    ("Activity Buffer Request", 1, 0, 0, 2_500_000, 2_500_000),
]


COLUMNS = ["count", "self_cpu_ns", "cpu_total_ns", "self_device_ns", "device_total_ns"]


def averages(case):
    with (case / "torch/eager/key_averages.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["grouping", "name", "input_shapes", *COLUMNS])
        for name, *values in AVERAGES:
            writer.writerow(["plain", name, "", *values])
            writer.writerow(["shapes", name, "[]", *values])


def test_the_total_column_adds_up_to_more_than_the_run_and_the_self_column_does_not(sections):
    text = sections(averages, sections=["nested_time"])
    assert line_with(text, "aten::convolution")[1:] == ["10", "7 ms", "2 ms", "29.5 ms", "0 ns"]
    assert line_with(text, "all operators")[2:] == ["20 ms", "8 ms", "88.5 ms", "29.5 ms"]
    assert "adds up to 88.5 ms, 3.00× of the 29.5 ms" in text
    assert "adds up to 29.5 ms, 1.00×" in text
    assert "`Activity Buffer Request` is no operator: it repeats 2.5 ms" in text


def test_what_was_left_out_is_named_with_the_reason(sections):
    left = {"workload": "resnet18", "file": "workloads/resnet18.py", "reason": "needs torchvision"}
    text = sections(left_out_workloads=[left], left_out={"triton": "needs triton"})
    assert "- `resnet18`: needs torchvision" in text and "- `tiny/triton`: needs triton" in text


def test_the_sections_are_in_the_summary_that_the_rule_writes(sections, tmp_path):
    sections(
        published={"source": "a published lecture", "times_ns": {"eager": 8_000_000, "fused": 2_000_000}}
    )
    command = [
        sys.executable,
        ROOT / "scripts/report.py",
        "--run",
        tmp_path / "out",
        "--captures",
        tmp_path / "captures",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "beside a published lecture" in (tmp_path / "out" / "summary.md").read_text()
