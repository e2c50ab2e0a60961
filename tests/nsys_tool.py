"""Real and scripted nsys for the tests: real where .ci/install-nsys put it."""

import os
import sqlite3
import stat
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RECORDED = ROOT / "tests" / "data" / "linear.sqlite"
VARIABLE = "KERNEL_LEDGER_TEST_NSYS"


def real_nsys(version: str = "2023") -> Path:
    """Path of a real nsys of this version, or a visible skip."""
    if version == "2023" and os.environ.get(VARIABLE):
        return Path(os.environ[VARIABLE])
    for path in sorted((ROOT / "tools" / "nsys").glob(f"{version}*/bin/nsys"), reverse=True):
        return path
    pytest.skip(f"no nsys {version}: run .ci/install-nsys, or set {VARIABLE}")


def script(path: Path, body: str) -> Path:
    """An executable Python script, to stand in for nsys where the real tool cannot be made to fail."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable}\nimport sys, os\n{body}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def recorded_copy(path: Path, *statements: str) -> Path:
    """A copy of the recorded H200 export, changed by SQL."""
    path.write_bytes(RECORDED.read_bytes())
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()
    return path
