"""How a comparison reads: text at the left, what is the same folded away, long names cut, a picture of the rest."""

from __future__ import annotations

import re

from test_compare import base, compared, enough_samples, healthy, launch, run_folder  # noqa: F401
from workflow_copy import copy_workflow, snakemake

LONG = "void a_kernel<" + "long, " * 60 + "int>(float*)"


def slower(folder):
    return run_folder(folder, launch("fused", 1, ns=94_500))


def test_columns_of_text_stand_at_the_left_in_the_markdown(base, tmp_path):  # noqa: F811
    output, _ = compared(base, slower(tmp_path / "b"))
    lines = (output / "comparison.md").read_text().splitlines()
    tables = [(lines[i - 1], line) for i, line in enumerate(lines) if line.startswith("| ---")]
    for header, rule in tables:
        left = [h for h, r in zip(header.split("|"), rule.split("|"), strict=True) if r.strip() == "---"]
        assert [name.strip() for name in left] == ["verdict", "variant, level", "name"]


def test_rows_that_are_the_same_are_folded_away_and_the_others_are_not(base, tmp_path):  # noqa: F811
    output, _ = compared(base, slower(tmp_path / "b"))
    page = (output / "comparison.html").read_text()
    open_part = re.sub(r'<details class="same">.*?</table></div>\s*</details>', "", page, flags=re.DOTALL)
    assert '<tr class="slower">' in open_part and '<tr class="same">' not in open_part
    assert '<tr class="same">' in page and "rows are the same in both runs</summary>" in page


def test_a_long_name_is_cut_and_unfolds_to_the_whole(tmp_path):
    runs = [run_folder(tmp_path / name, launch("eager", 1, symbol=LONG)) for name in "ab"]
    output, _ = compared(*runs)
    page = (output / "comparison.html").read_text()
    short, whole = re.search(r"<details><summary>(void a_kernel.*?)</summary>(.*?)</details>", page).groups()
    assert len(short) <= 100 and short.endswith("…") and whole.count("long, ") == 60


def test_the_picture_has_the_rows_that_changed_and_no_others(base, tmp_path):  # noqa: F811
    output, _ = compared(base, slower(tmp_path / "b"))
    chart = re.search(r'<svg class="chart".*?</svg>', (output / "comparison.html").read_text(), re.DOTALL)[0]
    assert set(re.findall(r'<g class="(\w+)">', chart)) == {"slower"} and "fused chain" in chart
    assert chart.count("<circle") == 3


def test_two_equal_runs_have_no_picture(base, tmp_path):  # noqa: F811
    output, _ = compared(base, run_folder(tmp_path / "b", jitter=60))
    assert '<svg class="chart"' not in (output / "comparison.html").read_text()


def test_the_error_of_the_rule_names_the_comparison_to_read(base, tmp_path):  # noqa: F811
    workflow = copy_workflow(tmp_path / "workflow")
    new = slower(tmp_path / "b")
    pair = f"compare={{base: {base}, new: {new}}}"
    done = snakemake(workflow, "compare", "--config", "device=cpu", pair)
    block = done.stdout.split("Error in rule compare:")[1].split("shell:")[0]
    assert done.returncode != 0 and "reports/compare-a-b/comparison.md" in block
    assert (workflow / "reports/compare-a-b/comparison.md").is_file()
