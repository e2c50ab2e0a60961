# The checked study and the few names that all rules share.  Any problem stops here, before the first job.
import os
import sys
from pathlib import Path

# Scripts run from this checkout, also where the package is not installed or another workflow uses this as a module.
LIBRARY = str(Path(workflow.current_basedir).parents[1] / "src")
sys.path.insert(0, LIBRARY)
os.environ.update(PYTHONPATH=os.pathsep.join(filter(None, [LIBRARY, os.environ.get("PYTHONPATH")])))
os.environ.update(KERNEL_LEDGER_WORKFLOW=str(os.getpid()))  # a rule's script ends with us

from kernel_ledger import folder_lock, machine, repeats
from kernel_ledger.checkout import at
from kernel_ledger.errors import ConfigError, LedgerError, MachineError
from kernel_ledger.plan_file import CONTROL
from kernel_ledger.progress import name_terminal
from kernel_ledger.study import FILES, pass_sources, prepare, script_sources, workload_sources


def stop(error):
    """End with an error's text alone; Snakemake would frame it with lines of its own."""
    print(f"error: {error}", file=sys.stderr)
    sys.exit(error.exit_status)


try:
    STUDY = prepare(config)
except LedgerError as error:
    stop(error)

# Of the process that the user started, not of those that it starts for jobs.
FOLDER = folder_lock.claim(Path.cwd()) if workflow.is_main_process else None
if FOLDER and FOLDER.removed:
    print("the last run in this folder was killed; the lock that it left is removed", file=sys.stderr)
if FOLDER and FOLDER.holder:
    print(f"at work in this folder: {FOLDER.holder}", file=sys.stderr)

# Rules name these variables of the environment: as parameters, another path of the interpreter would make all captures
# stale, and so would another tolerance; and in a module, a rule's command does not see the names of this file.
SETTINGS = f"LEDGER_SETTINGS_{STUDY.config.run.encode().hex()}"  # of each run its own
os.environ.update(
    {"LEDGER_PYTHON": sys.executable, "LEDGER_SCRIPTS": at("scripts"), SETTINGS: STUDY.settings}
)

name_terminal(os.environ)  # for progress bars, since a script's own output goes to its log

# How many GPUs at once, None where that is not ours to say (within a cluster's job); launchers spread over them.
CAP = getattr(workflow.global_resources.get("gpu"), "value", None)
os.environ.update(KERNEL_LEDGER_GPUS=str(CAP or 1))

DEVICE = STUDY.plan["device"]
GPUS = 1 if DEVICE == "cuda" else 0
CASE = f"{STUDY.captures}/{{workload}}/{{case}}"
REPEAT = f"{CASE}/{{repeat}}"  # the wildcard is empty for the first of measure.repeats
LOGS = f"logs/{STUDY.config.run}"
CASE_PLAN = f"{LOGS}/plan/{{workload}}/{{case}}.json"
DOCTOR = f"{LOGS}/doctor.txt"
NEW_RUN = STUDY.config.compare.new or STUDY.output  # of the rule compare
EXTENSION = f"build/{DEVICE}/kernels.so"


# On a cluster a case that was interrupted would go on on another GPU: with a newer plan, it begins again.
if workflow.is_main_process and workflow.resource_scopes.is_local("gpu"):
    for half in STUDY.half_measured():
        if os.path.exists(newer := CASE_PLAN.format(workload=half[0], case=half[1])):
            os.utime(newer)


wildcard_constraints:
    workload=r"[A-Za-z0-9_.-]+",
    case=r"[A-Za-z0-9_.-]+",
    variant=r"[A-Za-z0-9_.-]+",
    repeat=r"(?:repeat-[0-9]+/)?",


def workload_file(wildcards):
    """The case's file, and what it imports of this package; of the user's own modules the plan holds a hash."""
    return workload_sources(STUDY.case(wildcards.workload, wildcards.case)["file"])


def extension(wildcards):
    """The built kernels, for the cases that call them."""
    return EXTENSION if STUDY.needs_extension(wildcards.workload, wildcards.case) else []


def library_option(wildcards):
    return f"--library {EXTENSION}" if extension(wildcards) else ""


def gpu_model(wildcards):
    """What the executor of a cluster asks its scheduler for; here the pass itself looks for it."""
    return STUDY.case(wildcards.workload, wildcards.case).get("gpu_model") or ""


def gpus(wildcards):
    """One for each rank of a case that is several processes.

    Here never more than the cap, which Snakemake would refuse: the job then runs alone, and the locks do the rest.
    """
    wanted = STUDY.ranks(wildcards.workload, wildcards.case) * GPUS
    return min(wanted, CAP) if CAP and workflow.local_exec else wanted


def case_folder(wildcards):
    return CASE.format(workload=wildcards.workload, case=wildcards.case)


def repeat(wildcards):
    return repeats.number(wildcards.repeat)


def before(pass_name):
    """The input that keeps the processes of a repeated case in their order."""
    return lambda wildcards: STUDY.before(
        wildcards.workload,
        wildcards.case,
        repeats.Step(pass_name, wildcards.get("variant"), repeat(wildcards)),
    )


def books(wildcards):
    """The files that a case's timeline is drawn from: those of the first process of each pass."""
    folder = case_folder(wildcards)
    return [
        path
        for path in STUDY.evidence()
        if path == f"{folder}/nsys/report.sqlite"
        or (path.startswith(f"{folder}/torch/") and path.endswith("trace.json.gz"))
    ]


def compared_runs(wildcards):
    """What the comparison reads; a new run that is this study's own is made first."""
    if not STUDY.config.compare.base:
        problem = ConfigError(
            "nothing to compare with",
            where="compare.base",
            expected="the folder of a run that is known to be good",
            next_step="snakemake --cores 1 compare --config compare='{base: reports/a, new: reports/b}'",
        )
        stop(problem)
    return [
        f"{run}/{name}"
        for run in (STUDY.config.compare.base, NEW_RUN)
        for name in ("results.csv", "verdict.json")
    ]


def told(wildcards):
    return STUDY.told(wildcards.workload, wildcards.case)


def refuse_second_run():
    """Before the first job, for two that began at once: only one of them has the folder."""
    if FOLDER and FOLDER.holder and (other := folder_lock.claim(Path.cwd(), tidy=False).holder):
        stop(
            MachineError("another run is at work in this folder", found=other, next_step="wait until it ends")
        )


def refuse_without_machine():
    """Before the first job, not while planning: a dry run, a report or a lint needs no GPU."""
    due = {job.rule.name for job in workflow.dag.needrun_jobs()}
    if workflow.local_exec and not workflow.touch and due & MEASURING:
        try:
            machine.check(DEVICE, nsys=STUDY.config.nsys.path, with_nsys=bool(due & WITH_NSYS))
        except LedgerError as error:
            stop(error)


WITH_NSYS = {"nsys_pass", "collision_control"}
MEASURING = {"build", "numerics", "timing", "torch_pass", "nsys_pass", "collision_control"}
