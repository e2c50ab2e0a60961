"""The workflow through the door that a user uses: which jobs, in which order, what a refusal looks like."""

import resource
import subprocess
import sys

import pytest
from workflow_copy import ROOT, copy_workflow, planned_jobs, ran, snakemake

NO_GPU = {"CUDA_VISIBLE_DEVICES": ""}

JUDGED = ["claims", "insight", "reconcile", "report", "timeline"]  # what follows the captures


@pytest.fixture
def workflow(tmp_path):
    return copy_workflow(tmp_path / "a copy; $(touch hacked)")


def on_cpu(folder, *arguments, **settings):
    config = ["device=cpu", *(f"{key}={value}" for key, value in settings.items())]
    return snakemake(folder, *arguments, "--config", *config)


def test_a_dry_run_on_cuda_lists_every_pass_and_needs_no_gpu(workflow):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    finished = snakemake(workflow, "--dry-run", **NO_GPU)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    )  # whatever else the machine does
    assert finished.returncode == 0, finished.stdout
    jobs = planned_jobs(finished.stdout)
    assert jobs["numerics"] == jobs["timing"] == jobs["nsys_pass"] == jobs["export"] == 2  # the ruler, too
    assert jobs["torch_pass"] > jobs["timing"]
    assert jobs["build"] == jobs["reconcile"] == jobs["report"] == jobs["gate"] == 1
    assert seconds < 6, f"a dry run takes about one second, not {seconds:.1f} s of processor time"


def test_without_a_gpu_it_stops_before_the_first_job_and_names_the_replay(workflow):
    finished = snakemake(workflow, **NO_GPU)
    assert finished.returncode not in (0, None)
    assert "no CUDA GPU" in finished.stdout
    assert "snakemake --cores 1 --config replay=reports/h200-reference run=replay" in finished.stdout
    assert "Traceback" not in finished.stdout and ".smk" not in finished.stdout
    assert not (workflow / "reports").exists() and ran(workflow) == []


def test_a_wrong_configuration_is_a_short_text_before_any_job(workflow):
    finished = snakemake(workflow, "--config", "run=../x", "measure={iteratons: 3}", "device=gpu")
    assert finished.returncode == 2
    assert "3 problems" in finished.stdout
    assert "measure.iteratons: unknown key; did you mean measure.iterations?" in finished.stdout
    assert "Traceback" not in finished.stdout and ".smk" not in finished.stdout
    assert not (workflow / "reports").exists()


def test_all_runs_in_the_order_of_the_data_and_a_second_run_does_nothing(workflow):
    finished = on_cpu(workflow)
    assert finished.returncode == 0, finished.stdout
    order = [line.split()[0] for line in ran(workflow)]
    assert order[:2] == ["build", "numerics"] and sorted(order[-len(JUDGED) :]) == JUDGED
    assert set(order[2:-2]) >= {"timing", "torch_pass"}
    assert (workflow / "logs/local/gate.ok").exists()
    assert not (workflow / "hacked").exists() and not (workflow.parent / "hacked").exists()
    assert "Nothing to be done" in on_cpu(workflow).stdout
    assert ran(workflow) == []


def test_only_what_a_pass_is_told_or_runs_measures_again(workflow):
    assert on_cpu(workflow).returncode == 0
    first = ran(workflow)

    assert on_cpu(workflow, tolerance="{agreement_pct: 2}").returncode == 0
    assert sorted(ran(workflow)) == JUDGED

    append(workflow / "src/kernel_ledger/reconcile/case.py", "# a change of the table")
    assert on_cpu(workflow, tolerance="{agreement_pct: 2}").returncode == 0
    assert not {"numerics", "timing", "build"} & set(ran(workflow))

    assert on_cpu(workflow, tolerance="{agreement_pct: 2}", measure="{iterations: 3}").returncode == 0
    assert sorted(ran(workflow)) == sorted(line for line in first if line != "build")

    append(workflow / "csrc/fused_chain.cu", "// a change of a kernel")
    assert on_cpu(workflow, tolerance="{agreement_pct: 2}", measure="{iterations: 3}").returncode == 0
    assert sorted(ran(workflow)) == sorted(first)


def append(path, line):
    path.write_text(f"{path.read_text()}{line}\n")


def test_a_refuted_run_fails_at_the_gate_with_its_table_written(tmp_path):
    folder = copy_workflow(tmp_path / "copy", verdict="refuted")
    finished = on_cpu(folder)
    assert finished.returncode != 0
    assert "the verdict is refuted" in finished.stdout
    assert "agreement: fail: gelu differs by 3.1 %" in finished.stdout
    for name in ("results.csv", "verdict.json", "summary.md"):
        assert (folder / "reports/local" / name).exists(), name
    assert not (folder / "logs/local/gate.ok").exists()


def test_a_replay_only_reconciles_and_leaves_the_recorded_run_alone(workflow):
    assert on_cpu(workflow).returncode == 0
    ran(workflow)
    before = contents(workflow / "reports/local")
    finished = snakemake(workflow, "--config", "replay=reports/local", "run=again", **NO_GPU)
    assert finished.returncode == 0, finished.stdout
    assert sorted(ran(workflow)) == JUDGED
    assert contents(workflow / "reports/local") == before
    assert (workflow / "reports/again/results.csv").exists()


def contents(folder):
    return {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def test_a_replay_of_nothing_names_the_runs_that_are_there(workflow):
    assert on_cpu(workflow, run="mine").returncode == 0
    finished = snakemake(workflow, "--config", "replay=reports/nine", "run=again")
    assert finished.returncode == 2
    assert "there is no recorded run to replay" in finished.stdout and "reports/mine" in finished.stdout


def test_the_lint_of_snakemake_finds_nothing_to_mend():
    finished = subprocess.run(
        [sys.executable, ".ci/lint-workflow"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_a_capture_that_was_deleted_is_made_again(workflow):
    assert on_cpu(workflow).returncode == 0
    ran(workflow)
    next((workflow / "reports/local/captures").glob("*/*/timing.json")).unlink()
    assert on_cpu(workflow).returncode == 0
    assert sorted(ran(workflow)) == ["claims", "insight", "reconcile", "report", "timing"]


def test_progress_is_seen_on_the_terminal_and_kept_in_the_log(workflow):
    script = workflow / "scripts/timing.py"
    append(script, 'import sys\nprint("half of it done", file=sys.stderr)')
    assert "half of it done" in on_cpu(workflow).stdout
    (log,) = (workflow / "logs/local/timing").rglob("*.log")
    assert "half of it done" in log.read_text()


def test_a_pass_that_fails_stops_the_run_with_its_own_words(workflow):
    append(workflow / "scripts/timing.py", 'raise SystemExit("error: the clock stood still")')
    finished = on_cpu(workflow)
    assert finished.returncode != 0 and "error: the clock stood still" in finished.stdout
    assert not (workflow / "reports/local/results.csv").exists()
