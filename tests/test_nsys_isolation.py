"""What nsys may see: not the environments of the user's other processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest
from nsys_tool import real_nsys, script

from kernel_ledger.environment import allowed
from kernel_ledger.isolation import isolated
from kernel_ledger.nsys.database import all_text

PLANTED = "planted-and-withheld-value"
WORK = "import nvtx\nwith nvtx.annotate('w/v', domain='kernel_ledger'): pass"


@pytest.fixture
def namespace():
    prefix, reason = isolated(allowed(os.environ))
    if not prefix:
        pytest.skip(f"no PID namespace here: {reason}")
    return prefix


def recorded(tmp_path, prefix):
    """All text of a report recorded below a shell whose environment holds a planted value.

    Of its export: the report itself is compressed, and may hide the value.
    """
    report = tmp_path / "report.nsys-rep"
    profile = [
        *prefix,
        real_nsys(),
        "profile",
        "--trace=nvtx",
        "--sample=none",
        "--cpuctxsw=none",
        "-o",
        report,
    ]
    environment = allowed(os.environ, home=tmp_path) | {"TMPDIR": str(tmp_path)}
    starter = (
        "import json, subprocess, sys; a = sys.argv; subprocess.run(json.loads(a[1]), env=json.loads(a[2]))"
    )

    command = [*map(str, profile), sys.executable, "-c", WORK]
    parent = [sys.executable, "-c", starter, json.dumps(command), json.dumps(environment)]
    done = subprocess.run(parent, env={**os.environ, "SECRET_TOKEN": PLANTED}, capture_output=True, text=True)
    assert report.is_file(), done.stdout + done.stderr
    export = [real_nsys(), "export", "--type=sqlite", f"--output={tmp_path / 'report.sqlite'}", report]
    subprocess.run(export, env=environment, check=True, capture_output=True)
    return "\0".join(text for *_, text in all_text(tmp_path / "report.sqlite"))


def test_a_report_holds_the_environment_of_the_calling_shell_unless_nsys_is_apart(tmp_path, namespace):
    for name, prefix, held in ("open", [], True), ("apart", namespace, False):
        (tmp_path / name).mkdir()
        assert (PLANTED in recorded(tmp_path / name, prefix)) is held


def test_without_unshare_the_reason_is_told(tmp_path):
    assert isolated({"PATH": str(tmp_path)}) == ([], "unshare (package util-linux) is not on PATH")


def test_a_machine_that_allows_no_namespace_is_told_with_what_unshare_said(tmp_path):
    script(tmp_path / "unshare", "print('unshare failed: Operation not permitted'); sys.exit(1)")
    prefix, reason = isolated({"PATH": f"{tmp_path}"})
    assert prefix == [] and "Operation not permitted" in reason
