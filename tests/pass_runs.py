"""Runs the pass scripts on the CPU as Snakemake does; shared by the pass tests."""

import json
import os
import subprocess
import sys
from pathlib import Path

from kernel_ledger.workload import load, source_hash

ROOT = Path(__file__).parents[1]
TINY = ROOT / "tests" / "data" / "tiny.py"


def write_plan(root, workload_file=TINY, nsys_path=None, **parameters):
    """A plan of one case on the CPU, in ``root/reports/test/captures``; its path and the case's name."""
    workload = load(workload_file)
    complete = workload.complete(parameters)
    case = workload.case_name(complete)
    plan = {
        "format": 1,
        "device": "cpu",
        "seed": 7,
        "warmup": 1,
        "iterations": 3,
        "timeout_s": 60,
        "timing": {
            "min_samples": 5,
            "max_samples": 9,
            "max_seconds": 5,
            "noise_pct": 0.0001,
            "flush_l2": False,
        },
        "tolerance": {"rtol": 1e-5, "atol": 1e-6},
        "torch": {"with_stack": False},
        "nsys": {"path": nsys_path},
        "environment": [],
        "cases": [
            {
                "workload": workload.name,
                "file": str(workload_file),
                "source_sha256": source_hash(workload_file),
                "case": case,
                "parameters": complete,
                "variants": [v.name for v in workload.variants],
            }
        ],
    }
    path = root / "reports" / "test" / "captures" / "plan.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(plan))
    return path, case


def change_plan(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def command(root, script, plan, case, variant=None):
    output = plan.parent / "tiny" / case
    words = [
        sys.executable,
        str(ROOT / "scripts" / f"{script}.py"),
        "--plan",
        str(plan),
        "--workload",
        "tiny",
    ]
    words += ["--case", case, "--output", str(output)]
    return words + (["--variant", variant] if variant else []), output


def run_script(root, script, plan, case, variant=None, check=True, **environ):
    """Run one pass script in ``root``; what finished, and the case's folder."""
    words, output = command(root, script, plan, case, variant)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), **environ}
    finished = subprocess.run(words, cwd=root, env=environment, capture_output=True, text=True, timeout=100)
    if check:
        assert finished.returncode == 0, finished.stderr
    return finished, output


def hidden(folder):
    return [path.name for path in folder.rglob(".*")]
