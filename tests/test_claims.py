"""Claims: what is refused while planning, and what a run says of each."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import capture_factory as factory
import pytest
from workflow_copy import ROOT

from kernel_ledger.claims.declared import Claim
from kernel_ledger.claims.functions import FUNCTIONS, SIGNATURES, Case
from kernel_ledger.claims.language import BadExpression, parse
from kernel_ledger.claims.table import COLUMNS, claims_text, read_claims
from kernel_ledger.claims.trial import try_claim
from kernel_ledger.config import load_config
from kernel_ledger.config_problems import ConfigProblems
from kernel_ledger.plan import make_plan
from kernel_ledger.privileges import privileges
from kernel_ledger.reconcile import read_table

REFERENCE = ROOT / "reports/h200-reference"
CASE = "linear_chain/rows65536_dim1024"


@pytest.fixture(scope="module")
def recorded():
    """The H200 run's linear_chain."""
    rows = [r for r in read_table(REFERENCE / "results.csv") if r["workload"] == "linear_chain"]
    return Case(rows, REFERENCE / "captures" / CASE)


def claim(expression, requires=None):
    return Claim(id="c", sentence="s", expression=expression, refuted_by="r", requires=requires)


def problems(text):
    with pytest.raises(BadExpression) as caught:
        parse(text, SIGNATURES)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1 < chian('eager')", "column 5: unknown function 'chian'; did you mean chain?"),
        ("chain('eager', 'tourch') > 1", "column 16: unknown book 'tourch'; did you mean 'torch'?"),
        ("chain('eager', buch='torch') > 1", "column 21: chain() has no argument 'buch'; there are variant, book"),
        ("chain() > 1", "column 1: chain() needs variant"),
        ("chain(3) > 1", "column 7: variant is a text in quotes, not 3"),
        ("chain('a', 'torch', 'x') > 1", "column 21: chain() takes 2 arguments at most"),
        ("cell('torch_medain_ns', 'block', 'a') > 1",
         "column 6: unknown column 'torch_medain_ns'; did you mean 'torch_median_ns'?"),
        ("chain('eager') / 2", "column 1: a claim is a comparison; this is a number"),
        ("(1 < 2) + 3 > 1", "column 2: a number belongs here; 1 < 2 is a truth value"),
        ("not chain('a')", "column 5: a truth value belongs here; chain('a') is a number"),
        ("2 ** 999999 > 1", "column 1: '2 ** 999999' is not part of the language; see docs/claims.md"),
        ("'ä' == 'ä' or root", "column 1: \"'ä'\" is not part of the language; see docs/claims.md"),
        ("chain('eager') >", "column 16: this is no expression: invalid syntax"),
        ("chain('eager'", "column 6: this is no expression: '(' was never closed"),
    ],
)  # fmt: skip
def test_what_is_not_in_the_language_is_refused_with_its_position(text, told):
    assert told in problems(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true') == 0",
        "().__class__ == 1",
        "[x for x in 'a'] == 1",
        "(lambda: 1)() == 1",
        "chain(**{}) > 1",
        "chain(*'ab') > 1",
        "open('x') == 1",
        "f'{1}' == 1",
        "(x := 1) == 1",
        "1e999 > 1",
        "True",
        "1 if root() else 2",
        "1 < 2 is 3",
        "(" * 300 + "1" + ")" * 300 + " > 0",
        "-" * 900 + "1 > 0",
        "",
    ],
)
def test_nothing_of_python_runs(text):
    assert problems(text)


def test_all_problems_of_an_expression_are_told_at_once():
    assert len(problems("chian('a') > 1 and blok('b') > 2 and chain('a', 'x') > 3")) == 3


def test_a_position_counts_characters_not_bytes():
    assert problems("kernel('ä', 'ö') > 1 and x > 1")[0].startswith("column 26:")


def test_the_configuration_tells_all_problems_of_all_claims():
    one = {"id": "a", "sentence": "s", "refuted_by": "r"}
    with pytest.raises(ConfigProblems) as caught:
        load_config(
            {
                "claims": [
                    one | {"expression": "chian('a') > 1"},
                    one | {"expression": "1 < 2", "requires": "rot()"},
                ],
                "workloads": [{"file": "w.py", "claims": [one | {"expression": "1 <"}]}],
            }
        )
    assert caught.value.problems == (
        "claims[0].expression: column 1: unknown function 'chian'; did you mean chain?",
        "claims[1].id: 'a' is there already",
        "claims[1].requires: column 1: unknown function 'rot'; did you mean root?",
        "workloads[0].claims[0].id: 'a' is there already",
        "workloads[0].claims[0].expression: column 3: this is no expression: invalid syntax",
    )
    assert caught.value.exit_status == 2


def test_an_unknown_key_of_a_claim_is_refused():
    with pytest.raises(ConfigProblems) as caught:
        load_config({"claims": [{"id": "a", "sentence": "s", "refuted_by": "r", "expresion": "1 < 2"}]})
    assert "claims[0].expresion: unknown key; did you mean claims[0].expression?" in caught.value.problems


def test_a_variant_that_the_workload_lacks_is_refused_while_planning(monkeypatch):
    monkeypatch.chdir(ROOT)
    told = {"id": "a", "sentence": "s", "refuted_by": "r", "expression": "chain('eager') / chain('fusd') > 1"}
    choice = {"file": "workloads/linear_chain.py", "claims": [told]}
    with pytest.raises(ConfigProblems) as caught:
        make_plan(load_config({"workloads": [choice]}))
    (problem,) = caught.value.problems
    assert "claim a: expression: column 24: no variant 'fusd'; did you mean 'fused'?" in problem


def test_the_plan_holds_the_claims_of_each_case(monkeypatch):
    monkeypatch.chdir(ROOT)
    plan = make_plan(load_config({}))
    ids = {case["workload"]: [c["id"] for c in case["claims"]] for case in plan["cases"]}
    assert ids["linear_chain"] == ["wrapper-self-time", "without-privileges", "gemm-first", "chain-by-bytes"]
    assert ids["ruler"] == ["wrapper-self-time", "without-privileges"]
    assert json.loads(json.dumps(plan)) == plan


def test_a_variant_that_was_not_chosen_is_no_error_and_not_tested(monkeypatch, recorded):
    monkeypatch.chdir(ROOT)
    told = {
        "id": "a",
        "sentence": "s",
        "refuted_by": "r",
        "expression": "chain('eager') / chain('fused') > 1",
    }
    choice = {"file": "workloads/linear_chain.py", "variants": ["eager"], "claims": [told]}
    make_plan(load_config({"workloads": [choice]}))
    rows = [r for r in recorded.rows if r["variant"] != "fused"]
    outcome = try_claim(Claim(**told), Case(rows, recorded.folder))
    assert (outcome.outcome, outcome.reason) == ("not tested", "results.csv has no row for chain fused")


def test_the_ratio_is_that_of_the_table(recorded):
    outcome = try_claim(claim("chain('eager') / chain('fused') >= bytes('eager') / bytes('fused')"), recorded)
    assert outcome.outcome == "held"
    assert (
        outcome.measured
        == "chain('eager') / chain('fused') = 3.79881; bytes('eager') / bytes('fused') = 3.66667"
    )
    assert outcome.source == "nsys/report.sqlite@1a16b2eb5edd"


def test_a_claim_that_does_not_hold_is_refuted_with_what_was_measured(recorded):
    outcome = try_claim(claim("block('eager') / block('fused') > 3"), recorded)
    assert (outcome.outcome, outcome.measured) == ("refuted", "block('eager') / block('fused') = 1.17615")
    assert outcome.source.startswith("timing.json@")


def test_the_reference_says_of_the_first_claims_what_is_known(recorded):
    found = {
        c.id: try_claim(c, recorded) for c in (*load_config({}).claims, *load_config({}).workloads[0].claims)
    }
    assert {name: o.outcome for name, o in found.items()} == {
        "wrapper-self-time": "refuted",
        "without-privileges": "not tested",
        "gemm-first": "held",
        "chain-by-bytes": "held",
    }
    told = found["wrapper-self-time"].reason
    assert "aten::addmm 27.489 ms" in told and "Activity Buffer Request 2.760 ms" in told
    assert "only tested where not root()" in found["without-privileges"].reason


def test_a_row_that_did_not_balance_is_no_evidence(recorded):
    rows = [
        dict(r, status="disagree", reason="medians differ") if r["level"] == "chain" else r
        for r in recorded.rows
    ]
    outcome = try_claim(claim("chain('eager') > 1"), Case(rows, recorded.folder))
    assert (outcome.outcome, outcome.reason) == (
        "not tested",
        "the row chain eager is disagree: medians differ",
    )


def test_where_there_is_no_gpu_no_claim_about_gpu_time_is_held():
    announced = {"level": "kernel", "variant": "fused", "name": "k", "status": "not_applicable", "torch_count": 0,
                 "nsys_count": 0, "reason": "device=cpu: no kernel was launched on a GPU"}  # fmt: skip
    for expression in ("wrapper_self_ns() == 0", "launches('torch') == launches('nsys')"):
        outcome = try_claim(claim(expression), Case([announced], Path("nowhere")))
        assert (outcome.outcome, outcome.reason) == (
            "not tested",
            "no kernel or copy was recorded: device=cpu: no kernel was launched on a GPU",
        )


def test_a_claim_is_tested_whole_or_not_at_all(recorded):
    outcome = try_claim(claim("chain('eager') < 1 and chain('no_such') > 1"), recorded)
    assert outcome.outcome == "not tested"


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (
            "kernel('eager', 'vectorized') > 1",
            "results.csv has 5 rows for kernel eager with 'vectorized' in its name",
        ),
        ("1 / (launches('torch') - launches('nsys')) > 1", "division by zero"),
        ("rank('eager', 'aten::nothing') == 1", "no kernel of eager was launched by aten::nothing"),
        ("cell('host_ns', 'block', 'eager') > 1", "host_ns of block eager is empty"),
    ],
)
def test_what_cannot_be_measured_says_why(recorded, expression, reason):
    outcome = try_claim(claim(expression), recorded)
    assert outcome.outcome == "not tested" and reason in outcome.reason


@pytest.mark.parametrize(
    "expression",
    [
        "0 < kernel('fused', 'fused_chain_vector', 'torch') < block('fused', book='nsys')",
        "launches('torch', 'eager') == 60 and launches('torch') == 140",
        "cell('expected_count', 'range', 'eager') == 10 or not root()",
        "cell('torch_count', level='operator', variant='eager', name='aten::add') == 20",
        "-rank('eager', 'aten::add') == -2",
        "wrapper_self_ns('copy') != 0",
    ],
)
def test_each_function_reads_its_cells(recorded, expression):
    with_rights = Case(recorded.rows, recorded.folder)
    assert try_claim(claim(expression), with_rights).outcome == "held"


def with_rights(tmp_path, **told):
    """A written capture whose passes ran with these rights, and its rows."""
    captures = factory.written(tmp_path, factory.tiny())
    for path in captures.rglob("run.json"):
        path.write_text(json.dumps(json.loads(path.read_text()) | {"privileges": told}))
    return Case(
        [{"level": "kernel", "variant": "eager", "name": "k", "status": "verified", "torch_count": 3, "nsys_count": 3,
          "reason": None, "torch_source": "t", "nsys_source": "n"}],
        captures / "tiny/n1024",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("euid", "admin_only", "capable", "outcome", "reason"),
    [
        (1000, True, False, "held", ""),
        (
            0,
            True,
            False,
            "not tested",
            "only tested where not root() and not counter_permission(); here root() = true, ",
        ),
        (1000, False, False, "not tested", "only tested where not root()"),
        (1000, True, True, "not tested", "only tested where not root()"),
        (1000, None, False, "not tested", "the driver told nothing"),
    ],
)
def test_without_privileges_is_tested_only_where_there_were_none(
    tmp_path, euid, admin_only, capable, outcome, reason
):
    case = with_rights(tmp_path, euid=euid, profiling_admin_only=admin_only, cap_sys_admin=capable)
    found = try_claim(load_config({}).claims[1], case)
    assert found.outcome == outcome and reason in found.reason


def test_rights_are_read_from_the_kernel_and_the_driver(tmp_path):
    status, parameters = tmp_path / "status", tmp_path / "params"
    status.write_text("Name:\tx\nCapEff:\t0000000000200000\n")
    parameters.write_text("ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n")
    told = privileges(status, parameters)
    assert (told["cap_sys_admin"], told["profiling_admin_only"]) == (True, True)
    status.write_text("CapEff:\t00000000a80425fb\n")
    assert privileges(status, tmp_path / "none") == told | {
        "cap_sys_admin": False,
        "profiling_admin_only": None,
    }


def written(tmp_path, *options):
    output, plan = tmp_path / "claims.csv", tmp_path / "plan.json"
    recorded = json.loads((REFERENCE / "captures/plan.json").read_text())
    for case in recorded["cases"]:
        case.pop("claims")  # as the first plans were
    plan.write_text(json.dumps(recorded))
    command = [
        sys.executable,
        ROOT / "scripts/claims.py",
        "--plan",
        plan,
        "--captures",
    ]
    command += [REFERENCE / "captures", "--results", REFERENCE / "results.csv", "--output", output, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return output


def test_a_recorded_plan_without_claims_is_tried_with_those_of_the_configuration(tmp_path):
    rows = read_claims(written(tmp_path))
    assert [(r["workload"], r["claim"], r["outcome"]) for r in rows] == [
        ("linear_chain", "wrapper-self-time", "refuted"),
        ("linear_chain", "without-privileges", "not tested"),
        ("linear_chain", "gemm-first", "held"),
        ("linear_chain", "chain-by-bytes", "held"),
        ("ruler", "wrapper-self-time", "refuted"),
        ("ruler", "without-privileges", "not tested"),
    ]
    assert all(r["reason"] for r in rows if r["outcome"] == "not tested")
    assert all(r["measured"] for r in rows if r["outcome"] != "not tested")
    again = written(tmp_path, "--config", json.dumps({"claims": [], "workloads": [{"file": "w.py"}]}))
    assert read_claims(again) == []


def test_a_claim_is_no_formula_in_a_spreadsheet():
    row = dict.fromkeys(COLUMNS, "x") | {"sentence": "=cmd", "expression": "-1 < 2, 'a'"}
    (read,) = csv.DictReader(claims_text([row]).splitlines())
    assert (read["sentence"], read["expression"]) == ("'=cmd", "'-1 < 2, 'a'")


def test_every_function_is_declared_and_documented():
    assert set(FUNCTIONS) == set(SIGNATURES)
    text = Path(ROOT / "docs/claims.md").read_text()
    for signature in SIGNATURES.values():
        assert f"`{signature}` | {signature.meaning}" in text
