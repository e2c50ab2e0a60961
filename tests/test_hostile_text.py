"""Names are data: in a hostile checkout, with hostile kernels, nothing is executed and no row breaks."""

import csv
import json
import re

import capture_factory as factory
import pytest
from hostile_checkout import KERNEL, OPERATOR, PARAMETER, WORKLOAD, executed, hostile_checkout, run
from nsys_tool import real_nsys

from kernel_ledger.columns import NAMES
from kernel_ledger.config import load_config
from kernel_ledger.errors import ConfigError
from kernel_ledger.files import read_json
from kernel_ledger.reconcile import read_table
from kernel_ledger.report.numbers import code, text

PLANTED = "planted-and-withheld-4711"


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A run on the CPU in such a checkout, a secret in the calling shell; the folder and what was printed."""
    pytest.importorskip("torch")
    root = tmp_path_factory.mktemp("hostile")
    folder = hostile_checkout(root)
    workload = {"file": WORKLOAD, "cases": [{"spoil": PARAMETER}], "variants": ["plain"]}
    measure = {"iterations": 2, "warmup": 1, "timing": {"min_samples": 3, "max_samples": 3}}
    settings = [f"workloads={json.dumps([workload])}", f"measure={json.dumps(measure)}"]
    settings += [f"nsys={json.dumps({'path': str(real_nsys())})}", "device=cpu", "run=hostile"]
    done = run(folder, "-m", "snakemake", "--cores", "1", "--config", *settings, SECRET_TOKEN=PLANTED)
    return root, folder, done


@pytest.fixture(scope="module")
def replayed(tmp_path_factory):
    """A recorded run whose kernel has the worst of names, replayed in such a checkout."""
    root = tmp_path_factory.mktemp("replay")
    folder = hostile_checkout(root)
    scenario = factory.tiny()
    for launch in scenario.variants["eager"][1:2]:
        launch.symbol, launch.operator = KERNEL, OPERATOR
    factory.written(folder / "reports/recorded", scenario, factory.ruler())
    settings = ["replay=reports/recorded", "run=again"]
    done = run(folder, "-m", "snakemake", "--cores", "1", "--config", *settings)
    assert (folder / "reports/again/summary.md").is_file(), done.stdout
    return root, folder / "reports/again"


def test_a_run_in_a_hostile_checkout_executes_nothing_and_is_verified(measured):
    root, folder, done = measured
    assert done.returncode == 0, done.stdout
    assert executed(root) == []
    (case,) = read_json(folder / "reports/hostile/captures/plan.json")["cases"]
    assert case["parameters"]["spoil"] == PARAMETER and case["file"] == WORKLOAD
    assert read_json(folder / "reports/hostile/verdict.json")["verdict"] == "verified"


def test_a_secret_of_the_calling_shell_is_in_no_file_of_the_run(measured):
    _, folder, _ = measured
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if PLANTED.encode() in path.read_bytes()]
    (export,) = folder.glob("reports/hostile/captures/*/*/nsys/export.json")
    assert read_json(export)["leaks"] == []


def test_a_kernel_with_a_hostile_name_has_its_row_with_the_very_name(replayed):
    root, output = replayed
    rows = read_table(output / "results.csv")
    (row,) = [r for r in rows if r["level"] == "kernel" and r["symbol"] == KERNEL]
    assert (row["name"], row["operator"]) == (KERNEL, OPERATOR)
    assert (row["torch_count"], row["nsys_count"]) == (10, 10)
    assert executed(root) == []


def test_no_cell_of_the_table_starts_a_formula(replayed):
    _, output = replayed
    with (output / "results.csv").open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert {len(row) for row in rows} == {len(NAMES)}
    numbers = re.compile(r"-?\d+(\.\d+)?")
    cells = [cell for row in rows for cell in row if not numbers.fullmatch(cell)]
    assert not [cell for cell in cells if cell.lstrip(" \n\r\t").startswith(("=", "+", "-", "@"))]


def test_the_summary_has_no_html_no_link_and_no_broken_table(replayed):
    _, output = replayed
    summary = (output / "summary.md").read_text()
    outside_code = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", summary.replace("\\`", ""))
    assert "<" not in outside_code and not re.search(r"(?<!\\)\]\(", outside_code)
    assert "**b**" not in outside_code
    for table in re.findall(r"(?:^\|.*\n)+", summary, re.MULTILINE):
        columns = {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
        assert len(columns) == 1, table


def test_verdict_and_schema_are_plain_json(replayed):
    _, output = replayed
    for name in ("verdict.json", "results.schema.json"):
        json.loads((output / name).read_text())


@pytest.mark.parametrize(
    "hostile",
    [KERNEL, OPERATOR, PARAMETER, "a\\|b", "a\\", "```", "![x](y)", "&lt;b&gt;", "a\u2028b", "\x1b[2J\u202e"],
)
def test_text_and_code_stay_in_their_cell(hostile):
    for made in text(hostile), code(hostile):
        assert made.isprintable()
        assert not re.search(r"(?<!\\)(?:\\\\)*\|", made), made
    assert "<" not in text(hostile) and not re.search(r"(?<!\\)[\[\]*_`]", text(hostile))
    assert re.fullmatch(r"(`+)(?!`)((?!\1).|`+(?!`))*(?<!`)\1", code(hostile)), code(hostile)


@pytest.mark.parametrize("path", ["a{wildcards.case}.py", "a\nb.py", "a\x1b[2J.py", "{input}"])
def test_a_path_that_a_format_string_or_a_terminal_would_read_is_refused(path):
    with pytest.raises(ConfigError, match="cannot contain"):
        load_config({"workloads": [{"file": path}]})


@pytest.mark.parametrize("run_name", ["../x", "-x", "a b", "$(touch pwned)", ".hidden", "a/b", "a;b", "a\n"])
def test_a_run_cannot_be_named_like_a_command_or_a_path(run_name):
    with pytest.raises(ConfigError, match="run:"):
        load_config({"run": run_name})
