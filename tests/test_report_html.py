"""report.html as a file: whole, valid, small, inert, and with every number's source."""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import re
import shutil
import subprocess
import sys
import zlib
from dataclasses import replace

import pytest
from capture_factory import tiny, written
from report_pages import (
    CLAIMS,
    HOSTILE,
    REFERENCE,
    ROOT,
    copy_reference,
    make_hostile,
    many_cases,
    parsed,
    rewrite,
    text_of,
    write_page,
)

from kernel_ledger.fusion.candidates import COLUMNS as CANDIDATE
from kernel_ledger.report.claims import figure as told
from kernel_ledger.report.numbers import duration, rate, ratio

CASE = "captures/linear_chain/rows65536_dim1024"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(copy_reference(tmp_path_factory.mktemp("page") / "run"))


@pytest.fixture
def run(tmp_path):
    return copy_reference(tmp_path / "run")


def words(page: str) -> str:
    return text_of(parsed(page))


def figures(page: str, kind: str) -> list:
    return [f for f in parsed(page).iter("figure") if f.get("class") == kind]


def test_the_page_is_valid_html_and_every_reference_in_it_has_its_target(page):
    tree = parsed(page)
    ids = [e.get("id") for e in tree.iter() if e.get("id")]
    assert len(ids) == len(set(ids))
    wanted = {e.get("aria-labelledby") for e in tree.iter()} - {None}
    wanted |= {e.get("href")[1:] for e in tree.iter() if e.get("href")}
    assert wanted <= set(ids)


def test_the_page_asks_for_nothing_from_anywhere(page):
    for element in parsed(page).iter():
        for name, value in element.attrib.items():
            assert "://" not in value, (element.tag, name, value)
            assert name not in ("href", "src", "action", "data") or value.startswith("#"), (name, value)
            assert not name.startswith("on") and name != "style"
    assert not re.search(r"@import|url\(|fetch\(|XMLHttpRequest|WebSocket", page)


def test_only_the_pages_own_script_and_style_may_run(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'")
    for tag in ("style", "script"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.S)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_equal_input_gives_equal_bytes(run, page):
    assert write_page(run) == page
    assert write_page(run) == page


def test_a_replay_shows_the_captures_of_the_recorded_run(run, tmp_path, page):
    again = tmp_path / "again/run"
    again.mkdir(parents=True)
    for name in sorted(
        f.name for f in run.iterdir() if f.is_file() and f.suffix in (".csv", ".json", ".parquet")
    ):
        shutil.copy(run / name, again)
    assert write_page(again, run / "captures") == page


def test_the_verdict_is_first_and_each_check_has_a_sign_a_word_and_what_it_holds(page):
    tree = parsed(page)
    assert text_of(next(tree.iter("h1"))) == "run: ✓ verified"
    checks = [e for e in next(e for e in tree.iter("ul") if e.get("class") == "checks") if e.tag == "li"]
    assert len(checks) == 11
    assert all(text_of(check).startswith("✓") and " pass " in text_of(check) for check in checks)


def test_a_failed_and_an_unknown_check_are_shown_with_their_reasons(run):
    verdict = json.loads((run / "verdict.json").read_text()) | {"verdict": "refuted"}
    verdict["checks"][3] |= {"status": "fail", "reason": "gelu differs by 3.1 %"}
    verdict["checks"][8] |= {"status": "unknown", "reason": "no ruler was run"}
    (run / "verdict.json").write_text(json.dumps(verdict))
    page = words(write_page(run))
    assert "✗ refuted" in page and "Do not quote a number" in page
    assert "✗ agreement fail" in page and "gelu differs by 3.1 %" in page
    assert "? ruler could not be made" in page and "no ruler was run" in page


def test_machine_and_versions_are_named_and_two_values_are_both_shown(run, page):
    assert "NVIDIA H200" in words(page) and "driver 580.159.04" in words(page)
    record = json.loads((run / CASE / "nsys/run.json").read_text())
    record["versions"]["torch"] = "2.0.0"
    (run / CASE / "nsys/run.json").write_text(json.dumps(record))
    torch = next(d for d in parsed(write_page(run)).iter("div") if text_of(d).startswith("PyTorch "))
    assert "2.11.0+cu130" in text_of(torch) and "2.0.0" in text_of(torch)


def test_every_sample_of_every_variant_is_a_dot(run, page):
    for figure, case in zip(figures(page, "samples"), (CASE, "captures/ruler/default"), strict=True):
        timing = json.loads((run / case / "timing.json").read_text())["variants"]
        dots = ["".join(p.get("d") or "" for p in row.iter("path")).count("M") for row in figure.iter("tr")]
        assert [n for n in dots if n] == [len(v["samples_ns"]) for v in timing.values()]


def test_repeats_have_a_lane_each(run):
    repeat = run / CASE / "repeat-2"
    repeat.mkdir()
    shutil.copy(run / CASE / "timing.json", repeat)
    (figure, _) = figures(write_page(run), "samples")
    labels = [text_of(th) for th in figure.iter("th") if th.get("scope") == "row"]
    assert labels[:4] == ["eager", "eager · repeat-2", "fused", "fused · repeat-2"]


def test_an_outlier_stays_on_the_axis(run):
    path = run / CASE / "timing.json"
    timing = json.loads(path.read_text())
    timing["variants"]["eager"]["samples_ns"][0] *= 40
    path.write_text(json.dumps(timing))
    (figure, _) = figures(write_page(run), "samples")
    assert "logarithmic" in text_of(figure)
    places = [int(x) for p in figure.iter("path") for x in re.findall(r"M(-?\d+)", p.get("d"))]
    assert min(places) >= 0 and 900 < max(places) <= 1000


def test_amdahls_bar_has_the_ceiling_and_says_what_limits_it(page):
    (figure, _) = figures(page, "split")
    block, chain = (float(row_of(level, "eager")["nsys_median_ns"]) for level in ("block", "chain"))
    rest = duration(block - chain)
    assert f"The chain is {chain / block:.1%} of eager's GPU time" in text_of(figure)
    assert f"ceiling: a chain of no time {rest} 0 – {rest} {ratio(block / (block - chain))}" in text_of(
        figure
    )


def test_both_books_of_one_call_are_on_one_axis(page):
    (figure, _) = figures(page, "timeline")
    rows = {
        text_of(next(row.iter("th"))): row
        for row in figure.iter("tr")
        if next(row.iter("th"), None) is not None
    }
    for book in ("torch", "nsys"):
        titles = [text_of(t) for t in rows[f"eager · {book}"].iter("title")]
        assert len(titles) == 6 and titles[0].startswith("sm80_xmma_gemm")


def test_thousands_of_short_launches_become_few_marks(page):
    (_, figure) = figures(page, "timeline")
    assert sum(1 for _ in figure.iter("rect")) < 1200


def test_bandwidth_stands_beside_the_copy_of_the_run(page):
    (figure,) = figures(page, "traffic")
    fused = row_of("chain", "fused")
    speed, copy = (rate(float(fused[n])) for n in ("achieved_bytes_per_s", "copy_bytes_per_s"))
    part = f"{float(fused['fraction_of_copy']):.1%}"
    assert f"fused 768.0 MiB {duration(float(fused['nsys_median_ns']))} {speed} {part}" in text_of(figure)
    assert any(text_of(t) == f"copy: {copy}" for t in figure.iter("title"))


def test_a_cache_resident_case_says_that_it_is_no_memory_benchmark(run):
    rewrite(run, lambda row: row.update(cache_resident="true"))
    assert "this is no memory benchmark" in text_of(figures(write_page(run), "traffic")[0])


def test_every_figure_names_its_sources_with_their_hashes(page):
    for figure in parsed(page).iter("figure"):
        names = [text_of(li) for d in figure.iter("details") for li in d.iter("li")]
        assert names and any(re.search(r"@[0-9a-f]{12}$", name) for name in names), figure.get("class")


def test_every_kernel_is_in_the_table_with_its_full_name_and_both_books(page, run):
    with (run / "results.csv").open(newline="") as stream:
        kernels = [row for row in csv.DictReader(stream) if row["level"] in ("kernel", "memory")]
    found = [t for table in parsed(page).iter("table") if "kernels" in (table.get("class") or "")
             for t in next(table.iter("tbody")).iter("tr")]  # fmt: skip
    assert len(found) == len(kernels)
    for row, kernel in zip(found, kernels, strict=True):
        assert " ".join(kernel["name"].split()) in text_of(row)
        values = {float(cell.get("data-v")) for cell in row.iter("td") if cell.get("data-v")}
        assert {float(kernel["torch_median_ns"]), float(kernel["nsys_median_ns"])} <= values


def test_profiler_rows_that_repeat_a_kernel_are_named_with_the_reason(page):
    text = words(page)
    worked = duration(float(row_of("block", "eager")["torch_total_ns"]))
    assert re.search(
        rf"eager: its self device times add up to [\d.]+ ms, 3\.\d\d× the {worked} that the GPU worked", text
    )
    assert "to the nanosecond the longest launch of sm80_xmma_gemm" in text
    assert re.search(r"aten::linear 10 0 ns [\d.]+ ms a caller: no time of its own", text)
    assert "## Call CompiledFxGraph" in text and "(gpu_user_annotation)" in text


def test_numerics_show_the_first_disagreement(run):
    path = run / CASE / "numerics.json"
    numerics = json.loads(path.read_text())
    first = {"index": [3, 7], "value": 1.5, "expected": 1.25}
    numerics["variants"]["fused"] |= {"agrees": False, "first_disagreement": first}
    path.write_text(json.dumps(numerics))
    assert "at [3, 7]: 1.5, expected 1.25" in words(write_page(run))


def test_the_machine_is_named_before_the_checks(page):
    ids = [h.get("id") for h in parsed(page).iter("h2")]
    assert ids[:3] == ["machine", "checks", "unbalanced"]


def row_of(level: str, variant: str) -> dict[str, str]:
    """A variant's row of the recorded run."""
    return next(r for r in told_rows("results.csv") if (r["level"], r["variant"]) == (level, variant))


def headline_tables(page: str) -> list[list[list[str]]]:
    """The cells of each case's headline table, as the page shows them."""
    regions = [d for d in parsed(page).iter("div") if d.get("aria-label") == "Headline"]
    return [[[text_of(c) for c in row if c.tag in ("td", "th")] for row in r.iter("tr")] for r in regions]


def test_headline_tables_are_those_of_the_summary(page, run):
    write_page(run)
    lines = (run / "summary.md").read_text().splitlines()
    found = []
    for start in (i for i, line in enumerate(lines) if line.startswith("| variant | block (")):
        end = lines.index("", start)
        told = [[c.strip().strip("`") for c in line.strip("|").split("|")] for line in lines[start:end]]
        found.append([told[0], *told[2:]])
    assert headline_tables(page) == found and len(found) == 2


def test_yardsticks_have_no_block_ratio_and_a_workload_without_chains_no_column_of_dashes(page):
    chain, ruler = headline_tables(page)
    at = chain[0].index("block ratio")
    assert {row[0]: row[at] for row in chain[1:]} | {"copy": "–", "add": "–"} == {
        row[0]: row[at] for row in chain[1:]
    }
    assert any(title.startswith("GPU time (nsys)") for title in ruler[0])
    assert all({row[i] for row in ruler[1:]} != {"–"} for i in range(len(ruler[0])))


def test_the_two_kinds_of_ratio_are_told_apart(page):
    (figure, _) = figures(page, "split")
    assert "headline's block ratio, which is of whole calls by CUDA events" in text_of(figure)


def told_rows(name: str) -> list[dict[str, str]]:
    """A CSV of the recorded run."""
    with (REFERENCE / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_claim_has_its_outcome_its_reason_and_times_with_units(page):
    claim = next(row for row in told_rows("claims.csv") if row["claim"] == "wrapper-self-time")
    nanoseconds = claim["measured"].rpartition(" = ")[2]
    text = text_of(next(e for e in parsed(page).iter("ul") if e.get("class") == "claims"))
    assert "✗ refuted In torch.profiler's table, rows that wrap kernels carry no self CUDA time" in text
    assert f"wrapper_self_ns() = {duration(float(nanoseconds))}" in text and nanoseconds not in page
    assert all(part in text for part in claim["reason"].split("; "))
    ratios = next(row["measured"] for row in told_rows("claims.csv") if row["claim"] == "chain-by-bytes")
    assert all(part in text for part in ratios.split("; "))


@pytest.mark.parametrize(
    "measured, shown",
    [
        ("block('eager') = 3450320", "block('eager') = 3.45 ms"),
        ("chain('a') - chain('b', 'torch') = 900", "chain('a') - chain('b', 'torch') = 900 ns"),
        ("chain('a') / 2 = 1500", "chain('a') / 2 = 1.5 µs"),
        ("cell('gpu_span_ns', 'range', 'a') = 2e6", "cell('gpu_span_ns', 'range', 'a') = 2 ms"),
        ("cell('torch_count', 'range', 'a') = 2e6", "cell('torch_count', 'range', 'a') = 2e6"),
        ("chain('a') / chain('b') = 1500", "chain('a') / chain('b') = 1500"),
        ("bytes('a') = 1500", "bytes('a') = 1500"),
        ("free text", "free text"),
    ],
)
def test_only_a_time_gets_a_unit(measured, shown):
    assert told(measured) == shown


def test_fusion_is_told_as_in_the_summary(page):
    text = words(page)
    found = next(row for row in told_rows("fusion.csv") if row["kind"] == "candidate")
    gpu, call = duration(float(found["gpu_ns"])), ratio(float(found["predicted_block_ratio"]))
    assert f"eager {found['operators']} 5 11 → 3 {gpu} 3.67× {call} {found['use_count']}" in text
    assert "Not worth rewriting (library kernels): aten::addmm, aten::mm." in text
    for row in told_rows("fusion_achieved.csv"):
        assert f"{row['variant']} 3.67× {ratio(float(row['achieved_chain_ratio']))}" in text
        assert f"{float(row['residual_pct']):+.1f} %" in text and row["explanation"] in text
    assert "predicted_block_ratio" not in text and found["bytes_before"] not in text


def test_a_case_without_a_fusion_candidate_has_only_the_sentence(page):
    section = next(e for e in parsed(page).iter("section") if e.get("id") == "case-2")
    assert text_of(section).endswith("hand a tensor of known size to each other. See fusion.csv.")
    assert "Not worth rewriting" not in text_of(section)


def test_claims_and_fusion_of_this_case_are_shown_only_where_their_files_exist(run):
    for name in ("claims.csv", "fusion.csv"):
        (run / name).unlink()
    page = words(write_page(run))
    assert "Claims" not in page and "Fusion candidates" not in page
    cells = dict.fromkeys(CLAIMS, "") | {
        "sentence": "the GEMM ranks first",
        "measured": "1",
        "outcome": "held",
    }
    (run / "claims.csv").write_text(f"{','.join(CLAIMS)}\n{','.join(cells.values())}\n")
    found = dict.fromkeys(CANDIDATE, "") | {
        "workload": "linear_chain",
        "case": "rows65536_dim1024",
        "kind": "candidate",
        "operators": "a | b",
        "predicted_block_ratio": "1.17",
    }
    elsewhere = found | {"workload": "other", "operators": "not here"}
    with (run / "fusion.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, CANDIDATE)
        writer.writeheader()
        writer.writerows([found, elsewhere])
    text = words(write_page(run))
    assert "✓ held the GEMM ranks first" in text
    assert "a | b" in text and "1.17×" in text and "not here" not in text


@pytest.mark.parametrize(
    "name, said",
    [
        ("timing.json", "block times: timing.json: this file cannot be read"),
        ("numerics.json", "numerics: numerics.json: this file cannot be read"),
        ("torch/fused/trace.json.gz", "timeline: torch/fused/trace.json.gz: there is no trace"),
        (
            "torch/eager/key_averages.csv",
            "profiler rows: torch/eager/key_averages.csv: this file cannot be read",
        ),
        ("nsys/report.sqlite", "timeline: nsys/report.sqlite"),
    ],
)
def test_a_missing_file_is_named_and_the_rest_is_still_shown(run, name, said):
    (run / CASE / name).unlink()
    text = words(write_page(run))
    assert said in text and "Kernels and copies" in text


@pytest.mark.parametrize("content", ["", "{", "[]", '{"variants": {"eager": {"samples_ns": ["<b>"]}}}'])
def test_a_damaged_file_is_named_and_the_rest_is_still_shown(run, content):
    for name in ("timing.json", "numerics.json", "run.json"):
        (run / CASE / name).write_text(content)
    text = words(write_page(run))
    assert "timing.json: this file is not what a pass writes" in text and "Kernels and copies" in text


def test_without_captures_the_table_and_the_verdict_are_still_a_page(run):
    for workload in ("linear_chain", "ruler"):
        shutil.rmtree(run / "captures" / workload)
    text = words(write_page(run))
    assert "✓ verified" in text and "fused_chain_vector" in text
    assert "timing.json: this file cannot be read" in text


def test_empty_cells_are_dashes_and_never_zeros(run):
    empty = [n for n in ("torch", "nsys") for n in (f"{n}_median_ns", f"{n}_min_ns", f"{n}_max_ns", f"{n}_total_ns",
             f"{n}_count")] + ["event_median_ns", "difference_pct", "gpu_span_ns", "gpu_busy_ns", "achieved_bytes_per_s",
             "copy_bytes_per_s", "fraction_of_copy", "tolerance_pct"]  # fmt: skip
    rewrite(run, lambda row: row.update(dict.fromkeys(empty, ""), status="unknown", reason="not measured"))
    tree = parsed(write_page(run))
    table = next(t for t in tree.iter("table") if "kernels" in (t.get("class") or ""))
    assert "–, –, –" in text_of(table) and " 0 ns" not in text_of(table)


def test_hostile_names_are_text_and_never_markup(run):
    page = write_page(make_hostile(run))
    tree = parsed(page)
    assert [e.tag for e in tree.iter() if e.tag in ("img", "iframe", "object", "embed", "link", "base")] == []
    assert sum(1 for _ in tree.iter("script")) == 1
    assert text_of(tree).count("{{7*7}}") > 20 and "pwned=1</script>" in text_of(tree)
    assert HOSTILE not in page


def test_a_hundred_cases_fit_in_five_megabytes_with_all_their_details(tmp_path):
    page = write_page(many_cases(tmp_path / "run", 100))
    assert len(page.encode()) < 5_000_000
    packed = [e for e in parsed(page).iter("div") if e.get("class") == "packed"]
    assert len(packed) == 100
    details = zlib.decompress(base64.b64decode(packed[99].text)).decode()
    assert details.count("<figure") == 6 and "fused_chain_vector" in details


def test_a_run_on_the_cpu_is_called_a_rehearsal(tmp_path):
    scenario = replace(tiny(), device="cpu")
    captures = written(tmp_path / "run", scenario)
    command = [
        sys.executable,
        "scripts/reconcile.py",
        "--plan",
        captures / "plan.json",
        "--captures",
        captures,
    ]
    done = subprocess.run([*command, "--output", tmp_path / "run"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    text = words(write_page(tmp_path / "run"))
    assert "A rehearsal on the CPU: no GPU kernel was measured" in text and "not applicable" in text
