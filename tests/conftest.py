"""Fixtures that several test files share."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A shell lets what it starts in the background ignore Ctrl-C, and every process below inherits that: the tests that send one
# to a run would wait for nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def cpu_library(tmp_path_factory) -> Path:
    """kernels.so for the CPU, built once a session by the rule's own script and loaded into this process."""
    torch = pytest.importorskip("torch")
    output = tmp_path_factory.mktemp("build") / "cpu" / "kernels.so"
    command = [sys.executable, "scripts/build.py", "--device", "cpu", "--output", str(output)]
    environment = {**os.environ, "PYTHONPATH": "src"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    torch.ops.load_library(str(output))
    return output
