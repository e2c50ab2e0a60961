"""Within one workflow nsys is asked once whether it works; another workflow, or another file, is asked again."""

import os
import shutil
from pathlib import Path

import pytest

from kernel_ledger.nsys.find import find

SCRIPT = """#!/bin/sh
echo asked >> {log}
case "$1" in
--version) echo "NVIDIA Nsight Systems version 2025.3.1.{build}-250000000000v0" ;;
profile) touch probe.nsys-rep ;;
esac
"""


@pytest.fixture
def nsys(tmp_path, monkeypatch):
    """A function that installs an nsys, the number of times that one was started, and the environment of a workflow."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake").mkdir()
    (tmp_path / "bin").mkdir()
    log = tmp_path / "asked.txt"

    def install(build):
        path = tmp_path / "bin" / "nsys"
        path.unlink(missing_ok=True)
        path.write_text(SCRIPT.format(log=log, build=build))
        path.chmod(0o755)

    def asked():
        lines = log.read_text().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return len(lines)

    path = os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]])
    return install, asked, {"PATH": path, "KERNEL_LEDGER_WORKFLOW": "4242"}


def test_it_is_asked_once_in_a_workflow(nsys):
    install, asked, environ = nsys
    install(1)
    first = find(None, environ)
    assert asked() == 2 and first.importer_ok
    assert find(None, environ) == first and asked() == 0


@pytest.mark.parametrize(
    "change",
    [{"KERNEL_LEDGER_WORKFLOW": "4243"}, {"LD_LIBRARY_PATH": "/elsewhere"}, {"KERNEL_LEDGER_WORKFLOW": ""}],
)
def test_another_workflow_or_environment_asks_again(nsys, change):
    install, asked, environ = nsys
    install(1)
    find(None, environ)
    asked()
    find(None, environ | change)
    assert asked() == 2


def test_another_file_in_its_place_is_asked(nsys):
    install, asked, environ = nsys
    install(1)
    find(None, environ)
    install(22)
    assert find(None, environ).version_text.startswith("2025.3.1.22")


def test_one_that_does_not_work_is_not_remembered(nsys):
    install, asked, environ = nsys
    install(1)
    path = shutil.which("nsys", path=environ["PATH"])
    text = Path(path).read_text().replace("touch probe.nsys-rep", "true")
    Path(path).write_text(text)
    assert not find(path, environ).importer_ok and asked() == 2
    assert not find(path, environ).importer_ok and asked() == 2
