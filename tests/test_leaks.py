"""Secrets in what a run leaves behind: found in every kind of file, named without their value, and none imagined."""

import gzip
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import capture_factory as factory
import pytest
from nsys_tool import ROOT, real_nsys

from kernel_ledger import leaks
from kernel_ledger.config import load_config
from kernel_ledger.credentials import Needle, needles
from kernel_ledger.environment import exposed, secrets
from kernel_ledger.files import read_json
from kernel_ledger.isolation import isolated
from kernel_ledger.plan import make_plan

PLANTED = "planted-and-withheld-4711"
NEEDLES = needles({"SECRET_TOKEN": PLANTED}, {})
BLOCK = f"LANG=C.UTF-8\0SECRET_TOKEN={PLANTED}\0hf_token=abcdefgh\0EDITOR=vi"


@pytest.fixture
def captures(tmp_path):
    return factory.written(tmp_path)


def change(path: Path, content: bytes) -> None:
    path.write_bytes(path.read_bytes() + content)


def found(folder, given=NEEDLES):
    return [(leak.variable, leak.file, leak.where) for leak in leaks.search(folder, given)]


def test_a_healthy_capture_holds_no_secret_of_this_very_environment(captures):
    plan = read_json(captures / "plan.json") | {"environment": []}
    assert leaks.search(captures, [*NEEDLES, *secrets(os.environ, plan)]) == []


@pytest.mark.parametrize("name", ["report.nsys-rep", "log.txt", "nvtx_sum.csv", "run.json"])
def test_a_withheld_value_is_found_in_a_file_of_any_kind(captures, name):
    folder = captures / "tiny/n1024/nsys"
    change(folder / name, f"\x01 the value {PLANTED}, alone".encode())
    assert found(folder) == [("SECRET_TOKEN", name, "")]


def test_a_withheld_value_is_found_in_a_zipped_trace_and_in_one_that_is_cut_short(captures):
    trace = captures / "tiny/n1024/torch/eager/trace.json.gz"
    whole = gzip.compress(json.dumps({"x": PLANTED, "y": list(range(9999))}).encode())
    for content in whole, whole[:-20]:
        trace.write_bytes(content)
        assert found(trace.parent) == [("SECRET_TOKEN", "trace.json.gz", "")]


def test_an_environment_with_its_zero_bytes_is_found_in_its_table_and_column(captures):
    folder = captures / "tiny/n1024/nsys"
    with sqlite3.connect(folder / "report.sqlite") as connection:
        connection.execute("INSERT INTO StringIds VALUES (999999, ?)", (BLOCK,))
    wanted = [
        ("SECRET_TOKEN", "report.sqlite", "StringIds.value"),
        ("hf_token", "report.sqlite", "StringIds.value"),
    ]
    assert found(folder) == wanted


def test_an_environment_that_is_not_utf8_is_searched_too(captures):
    folder = captures / "tiny/n1024/nsys"
    with sqlite3.connect(folder / "report.sqlite") as connection:
        blob = b"A=\xff\xfe\0" + BLOCK.encode()
        connection.execute("INSERT INTO StringIds VALUES (999999, CAST(? AS TEXT))", (blob,))
    assert ("SECRET_TOKEN", "report.sqlite", "StringIds.value") in found(folder)


@pytest.mark.parametrize(
    "text",
    [
        "GITHUB_TOKEN=ghp_12345678",
        'x AWS_SECRET_ACCESS_KEY="abcdefgh"',
        '{"HF_TOKEN": "hf_12345678"}',
        "A=1\0db_password=letmein",
    ],
)
def test_the_name_of_a_credential_with_a_value_is_found_without_knowing_the_value(tmp_path, text):
    (tmp_path / "log.txt").write_text(text)
    (leak,) = leaks.search(tmp_path)
    assert leak.what == leaks.NAME and leak.variable in text


@pytest.mark.parametrize(
    "text",
    ["TOKENIZERS_PARALLELISM=false", "MAX_TOKENS=4096", "SSH_AUTH_SOCK=/tmp/ssh-x/agent.1", "PASSWORD=", "HF_TOKEN=",
     "token=abcdefgh", "kernel<Auth=12345678>", "template<AUTHOR=someone_else>", "the HF_TOKEN is not set"],
)  # fmt: skip
def test_what_only_resembles_a_credential_is_no_finding(tmp_path, text):
    (tmp_path / "log.txt").write_text(text)
    assert leaks.search(tmp_path) == []


def test_a_name_that_the_configuration_allows_is_no_finding_but_a_warning(tmp_path):
    (tmp_path / "log.txt").write_text("HF_TOKEN=hf_12345678")
    assert leaks.search(tmp_path, allowed=["HF_TOKEN"]) == []
    (warning,) = exposed({"HF_TOKEN": "x", "MY_SETTING": "y"}, ["HF_TOKEN", "MY_SETTING", "NOT_SET_TOKEN"])
    assert "HF_TOKEN looks like a credential" in warning["text"]
    assert secrets({"HF_TOKEN": PLANTED}, {"environment": ["HF_TOKEN"]}) == []
    assert secrets({"HF_TOKEN": PLANTED}, {"environment": []}) == [Needle("HF_TOKEN", (PLANTED.encode(),))]


def test_no_finding_and_no_warning_holds_the_value(captures, capsys):
    folder = captures / "tiny/n1024/nsys"
    change(folder / "log.txt", BLOCK.encode())
    leaks.warn(folder, leaks.search(folder, NEEDLES))
    told = capsys.readouterr().err
    assert "SECRETS IN" in told and str(folder) in told and "revoke the secret" in told
    assert PLANTED not in told and "abcdefgh" not in told


def judged(captures: Path, output: Path) -> dict:
    """Reconcile; the check ``export`` of the verdict, and the verdict as its ``of``."""
    command = [sys.executable, ROOT / "scripts/reconcile.py", "--plan", captures / "plan.json"]
    subprocess.run([*command, "--captures", captures, "--output", output], check=True)
    verdict = read_json(output / "verdict.json")
    (check,) = [c for c in verdict["checks"] if c["id"] == "export"]
    return check | {"of": verdict["verdict"]}


def test_a_leak_that_the_export_found_refutes_the_run(captures, tmp_path):
    record = captures / "tiny/n1024/nsys/export.json"
    leak = leaks.Leak("SECRET_TOKEN", "report.sqlite", "StringIds.value", leaks.VALUE)
    record.write_text(json.dumps(read_json(record) | {"leaks": leaks.as_json([leak])}))
    check = judged(captures, tmp_path / "out")
    assert (check["status"], check["of"]) == ("fail", "refuted")
    assert f"{leaks.VALUE}, SECRET_TOKEN, stands in nsys/report.sqlite (StringIds.value)" in check["reason"]
    assert "revoke the secret" in check["reason"]


def test_a_replay_finds_a_credential_by_its_name(captures, tmp_path):
    change(captures / "tiny/n1024/nsys/export-log.txt" if (captures / "tiny/n1024/nsys/export-log.txt").exists()
           else captures / "tiny/n1024/nsys/log.txt", b"\nHF_TOKEN=hf_12345678\n")  # fmt: skip
    check = judged(captures, tmp_path / "out")
    assert check["status"] == "fail" and "HF_TOKEN" in check["reason"] and "hf_1234" not in check["reason"]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A function that runs the nsys pass, export and verdict by the rules' scripts, a secret in the calling shell."""
    pytest.importorskip("torch")

    def run(name: str, path: str) -> tuple[Path, dict, str]:
        root = tmp_path_factory.mktemp(name)
        (root / "tiny.py").write_text((ROOT / "tests/data/tiny.py").read_text())
        measure = {"iterations": 2, "warmup": 1}
        choice = {"file": str(root / "tiny.py"), "variants": ["plain"]}
        settings = {
            "device": "cpu",
            "workloads": [choice],
            "measure": measure,
            "nsys": {"path": str(real_nsys())},
        }
        captures = root / "reports/test/captures"
        captures.mkdir(parents=True)
        (captures / "plan.json").write_text(json.dumps(make_plan(load_config(settings))))
        case = next(c["case"] for c in read_json(captures / "plan.json")["cases"])
        folder, environment = captures / "tiny" / case, os.environ | {"SECRET_TOKEN": PLANTED, "PATH": path}
        environment |= {"PYTHONPATH": str(ROOT / "src")}
        told = ""
        for script, *options in (
            ["nsys_pass", "--workload", "tiny", "--case", case, "--output", str(folder)],
            ["export", "--capture", str(folder)],
        ):
            command = [
                sys.executable,
                str(ROOT / f"scripts/{script}.py"),
                "--plan",
                str(captures / "plan.json"),
                *options,
            ]
            done = subprocess.run(
                command, cwd=root, env=environment, capture_output=True, text=True, timeout=120
            )
            assert done.returncode == 0, done.stdout + done.stderr
            told += done.stdout + done.stderr
        return folder / "nsys", judged(captures, root / "reports/test"), told

    return run


def test_with_nsys_apart_the_real_report_holds_nothing_of_the_calling_shell(recorded):
    if (reason := isolated(os.environ)[1]) is not None:
        pytest.skip(f"no PID namespace here: {reason}")
    folder, check, told = recorded("apart", os.environ["PATH"])
    assert read_json(folder / "export.json")["leaks"] == read_json(folder / "run.json")["leaks"] == []
    assert "SECRET" not in told and "stands in" not in (check["reason"] or "")


def test_without_unshare_the_real_report_leaks_and_the_run_is_refuted(recorded, tmp_path):
    for name in ("true", "env", "sh", "uname"):
        (tmp_path / name).symlink_to(shutil.which(name))
    folder, check, told = recorded("open", f"{Path(sys.executable).parent}:{tmp_path}")
    leaked = read_json(folder / "export.json")["leaks"]
    assert {
        "variable": "SECRET_TOKEN",
        "file": "report.sqlite",
        "where": "StringIds.value",
        "what": leaks.VALUE,
    } in leaked
    assert (check["status"], check["of"]) == ("fail", "refuted") and "SECRET_TOKEN" in check["reason"]
    assert f"SECRETS IN {folder}" in told.replace("\n", "") and PLANTED not in told
    files = [f for f in folder.rglob("*") if f.is_file() and PLANTED.encode() in f.read_bytes()]
    assert (
        {"report.sqlite"} <= {f.name for f in files} <= {"report.sqlite", "report.nsys-rep"}
    )  # nsys compresses
