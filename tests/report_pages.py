"""Run folders for tests of report.html, and the page as the rule's own script writes it."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import html5lib

from kernel_ledger.files import sha256

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "reports/h200-reference"
CLAIMS = [
    "workload",
    "case",
    "claim",
    "sentence",
    "expression",
    "measured",
    "outcome",
    "refuted_by",
    "reason",
    "source",
]
HOSTILE = """</script><script>window.pwned=1</script>"><img src=x onerror="window.pwned=1">'{{7*7}}&lt;"""


def copy_reference(folder: Path) -> Path:
    """A copy of the recorded run, to change."""
    return shutil.copytree(REFERENCE, folder, ignore=shutil.ignore_patterns("report.html", "*.nsys-rep"))


def write_page(run: Path, captures: Path | None = None) -> str:
    """The page of a run folder, through scripts/report.py, without torch."""
    blocked = run / ".without-torch"
    blocked.mkdir(exist_ok=True)
    (blocked / "sitecustomize.py").write_text("import sys; sys.modules['torch'] = None")
    command = [sys.executable, ROOT / "scripts/report.py", "--run", run]
    command += ["--captures", captures] if captures else []
    environment = os.environ | {"PYTHONPATH": f"{blocked}{os.pathsep}{ROOT / 'src'}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return (run / "report.html").read_text("utf-8")


BLOCKS = (
    "td",
    "th",
    "tr",
    "li",
    "p",
    "dt",
    "dd",
    "h1",
    "h2",
    "h3",
    "caption",
    "summary",
    "text",
    "title",
    "option",
)


def parsed(page: str):
    """The page as a tree without namespaces; every error of HTML's syntax fails the test."""
    tree = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(page)
    for element in tree.iter():
        if isinstance(element.tag, str):
            element.tag = element.tag.rpartition("}")[2]
    return tree


def text_of(element) -> str:
    """Text as it is read: cells and blocks apart."""
    return " ".join("".join(pieces(element)).split())


def pieces(element) -> Iterator[str]:
    yield element.text or ""
    for child in element:
        yield from pieces(child)
        yield " " if child.tag in BLOCKS else ""
        yield child.tail or ""


def rewrite(run: Path, change) -> None:
    """Change rows (as dicts of text) of a run's results.csv in place."""
    path = run / "results.csv"
    with path.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        change(row)
    with path.open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    judge_again(run)


def judge_again(run: Path) -> None:
    """Let a run's verdict stand for the table that is there now."""
    path = run / "verdict.json"
    verdict = json.loads(path.read_text())
    verdict["files"] = {
        name: sha256(run / name) for name in verdict.get("files", ()) if (run / name).is_file()
    }
    path.write_text(json.dumps(verdict))


def many_cases(folder: Path, count: int) -> Path:
    """A run of so many cases, each with the reference's captures."""
    source, workload = REFERENCE / "captures", "linear_chain"
    (folder / "captures" / workload).mkdir(parents=True)
    plan = json.loads((source / "plan.json").read_text())
    first = plan["cases"][0]
    plan["cases"] = [first | {"case": f"rows{number}"} for number in range(count)]
    (folder / "captures/plan.json").write_text(json.dumps(plan))
    for name in ("verdict.json", "results.schema.json"):
        shutil.copy(REFERENCE / name, folder)
    with (REFERENCE / "results.csv").open(newline="") as stream:
        rows = [row for row in csv.DictReader(stream) if row["workload"] == workload]
    with (folder / "results.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
        writer.writeheader()
        for number in range(count):
            (folder / "captures" / workload / f"rows{number}").symlink_to(source / workload / first["case"])
            writer.writerows(row | {"case": f"rows{number}"} for row in rows)
    judge_again(folder)
    return folder


def make_hostile(run: Path) -> Path:
    """Names and texts from outside that would be markup, script or a template, wherever a page shows some."""

    def change(row):
        for column in ("name", "operator", "input_shapes", "reason", "torch_source", "grid"):
            if row["level"] in ("kernel", "operator"):
                row[column] = f"{HOSTILE} {row[column]}"
        if row["variant"] == "add" and row["level"] == "kernel":
            row["status"] = "disagree"

    rewrite(run, change)
    case = run / "captures/linear_chain/rows65536_dim1024"
    averages = case / "torch/eager/key_averages.csv"
    quoted = HOSTILE.replace('"', '""')
    averages.write_text(averages.read_text().replace("plain,aten::gelu,", f'plain,"{quoted}",'))
    verdict = json.loads((run / "verdict.json").read_text())
    verdict["verdict"] = "refuted"
    verdict["checks"][0] |= {
        "status": "fail",
        "reason": HOSTILE,
        "measured": {HOSTILE: HOSTILE},
        "limit": HOSTILE,
    }
    verdict["checks"][1] |= {"status": "unknown", "evidence": [HOSTILE]}
    (run / "verdict.json").write_text(json.dumps(verdict))
    numerics = json.loads((case / "numerics.json").read_text())
    numerics["variants"]["fused"] |= {
        "agrees": False,
        "first_disagreement": {"index": [1], "value": HOSTILE, "expected": HOSTILE},
    }
    (case / "numerics.json").write_text(json.dumps(numerics))
    record = json.loads((case / "run.json").read_text())
    record["versions"]["torch"] = HOSTILE
    (case / "run.json").write_text(json.dumps(record))
    claim = ["linear_chain", "rows65536_dim1024", *[HOSTILE] * 3, "1.5", "refuted", *[HOSTILE] * 3]
    with (run / "claims.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([CLAIMS, claim])
    return run
