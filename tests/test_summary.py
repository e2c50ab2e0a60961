"""summary.md: what it says, and that it renders as meant where it is pasted."""

from __future__ import annotations

import copy

import pytest
from markdown_it import MarkdownIt
from workflow_copy import ROOT

from kernel_ledger.claims.declared import Claim
from kernel_ledger.claims.table import claim_rows
from kernel_ledger.files import read_json
from kernel_ledger.plan_file import read_plan
from kernel_ledger.reconcile import read_table
from kernel_ledger.report.numbers import code, fixed, shortened, text, unit_for
from kernel_ledger.report.summary import summary

REFERENCE = ROOT / "reports/h200-reference"
MACHINE = [
    ("GPU", ["NVIDIA H200"]),
    ("driver", ["580.159.04"]),
    ("PyTorch", ["2.11.0+cu130", "2.13.0"]),
    ("nvcc", ["x"]),
]


@pytest.fixture(scope="module")
def reference():
    return read_table(REFERENCE / "results.csv"), read_json(REFERENCE / "verdict.json")


def claims_of(rows):
    claims = [
        Claim(
            id="ratio",
            sentence="A *chain* | of a <b>",
            expression="chain('eager') / chain('fused') > 3",
            refuted_by="r",
        ),
        Claim(id="root", sentence="No root", expression="not root()", refuted_by="r"),
    ]
    cases = [(case, claims) for case in read_json(REFERENCE / "captures/plan.json")["cases"]]
    return claim_rows(cases, rows, REFERENCE / "captures")


class Rendered:
    """Markdown as GitHub renders it, with HTML allowed, so that any in the text would show."""

    def __init__(self, markdown: str) -> None:
        self.tokens = (
            MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).parse(markdown)
        )

    def inlines(self):
        return [token for token in self.tokens if token.type == "inline"]

    def kinds(self):
        return {t.type for t in self.tokens} | {c.type for t in self.inlines() for c in t.children}

    def codes(self):
        return [c.content for t in self.inlines() for c in t.children if c.type == "code_inline"]

    def words(self):
        """The text of each paragraph, heading, item and cell as a reader sees it."""
        return ["".join(c.content for c in t.children) for t in self.inlines()]

    def tables(self):
        """Each table as rows of cells."""
        found, row = [], None
        for token, following in zip(self.tokens, [*self.tokens[1:], None], strict=True):
            if token.type == "table_open":
                found.append([])
            elif token.type == "tr_open":
                row = []
                found[-1].append(row)
            elif token.type in ("th_open", "td_open"):
                row.append("".join(c.content for c in following.children))
        return found


def test_the_verdict_comes_first_and_the_headline_tables_before_the_checks(reference):
    words = Rendered(summary(*reference, claims_of(reference[0]), MACHINE)).words()
    assert words[0] == "h200-reference: verified" and words[1].startswith("Both books balance")
    assert words[2] == "An excerpt of run full: 16 other cases are left out."
    assert words[3] == "NVIDIA H200 · driver 580.159.04 · PyTorch 2.11.0+cu130 / 2.13.0"
    order = [
        "linear_chain · rows65536_dim1024",
        "ruler · default",
        "What did not balance",
        "Claims",
        "Checks",
    ]
    assert [w for w in words if w in order] == order


def test_the_sentence_has_both_ratios_and_the_share_that_explains_them(reference):
    (sentence,) = [w for w in Rendered(summary(*reference)).words() if w.startswith("With ")]
    assert sentence == (
        "With fused the chain is 3.80× as fast and the whole block 1.18×, because the chain is only 20.1 % of eager's"
        " GPU time (691.5 µs of 3.44 ms) and fusing does not touch the rest: with a chain that took no time at all, the"
        " block's GPU work would be 1.25× as fast."
    )


def test_a_workload_without_chains_has_a_smaller_table_and_no_column_of_dashes(reference):
    with_chain, without, *_ = Rendered(summary(*reference)).tables()
    assert with_chain[0] == [
        *(
            "variant",
            "block (CUDA events), µs",
            "block ratio",
            "chain (torch), µs",
            "chain (nsys), µs",
            "difference, %",
        ),
        *("chain ratio", "byte ratio", "bandwidth, TB/s", "of copy, %"),
    ]
    assert without[0] == [
        *("variant", "block (CUDA events), µs", "block ratio", "GPU time (torch), µs", "GPU time (nsys), µs"),
        "difference, %",
    ]
    for table in with_chain, without:
        assert not any(set(column) == {"–"} for column in zip(*table[1:], strict=True))


def test_a_column_of_times_has_one_unit_and_as_many_decimals(reference):
    (blocks,) = [t for t in Rendered(summary(*reference)).tables() if t[0][-1] == "of copy, %"]
    column = [row[1] for row in blocks[1:]]
    assert column == ["3449.9", "2933.2", "3073.6", "2933.1", "129.4", "190.0"]
    assert unit_for([2e6, None, 3.5e6]) == ("ms", 1e6) and unit_for([None]) == ("ns", 1)
    assert fixed([2e6, 3.5e6, None], 1e6) == ["2.0", "3.5", "–"]


def test_a_yardstick_has_no_ratio_of_blocks(reference):
    (blocks,) = [t for t in Rendered(summary(*reference)).tables() if t[0][-1] == "of copy, %"]
    ratios = {row[0]: row[2] for row in blocks[1:]}
    assert (ratios["fused"], ratios["copy"], ratios["add"]) == ("1.18×", "–", "–")


def test_the_plan_says_which_variants_are_yardsticks(reference):
    rows, verdict = copy.deepcopy(reference)
    for row in rows:
        row["nsys_median_ns"] = None
    plan = read_plan(REFERENCE / "captures/plan.json")
    blocks = Rendered(summary(rows, verdict, plan=plan)).tables()[0]
    assert {row[0]: row[2] for row in blocks[1:]}["copy"] == "–"


def test_on_the_cpu_the_timer_is_the_host_clock_and_no_column_is_empty(reference):
    rows, verdict = copy.deepcopy(reference)
    for row in rows:
        row["status"], row["reason"] = "not_applicable", "device=cpu: no kernel was launched on a GPU"
        for name in row:
            if name.startswith(("torch_", "nsys_", "achieved", "copy_", "fraction", "difference")):
                row[name] = None
    rows = [r for r in rows if r["level"] in ("block", "chain", "range")]
    made = summary(rows, verdict | {"device": "cpu", "verdict": "unverifiable"})
    first = Rendered(made).tables()[0]
    assert first[0] == ["variant", "block (host clock), µs", "block ratio", "byte ratio"]
    assert (
        Rendered(summary(rows, verdict | {"device": "cpu"}))
        .words()[1]
        .startswith("Every check that needs no GPU")
    )
    assert "CUDA events" not in made and "on the host's clock" in made and "With " not in made


def test_a_variant_whose_rows_did_not_balance_is_marked_and_explains_nothing(reference):
    rows, verdict = copy.deepcopy(reference)
    for row in rows:
        if row["level"] == "chain" and row["variant"] != "compiled":
            row["status"], row["reason"] = "disagree", "medians differ by 3.1 %"
    made = Rendered(summary(rows, verdict | {"verdict": "refuted"}))
    assert made.tables()[0][1][0] == "eager ✗ disagree"
    assert not [w for w in made.words() if w.startswith("With ")]
    (odd,) = [t for t in made.tables() if t[0][0] == "row"]
    assert len(odd) == 1 + 5 and odd[1][4] == "medians differ by 3.1 %"


def failed(verdict, name, reason, status="fail"):
    checks = [c | {"status": status, "reason": reason} if c["id"] == name else c for c in verdict["checks"]]
    return verdict | {"verdict": "refuted", "checks": checks}


def test_one_reason_of_several_passes_is_said_once_as_a_list_item(reference):
    rows, verdict = reference
    one = "linear_chain/rows65536_dim1024"
    reason = (
        f"{one}: " + "; ".join(f"torch/{v}: sw_power_cap was active" for v in ("eager", "fused", "compiled"))
        + "; timing: another process computed. Next: wait until the GPU is free; "
        + "ruler/default: torch/spin: sw_power_cap was active. Next: wait until the GPU is free"
    )  # fmt: skip
    made = Rendered(summary(rows, failed(verdict, "clocks", reason)))
    assert made.kinds() >= {"bullet_list_open", "list_item_open"}
    start = made.words().index("clocks: failed")
    assert made.words()[start : start + 5] == [
        "clocks: failed",
        f"{one}, torch/eager, torch/fused, torch/compiled: sw_power_cap was active",
        f"{one}, timing: another process computed",
        "ruler/default, torch/spin: sw_power_cap was active",
        "next: wait until the GPU is free",
    ]


def test_long_and_many_reasons_are_cut_and_say_so(reference):
    rows, verdict = reference
    reason = "; ".join(f"ruler/default: torch/spin: {'word ' * 100}{n}" for n in range(20))
    made = Rendered(summary(rows, failed(verdict, "structure", reason, "unknown"))).words()
    assert "structure: could not be made" in made and "and 14 more, in verdict.json" in made
    assert max(map(len, made)) < 600


def test_only_so_many_rows_are_listed(reference):
    rows, verdict = copy.deepcopy(reference)
    for row in rows:
        row["status"], row["reason"] = "unknown", "x" * 1000
    made = summary(rows, failed(verdict, "freshness", "x"))
    assert f"and {len(rows) - 30} more rows in" in made and len(made) < 40_000


def test_a_claim_that_came_out_alike_in_several_cases_is_one_line(reference):
    made = Rendered(summary(*reference, claims_of(reference[0])))
    (claims,) = [t for t in made.tables() if t[0][0] == "outcome"]
    assert [(row[0], row[2]) for row in claims[1:]] == [
        ("✓ held", "linear_chain/rows65536_dim1024"),
        ("✗ refuted", "linear_chain/rows65536_dim1024, ruler/default"),
        ("? not tested", "ruler/default"),
    ]
    assert claims[1][1] == "A *chain* | of a <b> (ratio)"
    assert claims[1][3] == "chain('eager') / chain('fused') = 3.79881"


HOSTILE = ["a|b", "a`b", "``", "`a`` b`", "under_score_d", "*b*", "<img src=x>", "[x](http://y)", "![x](y)", "~~s~~", "\\",
           "a\\b", "&amp;", "https://x.y", "#1", "$x$", "</table>", "a  b"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("in_cell", [True, False])
def test_a_name_is_shown_as_it_is_and_starts_no_markup(name, in_cell):
    markdown = f"| h | i |\n| --- | --- |\n| {code(name)} | {text(name)} |\n" if in_cell else (
        f"x {code(name, cell=False)} y\n\n- {text(name)}\n"
    )  # fmt: skip
    made = Rendered(markdown)
    assert made.codes() == [" ".join(name.split())]
    assert made.words()[-1] == " ".join(name.split())
    assert (
        not {"html_inline", "html_block", "link_open", "image", "em_open", "strong_open", "s_open"}
        & made.kinds()
    )


def test_no_part_of_the_summary_is_html_and_every_table_has_whole_rows(reference):
    rows, verdict = copy.deepcopy(reference)
    for row, name in zip(rows, HOSTILE * 5, strict=False):
        row["status"], row["name"], row["reason"] = "unknown", name, name
    made = Rendered(
        summary(rows, failed(verdict, "export", "; ".join(HOSTILE)), claims_of(reference[0]), MACHINE)
    )
    assert not {"html_inline", "html_block", "link_open", "image", "em_open", "s_open"} & made.kinds()
    assert len(made.tables()) == 5
    for table in made.tables():
        assert len({len(row) for row in table}) == 1


def test_cut_text_ends_at_a_word():
    assert shortened("one two three", 9) == "one two …" and shortened("one", 9) == "one"


@pytest.mark.parametrize("part", ["measured", "reason"])
def test_a_claim_of_many_words_is_cut_in_the_summary_and_refers_to_its_table(reference, part):
    rows, verdict = reference
    claim = dict.fromkeys(
        ("workload", "case", "claim", "sentence", "measured", "outcome", "reason", "refuted_by", "source"),
        "x",
    )
    claim[part] = "; ".join(f"operator_{i} 1.234 ms" for i in range(60))
    text = summary(rows, verdict, [claim])
    cell = next(line for line in text.splitlines() if "operator_0" in line.replace("\\", "")).split(" | ")[-1]
    assert len(cell) < 300 and "…" in cell
    assert "`claims.csv` has them in full" in text
