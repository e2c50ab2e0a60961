"""Faults that a reviewer slipped past the checks: each is found now, and its reason can be read."""

from __future__ import annotations

import csv
import shutil

import capture_factory as factory
import pytest
from faults.bench import Bench
from test_reconcile import change, reconciled

from kernel_ledger import leaks
from kernel_ledger.checks import clocks, freshness, outcome, sameness


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def answers(bench):
    return {check["id"]: check for check in bench.reconciled()[1]["checks"]}


def more(bench, file, column, by=1000):
    """Let a CSV print another figure in its first row."""
    path = bench.case / "nsys" / file
    with path.open(newline="") as stream:
        header, first, *rest = csv.reader(stream)
    place = header.index(column)
    first[place] = str(float(first[place] or 0) + by if "." in first[place] else int(first[place] or 0) + by)
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, first, *rest])
    bench.rehash()


@pytest.mark.parametrize(
    ("file", "column"),
    [
        *(("nvtx_sum.csv", f"{c} (ns)") for c in ("Total Time", "Med", "Min", "Max")),
        *(
            ("nvtx_gpu_proj_sum.csv", f"{c} (ns)")
            for c in ("Total Proj Time", "Proj Med", "Proj Min", "Proj Max")
        ),
        ("cuda_gpu_kern_sum.csv", "StdDev (ns)"),
    ],
)
def test_a_figure_that_the_records_do_not_have_fails_the_export(bench, file, column):
    bench.scenario.jitter = 50
    more(bench, file, column, {"Min": -1000, "Max": 1000}.get(column.split()[-2], 1))
    found = answers(bench)["export"]
    assert (
        found["status"] == "fail" and f"{file} prints for " in found["reason"] and column in found["reason"]
    )


def test_figures_of_scattered_launches_are_those_of_the_records(bench):
    bench.scenario.jitter = 50
    assert {c["status"] for c in answers(bench).values()} == {"pass"}


def test_a_throttle_reason_that_nobody_knows_is_unknown(bench):
    with bench.json("run.json") as record:
        record["nvml"]["samples"][0]["throttle_reasons"] = ["unknown_0x200"]
    found = answers(bench)["clocks"]
    assert (
        found["status"] == "unknown" and "timing: " in found["reason"] and "unknown_0x200" in found["reason"]
    )


@pytest.mark.parametrize(("mhz", "status"), [(1400, "fail"), (1800, "pass")])
def test_a_pass_at_a_clearly_lower_clock_than_the_others_fails(bench, mhz, status):
    with bench.json("nsys/run.json") as record:
        record["nvml"]["samples"][0]["sm_mhz"] = mhz
    found = answers(bench)["clocks"]
    assert found["status"] == status
    assert status == "pass" or "nsys: its median SM clock was 1400 MHz" in found["reason"]
    assert status == "pass" or "1980 MHz of the other passes" in found["reason"]


def test_a_power_cap_is_told_beside_the_clocks(bench):
    with bench.json("nsys/run.json") as record:
        record["nvml"]["samples"][0]["throttle_reasons"] = ["sw_power_cap"]
    found = answers(bench)["clocks"]
    assert found["status"] == "pass" and "sw_power_cap noted in nsys" in found["measured"]["tiny/n1024"]


@pytest.mark.parametrize(
    ("severity", "text", "status"),
    [
        ("Error", "Something unheard of went wrong.", "fail"),
        ("Critical", "Something unheard of went wrong.", "fail"),
        ("Warning", "Not all CUDA events might have been collected.", "pass"),
        ("Error", "CPU context switch tracing is not supported here.", "pass"),
    ],
)
def test_an_error_of_nsys_fails_conservation_whatever_its_words(bench, severity, text, status):
    with bench.json("nsys/export.json") as export:
        export["diagnostics"] = [{"severity": severity, "source": "Analysis", "text": text}]
    found = answers(bench)["conservation"]
    assert found["status"] == status and (status == "pass" or text in found["reason"])


def test_an_error_in_the_database_alone_fails_conservation_too(bench):
    insert = "INSERT INTO DIAGNOSTIC_EVENT (timestamp, timestampType, source, severity, text) VALUES"
    bench.sql(f"{insert} (1, 1, 1, 3, 'Something unheard of went wrong.')")
    assert "Something unheard of" in answers(bench)["conservation"]["reason"]


def test_a_credential_whose_name_and_value_stand_in_two_cells_is_found(bench):
    bench.sql(
        "CREATE TABLE SETTINGS (name TEXT, value TEXT)",
        "INSERT INTO SETTINGS VALUES ('hf_token', 'q8Zr2LxT5vWn')",
    )
    named = {(leak.variable, leak.file, leak.where) for leak in leaks.search(bench.case)}
    assert ("hf_token", "nsys/report.sqlite", "SETTINGS.value") in named
    found = answers(bench)["export"]
    assert found["status"] == "fail" and "hf_token" in found["reason"] and "q8Zr" not in found["reason"]


def test_a_check_that_no_case_makes_says_what_to_do(tmp_path):
    _, verdict = reconciled(factory.written(tmp_path, factory.tiny()), tmp_path / "out")
    (found,) = [c for c in verdict["checks"] if c["reason"]]
    assert "no case of this run makes the check ruler. Next: " in found["reason"]


def test_a_file_is_named_once(bench):
    (bench.case / "nsys/report.sqlite").unlink()
    (bench.case / "nsys/nvtx_sum.csv").unlink()
    found = answers(bench)
    assert found["structure"]["reason"].count("nsys/report.sqlite") == 1
    assert (
        "nsys/nvtx_sum.csv: this CSV" in found["export"]["reason"]
        and "nsys: nsys/" not in found["export"]["reason"]
    )


def test_a_case_that_was_not_measured_says_so_once_in_each_check(tmp_path):
    captures = factory.written(tmp_path)
    shutil.rmtree(captures / "ruler")
    _, verdict = reconciled(captures, tmp_path / "out")
    wanted = "ruler/default: this case was not measured. Next: run snakemake again"
    assert {c["reason"] for c in verdict["checks"]} == {wanted} and verdict["verdict"] == "unverifiable"


def test_kernels_outside_all_ranges_are_called_so(tmp_path):
    scenario = change(factory.tiny(), "eager", 1, ns=100_000)
    bench = Bench(tmp_path)
    bench.scenario = scenario
    bench.tamper("nsys", lambda calls: [(*c[:3], c[2] + 1, c[4]) if c[0] == "eager" else c for c in calls])
    text = " ".join(c["reason"] or "" for c in answers(bench).values())
    assert "(outside): " in text and "; : " not in text and "tiny/n1024: : " not in text


def test_the_database_of_another_workload_is_named_before_the_version_of_nvtx(bench):
    bench.sql("UPDATE NVTX_EVENTS SET text = 'gelu/eager' WHERE eventType = 59")
    reason = answers(bench)["conservation"]["reason"]
    assert "is of another workload: its ranges are gelu/eager, announced were tiny/eager" in reason
    assert "nvtx 0.2.12" not in reason


def test_no_advice_destroys_evidence():
    """A replay reads captures that nobody can measure again here: they are moved aside, never removed."""
    advice = [outcome.AGAIN, *(getattr(check, "NEXT", "") for check in (clocks, freshness, sameness))]
    assert all("remove" not in text for text in advice)
    assert all(outcome.AGAIN in text for text in advice)
