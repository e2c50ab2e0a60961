"""What the kill tests share: scripts to kill, processes of ours that are left, and what must never be seen."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import capture_factory
from pass_runs import ROOT, change_plan, write_plan

from kernel_ledger.files import sha256
from kernel_ledger.reconcile import read_table

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
SEED = int(os.environ.get("KERNEL_LEDGER_SEED", "20260117"))
KILLS = int(os.environ.get("KERNEL_LEDGER_KILLS", "56"))
MARK = "KERNEL_LEDGER_TEST_MARK"
SOON_S = 8.0
PASSES = ("numerics", "timing", "torch_pass", "nsys_pass")


def seeded(name):
    """A generator of this test's own; its seed is shown when the test fails."""
    print(f"KERNEL_LEDGER_SEED={SEED} KERNEL_LEDGER_KILLS={KILLS} ({name})")
    return random.Random(f"{SEED}/{name}")


class Bench:
    """One case in a folder of its own, and the command line of every rule's script for it."""

    def __init__(self, root, nsys_path=None):
        self.root = root.resolve()
        self.plan, case = write_plan(self.root, nsys_path=nsys_path and str(nsys_path))
        self.case = self.plan.parent / "tiny" / case
        change_plan(self.plan, environment=[MARK, "KERNEL_LEDGER_TEST_PAUSE"])
        self.out = self.root / "out"
        self.captures = None
        self.given = ["--plan", self.plan, "--workload", "tiny", "--case", case, "--output", self.case]

    def vary(self, script, number):
        """Make the next result differ from the older one, so that a mixture of both shows."""
        if script in PASSES:
            change_plan(self.plan, seed=100 + number)
        elif script == "reconcile":
            plan = self.captures / "plan.json"
            tolerance = json.loads(plan.read_text())["tolerance"]
            change_plan(plan, tolerance=tolerance | {"agreement_pct": 1 + number / 1000})
        elif script == "export" and (self.case / "nsys" / "export.json").exists():
            age(self.case / "nsys")

    def arguments(self, script):
        if script in PASSES:
            return [*self.given, *(["--variant", "other"] if script == "torch_pass" else [])]
        if script == "export":
            return ["--plan", self.plan, "--capture", self.case]
        if self.captures is None:
            self.captures = capture_factory.written(self.root / "healthy")
        if script == "reconcile":
            return ["--plan", self.captures / "plan.json", "--captures", self.captures, "--output", self.out]
        if script == "report":
            return ["--run", self.out, "--captures", self.captures]
        return ["--verdict", self.out / "verdict.json", "--output", self.root / "gate.ok"]

    def environment(self):
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
        return {**os.environ, "PYTHONPATH": path, MARK: str(self.root)}

    def start(self, script, target=True, **environ):
        """The script in a session of its own, as the foreground group of a terminal is."""
        runner = (
            [ROOT / "tests" / "kill_target.py", script] if target else [ROOT / "scripts" / f"{script}.py"]
        )
        return subprocess.Popen(
            [sys.executable, *map(str, [*runner, *self.arguments(script)])],
            cwd=self.root,
            env=self.environment() | environ,
            stdout=subprocess.DEVNULL,
            stderr=(self.root / "stderr.txt").open("w"),
            start_new_session=True,
        )

    def complete(self, script, **options):
        """Run it to its end, and say how long that took in seconds."""
        started = time.monotonic()
        assert self.start(script, **options).wait(timeout=120) == 0, (self.root / "stderr.txt").read_text()
        return time.monotonic() - started

    def said(self):
        return (self.root / "stderr.txt").read_text()

    def survivors(self):
        return survivors(self.root)

    def assert_all_dead(self):
        assert_all_dead(self.root)


def survivors(root):
    """Processes that run in a folder or know of it, as (pid, command line)."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            facts = (entry / "environ").read_bytes() + words + os.fsencode(os.readlink(entry / "cwd"))
        except OSError:
            continue
        if str(root).encode() in facts and words and int(entry.name) != os.getpid():
            found.append((int(entry.name), words.replace(b"\0", b" ").decode(errors="replace")))
    return found


def assert_all_dead(root):
    assert wait_until(lambda: not survivors(root), SOON_S), f"still there: {survivors(root)}"


def age(nsys):
    """Turn an export into an older one that is whole as well: each CSV one line longer."""
    record = json.loads((nsys / "export.json").read_text())
    for name, report in record["reports"].items():
        (nsys / name).write_bytes((nsys / name).read_bytes() + b"\n")
        report["sha256"] = sha256(nsys / name)
    (nsys / "export.json").write_text(json.dumps(record))


def send(process, number):
    """Ctrl-C reaches the whole foreground group; the others come from someone who names a process."""
    if number == signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return value


def hidden(folder):
    return [path.name for path in folder.rglob(".*")] if folder.exists() else []


def visible(folder):
    """Files with a final name: no part of their path below ``folder`` begins with a dot."""
    if not folder.exists():
        return set()
    paths = [p.relative_to(folder) for p in folder.rglob("*") if p.is_file()]
    return {str(p) for p in paths if not any(part.startswith(".") for part in p.parts)}


def assert_nothing_half_written(case):
    """A record comes only with all its files, and a file only whole; each in the words of its SHA-256."""
    files = visible(case)
    vouched = set()
    for record in (name for name in files if name.endswith("run.json")):
        recorded = json.loads((case / record).read_text())["files"]
        for name, digest in recorded.items():
            path = Path(record).with_name(name)
            assert str(path) in files, f"{record} vouches for {name}, which is not there"
            assert sha256(case / path) == digest, f"{name} is not the one of {record}"
            vouched.add(str(path))
        vouched.add(record)
    if "nsys/export.json" in files:
        vouched |= assert_export_is_whole(case / "nsys")
    loose = {name for name in files - vouched if not name.endswith("/log.txt")}
    for name in loose:
        if "/" not in name:  # numerics.json, timing.json before their record: each whole, with its own in it
            value = json.loads((case / name).read_text())
            assert value["run"]["seed"] == value.get("seed", value["run"]["seed"])
        else:
            assert name.startswith("nsys/") and "nsys/run.json" in files, f"{name} has no record"
            assert_is_whole(case / name)


def assert_export_is_whole(nsys):
    record = json.loads((nsys / "export.json").read_text())
    assert record["report_sha256"] == sha256(nsys / "report.nsys-rep")
    for name, report in record["reports"].items():
        assert sha256(nsys / name) == report["sha256"]
    assert sha256(nsys / "report.sqlite") == record["sqlite"]["sha256"]
    return {f"nsys/{name}" for name in (*record["reports"], "report.sqlite", "export.json", "export-log.txt")}


def assert_is_whole(path):
    """A file that came before its record: a whole SQLite file, lines that end."""
    data = path.read_bytes()
    if path.suffix == ".sqlite":
        size = int.from_bytes(data[16:18], "big") * int.from_bytes(data[28:32], "big")
        assert data.startswith(b"SQLite format 3\0") and size == len(data)
    elif path.suffix in (".csv", ".txt"):
        assert data == b"" or data.endswith(b"\n")


def assert_no_half_verdict(out):
    """A verdict stands only beside the very table that it judged; all text is whole."""
    files = visible(out)
    if "verdict.json" in files:
        verdict = json.loads((out / "verdict.json").read_text())
        assert verdict["files"] and verdict["verdict"] == "verified"
        for name, digest in verdict["files"].items():
            assert sha256(out / name) == digest
    if "results.csv" in files:
        assert read_table(out / "results.csv")
    if "summary.md" in files:
        assert (out / "summary.md").read_text().endswith("\n")
