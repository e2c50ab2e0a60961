"""Two runs in, a comparison and an exit status out: what a user and a nightly job see of it."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import capture_factory as factory
import pytest

from kernel_ledger.compare.files import NAMES
from kernel_ledger.files import read_json, sha256

ROOT = Path(__file__).parents[1]
HOSTILE = "<script>alert(1)</script>|`*x*`"


@pytest.fixture(autouse=True, scope="module")
def enough_samples():
    """Twenty calls by CUDA events, which scatter by half a per mille."""
    monkeypatch, original = pytest.MonkeyPatch(), factory.timing

    def timing(scenario):
        value = original(scenario)
        for variant, launches in scenario.variants.items():
            middle = sum(x.ns for x in launches) + 10_000
            samples = [middle + middle * (i % 5 - 2) // 4000 for i in range(20)]
            value["variants"][variant] = {"samples_ns": samples, "median_ns": middle, "mad_ns": 100}
        return value

    monkeypatch.setattr(factory, "timing", timing)
    yield
    monkeypatch.undo()


@pytest.fixture(scope="module")
def healthy(tmp_path_factory, enough_samples):
    """A verified run; tests work on copies."""
    return run_folder(tmp_path_factory.mktemp("runs") / "healthy")


@pytest.fixture
def base(healthy, tmp_path):
    return Path(shutil.copytree(healthy, tmp_path / "a"))


@pytest.fixture
def new(healthy, tmp_path):
    return Path(shutil.copytree(healthy, tmp_path / "b"))


def run_folder(folder: Path, *changes, jitter=50) -> Path:
    """A verified run whose scenario went through ``changes``."""
    scenarios = [factory.tiny(), factory.ruler()]
    for scenario in scenarios:
        scenario.jitter = jitter
    for change in changes:
        change(scenarios[0])
    captures = factory.written(folder, *scenarios)
    judge(captures, folder)
    return folder


def judge(captures: Path, folder: Path) -> None:
    command = [sys.executable, ROOT / "scripts/reconcile.py", "--plan", captures / "plan.json"]
    done = subprocess.run(
        [*command, "--captures", captures, "--output", folder], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def launch(variant, index, **fields):
    def change(scenario):
        launches = list(scenario.variants[variant])
        launches[index] = replace(launches[index], **fields)
        scenario.variants = scenario.variants | {variant: launches}

    return change


def compared(base: Path, new: Path, *options: str, cwd=ROOT):
    output = new.parent / "compared"
    command = [sys.executable, ROOT / "scripts/compare.py", base, new, "--output", output, *options]
    return output, subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def verdicts(output: Path) -> dict[tuple[str, str, str], str]:
    with (output / "comparison.csv").open(newline="") as stream:
        return {(r["variant"], r["level"], r["name"]): r["verdict"] for r in csv.DictReader(stream)}


def test_the_same_code_twice_is_no_regression(base, tmp_path):
    output, done = compared(base, run_folder(tmp_path / "b", jitter=60))
    assert done.returncode == 0, done.stdout + done.stderr
    assert set(verdicts(output).values()) == {"same"}
    assert sorted(p.name for p in output.iterdir()) == sorted(NAMES)


def test_a_kernel_slower_by_five_percent_is_a_regression_and_named(base, tmp_path):
    new = run_folder(tmp_path / "b", launch("fused", 1, ns=94_500))
    output, done = compared(base, new)
    assert done.returncode == 1 and "regression" in done.stdout
    slower = {key for key, verdict in verdicts(output).items() if verdict == "slower"}
    assert {key[:2] for key in slower} == {("fused", "kernel"), ("fused", "operator"), ("fused", "chain")}
    assert "▲ slower" in (output / "comparison.md").read_text()
    assert read_json(output / "comparison.json", format=1)["exit_status"] == 1


def test_a_kernel_of_another_name_appeared_and_the_old_one_vanished(base, tmp_path):
    new = run_folder(tmp_path / "b", launch("eager", 1, symbol=factory.MUL.replace("Mul", "Div")))
    output, done = compared(base, new)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {v for k, v in verdicts(output).items() if "Div" in k[2]} == {"appeared"}
    assert "vanished" in {v for k, v in verdicts(output).items() if "Mul" in k[2]}


def test_a_variant_that_vanished_cannot_be_judged(base, tmp_path):
    def without_eager(scenario):
        scenario.variants = {k: v for k, v in scenario.variants.items() if k != "eager"}

    _, done = compared(base, run_folder(tmp_path / "b", without_eager))
    assert done.returncode == 2 and "eager" in done.stdout


def test_too_few_calls_are_ambiguous_and_say_what_to_raise(tmp_path):
    def brief(scenario):
        scenario.iterations = 3

    runs = [tmp_path / "a", tmp_path / "b"]
    for folder in runs:
        scenarios = [factory.tiny()]
        brief(scenarios[0])
        judge(factory.written(folder, *scenarios), folder)
    output, done = compared(*runs, "--force")
    assert done.returncode == 2
    with (output / "comparison.csv").open(newline="") as stream:
        kernels = [r for r in csv.DictReader(stream) if r["level"] == "kernel"]
    assert {r["verdict"] for r in kernels} == {"ambiguous"}
    assert all("raise measure.iterations" in r["reason"] for r in kernels)


def edit_records(folder: Path, edit) -> None:
    """Change every run.json of a run, and judge it again."""
    for path in folder.rglob("run.json"):
        record = json.loads(path.read_text())
        edit(record)
        path.write_text(json.dumps(record))
    for path in folder.rglob("timing.json"):
        value = json.loads(path.read_text())
        edit(value["run"])
        path.write_text(json.dumps(value))
        case = path.with_name("run.json")
        record = json.loads(case.read_text())
        record["files"]["timing.json"] = sha256(path)
        case.write_text(json.dumps(record))


@pytest.mark.parametrize(
    ("key", "edit"),
    [
        ("GPU", lambda r: r["gpu"].update(name="NVIDIA A100")),
        ("versions.driver", lambda r: r["versions"].update(driver="999.1")),
        ("versions.torch", lambda r: r["versions"].update(torch="9.9.9")),
        ("versions.cuda", lambda r: r["versions"].update(cuda="99.0")),
        ("warmup", lambda r: r.update(warmup=77)),
        ("TF32", lambda r: r.update(tf32={"matmul_allow_tf32": True})),
    ],
)
def test_runs_under_other_conditions_are_refused_with_the_key_and_both_values(base, new, key, edit):
    edit_records(new, edit)
    output, done = compared(base, new)
    assert done.returncode == 2 and f": {key}: " in done.stderr and "--force" in done.stderr
    assert read_json(output / "comparison.json", format=1)["outcome"] == "refused"
    assert verdicts(output) == {} and key in (output / "comparison.md").read_text()


def test_the_reasons_of_a_refusal_begin_on_the_line_that_says_found(base, new):
    edit_records(new, lambda r: r["gpu"].update(name="NVIDIA A100"))
    _, done = compared(base, new)
    found = next(line for line in done.stderr.splitlines() if line.startswith("  found:"))
    assert "GPU: " in found and "NVIDIA A100" in found


def test_a_forced_comparison_of_equal_rows_is_not_judged_and_never_ends_with_zero(base, new):
    edit_records(new, lambda r: r["versions"].update(driver="999.1"))
    output, done = compared(base, new, "--force")
    assert set(verdicts(output).values()) == {"same"}
    assert done.returncode == 2 and "no regression" not in done.stdout
    assert done.stdout.startswith("FORCED: runs differ in versions.driver. b against a: not judged\n")
    assert read_json(output / "comparison.json", format=1)["exit_status"] == 2
    for kind in ("md", "html"):
        assert "No row is slower" not in (output / f"comparison.{kind}").read_text()


def test_the_terminal_says_forced_before_it_warns(base, new):
    edit_records(new, lambda r: (r["versions"].update(driver="999.1"), r["gpu"].update(uuid="GPU-2")))
    command = [
        sys.executable,
        ROOT / "scripts/compare.py",
        base,
        new,
        "--output",
        new.parent / "c",
        "--force",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.stdout.startswith("FORCED: ") and "warning: " in done.stdout


def test_a_forced_comparison_still_ends_with_one_where_a_row_is_slower(base, tmp_path):
    new = run_folder(tmp_path / "b", launch("fused", 1, ns=94_500))
    edit_records(new, lambda r: r["versions"].update(driver="999.1"))
    _, done = compared(base, new, "--force")
    assert done.returncode == 1 and done.stdout.startswith("FORCED: runs differ in versions.driver.")


def test_another_gpu_of_the_same_model_is_a_warning(base, new):
    edit_records(new, lambda r: r["gpu"].update(uuid="GPU-2"))
    _, done = compared(base, new)
    assert done.returncode == 0 and "warning" in done.stderr and "GPU-2" in done.stderr


@pytest.mark.parametrize(("key", "value"), [("seed", 2), ("device", "cpu"), ("iterations", 11)])
def test_another_plan_is_refused(base, new, key, value):
    plan = new / "captures/plan.json"
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {key: value}))
    _, done = compared(base, new)
    assert done.returncode == 2 and f": {key}: " in done.stderr


def test_a_run_that_is_not_verified_is_refused_and_a_forced_comparison_is_marked_everywhere(base, tmp_path):
    new = run_folder(tmp_path / "b", launch("eager", 1, nsys_ns=150_000))
    _, refused = compared(base, new)
    assert (
        refused.returncode == 2
        and "verdict: verified in the base run, refuted in the new one" in refused.stderr
    )
    output, forced = compared(base, new, "--force")
    first = "FORCED: runs differ in verdict."
    assert forced.stdout.startswith(first)
    assert (output / "comparison.md").read_text().startswith(f"# {first}")
    assert f"<h1>{first}" in (output / "comparison.html").read_text()
    assert read_json(output / "comparison.json", format=1)["forced"] is True


def test_a_table_changed_after_it_was_judged_is_refused(base, new):
    table = new / "results.csv"
    table.write_text(table.read_text().replace("verified", "verified ", 1))
    _, done = compared(base, new)
    assert done.returncode == 2 and "results.csv is not the table that was judged" in done.stderr


@pytest.mark.parametrize("missing", ["verdict.json", "results.csv", "captures/plan.json"])
def test_what_is_no_run_cannot_be_judged_and_says_which_file_is_missing(base, new, missing):
    (new / missing).unlink()
    _, done = compared(base, new)
    assert done.returncode == 2 and missing.split("/")[-1] in done.stderr and "Traceback" not in done.stderr


def test_our_own_defects_are_not_taken_for_a_regression(base, new, tmp_path):
    (tmp_path / "compared").write_text("a file where the folder should be")
    _, done = compared(base, new)
    assert done.returncode == 2


def test_hostile_names_are_inert_in_the_page_and_in_the_markdown(tmp_path):
    runs = [run_folder(tmp_path / name, launch("eager", 1, symbol=HOSTILE)) for name in "ab"]
    output, done = compared(*runs)
    assert done.returncode == 0, done.stderr
    page = (output / "comparison.html").read_text()
    assert (
        "<script" not in page
        and "&lt;script&gt;" in page
        and "http" not in page.lower().replace("httpequiv", "")
    )


def test_the_recorded_run_compared_with_itself_is_no_regression(tmp_path):
    reference = ROOT / "reports/h200-reference"
    command = [sys.executable, ROOT / "scripts/compare.py", reference, reference, "--output", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "comparison.html").stat().st_size < 500_000
