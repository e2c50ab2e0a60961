"""A smaller run out of a larger one: some of its cases with their captures as they are, and what was left out.

Captures of many cases are too large to be kept with the code.  An excerpt says in its plan which run it is from and
which cases it leaves out, and verdict.json and summary.md repeat it: what an excerpt shows is shown of its cases alone.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Collection
from pathlib import Path

from .errors import ConfigError
from .files import read_json, write_json
from .plan_file import CONTROL

CODE = "kernel_code.json"


def excerpt(run: Path, labels: Collection[str], output: Path) -> None:
    """Copy the captures of ``labels`` (workload/case) from ``run`` into ``output``, which must not exist."""
    plan = read_json(run / "captures/plan.json", format=1)
    known = {f"{c['workload']}/{c['case']}": c for c in plan["cases"]}
    if missing := sorted(set(labels) - set(known)):
        raise ConfigError(
            "no such case in this run", where=run, found=", ".join(missing), expected=", ".join(known)
        )
    if output.exists():
        raise ConfigError(
            "this folder is there already", where=output, next_step="name another, or remove it"
        )
    captures = output / "captures"
    for label in labels:
        shutil.copytree(run / "captures" / label, captures / label)
    if (run / "captures" / CONTROL).is_file():
        shutil.copy(run / "captures" / CONTROL, captures / CONTROL)
    left_out = [label for label in known if label not in labels]
    plan["cases"] = [case for label, case in known.items() if label in labels]
    plan["excerpt"] = {"of": run.name, "left_out": left_out}
    write_json(captures / "plan.json", plan)
    copy_code(run / "captures" / CODE, captures)


def copy_code(source: Path, captures: Path) -> None:
    """The PTX of those kernels alone whose names occur in the kept traces."""
    if not source.is_file():
        return
    code = read_json(source, format=1)
    texts = [gzip.decompress(path.read_bytes()) for path in captures.rglob("trace.json.gz")]
    code["kernels"] = [k for k in code["kernels"] if any(k["name"].encode() in text for text in texts)]
    write_json(captures / CODE, code)
