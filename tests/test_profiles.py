"""The profiles parse, and what they and their manifest ask for is what the workflow has."""

import re

import pytest
import yaml
from workflow_copy import ROOT, copy_workflow, snakemake

from kernel_ledger.study import Study, prepare

WAIT = """
import os, sys, time
Path(f"{given.case}.here").touch()
deadline = time.monotonic() + 20
while len(list(Path().glob("*.here"))) < 2:  # until the other case is measured as well
    time.sleep(0.05)
    if time.monotonic() > deadline:
        sys.exit("the other case does not run beside this one")
with open("gpus.txt", "a") as note:
    print(os.environ["KERNEL_LEDGER_GPUS"], file=note)
"""


def test_the_kubernetes_profile_plans_the_whole_study(tmp_path):
    folder = copy_workflow(tmp_path / "study")
    done = snakemake(folder, "--profile", "profiles/kubernetes", "--dry-run", "--config", "device=cuda")
    assert done.returncode == 0, done.stdout
    assert "profiles/kubernetes" in done.stdout and re.search(r"^nsys_pass +2$", done.stdout, re.MULTILINE)


def test_with_two_gpus_two_cases_run_side_by_side_and_launchers_know_of_both(tmp_path):
    folder = copy_workflow(tmp_path / "study")
    (folder / "tiny.py").write_text((ROOT / "tests" / "data" / "tiny.py").read_text())
    doctor = folder / "logs" / "s" / "doctor.txt"
    doctor.parent.mkdir(parents=True)
    doctor.touch()
    snakefile = folder / "Snakefile"
    snakefile.write_text(snakefile.read_text().replace("    refuse_without_machine()\n", ""))
    script = folder / "scripts" / "numerics.py"
    script.write_text(script.read_text() + WAIT)
    targets = [f"reports/s/captures/tiny/rows{rows}_spoilno/numerics.json" for rows in (4, 8)]
    workloads = "workloads=[{file: tiny.py, variants: [plain], cases: [{rows: 4}, {rows: 8}]}]"
    settings = ["--config", "device=cuda", "run=s", workloads]
    done = snakemake(folder, "--cores", "8", "--resources", "gpu=2", *settings, "--", *targets)
    assert done.returncode == 0, done.stdout
    assert (folder / "gpus.txt").read_text().split() == ["2", "2"]


def test_the_pod_asks_for_as_many_gpus_as_its_snakemake_uses():
    job = yaml.safe_load((ROOT / "profiles" / "kubernetes" / "job.yaml").read_text())
    [container] = job["spec"]["template"]["spec"]["containers"]
    gpus = container["resources"]["limits"]["nvidia.com/gpu"]
    assert f"gpu={gpus}" in container["command"] and job["spec"]["backoffLimit"] == 0


def test_a_case_is_one_job_of_slurm_and_each_of_its_rules_is_a_rule():
    profile = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text())
    rules = (ROOT / "workflow" / "rules" / "measure.smk").read_text()
    assert set(profile["groups"]) == set(re.findall(r"^rule (\w+):", rules, re.MULTILINE))
    assert set(profile["groups"].values()) == {"case"} and profile["set-resource-scopes"] == {"gpu": "local"}


@pytest.mark.parametrize(("there", "half"), [((), False), (("run.json",), True), (None, False)])
def test_a_case_between_its_first_pass_and_its_last_is_half_measured(tmp_path, monkeypatch, there, half):
    monkeypatch.chdir(ROOT)
    study = prepare({"run": "r", "device": "cuda"})
    monkeypatch.chdir(tmp_path)
    study = Study(study.config, study.plan)
    case = study.plan["cases"][0]
    folder = tmp_path / study.captures / case["workload"] / case["case"]
    records = ["run.json", "nsys/run.json", *(f"torch/{v}/run.json" for v in case["variants"])]
    names = ["numerics.json", *(records if there is None else there)] if there != () else []
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    assert study.half_measured() == ([(case["workload"], case["case"])] if half else [])
