"""A killed build: its compilers die, half a library is never there, and the next build completes."""

import os
import subprocess
import sys

import pytest
from kill_bench import ROOT, SIGNALS, assert_all_dead, send, survivors, visible, wait_until
from nsys_tool import script

SLOW = """
import time
if "-c" not in sys.argv:
    os.execvp("c++", ["c++", *sys.argv[1:]])
output = sys.argv[sys.argv.index("-o") + 1]
open(output, "wb").write(b"half of an object file")
time.sleep(60)
"""


def start(output, compiler):
    words = [sys.executable, "scripts/build.py", "--device", "cpu", "--output", str(output)]
    environment = {**os.environ, "PYTHONPATH": "src", "CXX": compiler}
    said = (output.parents[1] / "said.txt").open("w")
    return subprocess.Popen(words, cwd=ROOT, env=environment, stderr=said, start_new_session=True)


def test_compilers_die_with_the_build_and_the_next_one_completes(tmp_path):
    pytest.importorskip("torch")
    output = tmp_path / "cpu" / "kernels.so"
    slow = str(script(tmp_path / "slow-c++", SLOW))
    for number in SIGNALS:
        build = start(output, slow)
        assert wait_until(
            lambda: any("slow-c++" in words and " -c " in words for _, words in survivors(tmp_path)), 30
        )
        send(build, number)
        assert build.wait(timeout=60) != 0
        assert_all_dead(tmp_path)
        assert {name for name in visible(output.parent) if "/" not in name} == set()
    assert start(output, "c++").wait(timeout=120) == 0, (tmp_path / "said.txt").read_text()
    assert {name for name in visible(output.parent) if "/" not in name} == {"kernels.so", "build.json"}
