"""profiles/slurm with a real Slurm of one node, GPUs that are pretended, and passes that are stand-ins."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
import slurm_node
from workflow_copy import ROOT, copy_workflow

if reason := slurm_node.missing():
    pytest.skip(reason, allow_module_level=True)

NOTE = """
import os, time
began = time.time()
time.sleep(float(os.environ["PAUSE_S"]))
with open("notes.txt", "a") as notes:
    print(json.dumps({"rule": Path(__file__).stem, "case": given.case, "began": began, "ended": time.time(),
        "gpu": os.environ.get("CUDA_VISIBLE_DEVICES"), "job": os.environ.get("SLURM_JOB_ID")}), file=notes)
"""
NOTING = ("numerics", "timing", "torch_pass", "nsys_pass", "build")
SETTINGS = {
    "run": "s",
    "device": "cuda",
    "measure": "{collision_control: false}",
    "build": "{architectures: ['9.0']}",
    "workloads": "[{file: tiny.py, variants: [plain], gpu_model: h100, cases: [{rows: 4}, {rows: 8}]}]",
}
CASES = [f"reports/s/captures/tiny/rows{rows}_spoilno" for rows in (4, 8)]


@pytest.fixture
def study(tmp_path):
    """A copy of the workflow with a study of two cases, each of four short passes on a GPU."""
    folder = copy_workflow(tmp_path / "study")
    (folder / "tiny.py").write_text((ROOT / "tests" / "data" / "tiny.py").read_text())
    for name in NOTING:
        script = folder / "scripts" / f"{name}.py"
        script.write_text(script.read_text() + NOTE)
    doctor = folder / "logs" / "s" / "doctor.txt"  # of rule preflight, which would find no GPU
    doctor.parent.mkdir(parents=True)
    doctor.touch()
    return folder


def command(*arguments):
    settings = [f"{key}={value}" for key, value in SETTINGS.items()]
    words = [sys.executable, "-m", "snakemake", "--profile", "profiles/slurm", *arguments]
    quick = ["--slurm-init-seconds-before-status-checks=1", "--seconds-between-status-checks=1"]
    return [*words, *quick, "--config", *settings]


def start(study, *arguments, targets=(), pause_s=0.2):
    with (study / "said.txt").open("w") as said:
        path = os.pathsep.join(filter(None, [str(slurm_node.PLUGIN), os.environ.get("PYTHONPATH")]))
        return subprocess.Popen(
            [*command(*arguments), "--", *targets],
            cwd=study,
            env={**os.environ, "PYTHONPATH": path, "PAUSE_S": str(pause_s)},
            stdout=said,
            stderr=said,
            start_new_session=True,
        )


def complete(study, **options):
    process = start(study, **options)
    assert process.wait(timeout=240) == 0, (study / "said.txt").read_text()


def notes(study):
    path = study / "notes.txt"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def spans(study):
    """Case -> from the start of its first pass to the end of its last."""
    measured = [note for note in notes(study) if note["rule"] != "build"]
    return {
        case: (
            min(n["began"] for n in measured if n["case"] == case),
            max(n["ended"] for n in measured if n["case"] == case),
        )
        for case in {note["case"] for note in measured}
    }


def overlap(first, second):
    return max(first[0], second[0]) < min(first[1], second[1])


def test_two_cases_overlap_on_two_gpus_and_each_stays_on_its_own(study, tmp_path):
    with slurm_node.slurm_node(tmp_path / "slurm", gpus=2):
        complete(study, targets=["build/cuda/kernels.so", *(f"{case}/run.json" for case in CASES)])
        assert not slurm_node.queue()
    done = notes(study)
    gpus = {case: {n["gpu"] for n in done if n["case"] == case} for case in spans(study)}
    assert sorted(map(sorted, gpus.values())) == [["0"], ["1"]], done
    jobs = {case: {n["job"] for n in done if n["case"] == case} for case in spans(study)}
    assert all(len(own) == 1 for own in jobs.values()), "a case's passes are one job"
    assert overlap(*spans(study).values()), done
    [build] = [n for n in done if n["rule"] == "build"]
    assert build["gpu"] is None and build["job"] not in set().union(*jobs.values()), "it holds no GPU"


def test_on_one_gpu_cases_wait_and_a_cancelled_run_resumes(study, tmp_path):
    targets = [f"{case}/run.json" for case in CASES]
    with slurm_node.slurm_node(tmp_path / "slurm", gpus=1):
        process = start(study, targets=targets, pause_s=4)
        wait_until(lambda: len(notes(study)) == 1)
        assert sorted(line.split()[1] for line in slurm_node.queue()) == ["PENDING", "RUNNING"]
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) != 0
        wait_until(lambda: not slurm_node.queue(), 30)
        [first] = notes(study)
        assert first["rule"] == "numerics", "it was cancelled between two passes of a case"
        (study / "notes.txt").unlink()
        complete(study, targets=targets)
    done = notes(study)
    assert sorted(n["rule"] for n in done) == ["numerics", "numerics", "timing", "timing"], (
        "the case that was half measured began again, on one GPU whichever it got"
    )
    assert not overlap(*spans(study).values()), done


def wait_until(holds, seconds=90):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.1)
