"""A copy of the workflow whose measured passes are stand-ins: real rules and Snakemake, nothing measured."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("Snakefile", "config.yaml", "workflow", "profiles", "src", "scripts", "workloads", "csrc")
STAND_IN = """\
import argparse, json
from pathlib import Path
from kernel_ledger.study import names

INSIGHT = [f"{n}.csv" for n in "fusion_achieved operators kernels stacks fusion roofline".split()]
INSIGHT += ["roofline.svg", "kernels/none", "stacks/none"]

parser = argparse.ArgumentParser()
parser.add_argument("--repeat", type=int, default=1)
for option in "plan workload case variant library output capture captures run device architectures results config".split():
    parser.add_argument("--" + option)
given = parser.parse_args()
for path in FILES(given):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("{}")
with open("ran.txt", "a") as ran:
    print(Path(__file__).stem, given.variant or "", given.repeat if given.repeat > 1 else "", file=ran)
"""
FILES = {
    "build": "lambda g: [g.output, Path(g.output).parent / 'build.json']",
    "numerics": "lambda g: [Path(g.output) / n for n in names('numerics', [])]",
    "timing": "lambda g: [Path(g.output) / n for n in names('timing', [], g.repeat)]",
    "torch_pass": "lambda g: [Path(g.output) / n for n in names('torch', [g.variant], g.repeat)]",
    "nsys_pass": "lambda g: [Path(g.output) / n for n in names('nsys', [], g.repeat)]",
    "export": "lambda g: [Path(g.capture) / n for n in names('export', [])]",
    "report": "lambda g: [Path(g.run) / n for n in ('summary.md', 'report.html')]",
    "claims": "lambda g: [g.output]",
    "timeline": "lambda g: [g.output]",
    "insight": "lambda g: [Path(g.run) / n for n in INSIGHT]",
    "reconcile": "lambda g: [Path(g.output) / n for n in ('results.csv', 'results.parquet', 'results.schema.json')]",
}
JUDGE = """
(Path(given.output) / "verdict.json").write_text(Path("verdict.json").read_text())
"""


def copy_workflow(folder: Path, verdict: str = "verified") -> Path:
    """The workflow in ``folder``, with stand-ins that write empty files and ``verdict`` as the judgement."""
    folder.mkdir(parents=True)
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, folder / part)
    for name, files in FILES.items():
        text = STAND_IN.replace("FILES", f"({files})") + (JUDGE if name == "reconcile" else "")
        (folder / "scripts" / f"{name}.py").write_text(text)
    checks = [
        {
            "id": "agreement",
            "status": "pass" if verdict == "verified" else "fail",
            "reason": "gelu differs by 3.1 %",
        },
        {"id": "clocks", "status": "not_applicable", "reason": ""},
    ]
    (folder / "verdict.json").write_text(json.dumps({"format": 1, "verdict": verdict, "checks": checks}))
    return folder


def snakemake(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Snakemake as a user runs it; standard output and error together."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )


def planned_jobs(output: str) -> dict[str, int]:
    """Rule -> number of jobs, from the first table that a dry run prints."""
    lines = iter(output.splitlines())
    for line in lines:
        if line.startswith("Job stats"):
            break
    jobs = {}
    for line in lines:
        words = line.split()
        if words and words[0] == "total":
            break
        if len(words) == 2 and words[1].isdigit():
            jobs[words[0]] = int(words[1])
    return jobs


def ran(folder: Path) -> list[str]:
    """What the stand-ins noted, in order; the note is emptied."""
    note = folder / "ran.txt"
    lines = note.read_text().splitlines() if note.exists() else []
    note.unlink(missing_ok=True)
    return [line.strip() for line in lines]
