"""nsys.emit_nvtx: the books still balance with a range around every operator, and both tools name the operators."""

import csv
import json
import sqlite3

from capture_factory import GLOBAL_TID, Launch, calls, tiny, write_export, written
from test_reconcile import reconciled

from kernel_ledger import kineto
from kernel_ledger.nsys import book as nsys_book
from kernel_ledger.nvtx_operators import operator_of, operator_rows
from kernel_ledger.plan_file import read_plan


def emitted(scenario, folder, colon=""):
    """Add torch's ranges to an nsys capture, as the recorder stores them and the CSV spells them."""
    connection = sqlite3.connect(folder / "report.sqlite")
    rows, number = [], 0
    for _, _, _, _, events in calls(scenario, True, list(scenario.variants)):
        for launch, _, host, start, stop in events:
            number += 1
            text = f"{launch.operator}, op_id = {number}, sizes = [[1024, 1024], []]"
            connection.execute(
                "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) VALUES (?, ?, 59, ?, ?, 0)",
                (host - 1_000, host + 3_000, text, GLOBAL_TID),
            )
            if launch.level == "kernel":
                ns = stop - start
                rows.append(
                    ["1.0", ns, 1, f"{ns}.0", f"{ns}.0", ns, ns, "0.0", f"{colon}{text}/{launch.symbol}"]
                )
    connection.commit()
    connection.close()
    path = folder / "cuda_gpu_kern_sum_by_range.csv"
    header = path.read_text().splitlines()[0].split(",")
    with path.open("w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    write_export(folder)


def operators(captures, variant, on=True):
    plan = read_plan(captures / "plan.json")
    case = next(c for c in plan.cases if c.workload == "tiny")
    names, folder = set(map(case.range_name, case.variants)), captures / "tiny" / "n1024"
    torch = kineto.read(folder / "torch" / variant / "trace.json.gz", names)
    return operator_rows(
        {}, case, variant, torch, nsys_book.read(folder / "nsys" / "report.sqlite", names), on
    )


def test_the_books_balance_with_a_range_around_every_operator(tmp_path):
    for colon in ("", ":"):  # nsys 2023.4 and 2025.3 print the default domain so
        place = tmp_path / f"with {len(colon)}"
        captures = written(place)
        emitted(tiny(), captures / "tiny" / "n1024" / "nsys", colon)
        rows, verdict = reconciled(captures, place / "reports" / "run")
        assert verdict["verdict"] == "verified", [c for c in verdict["checks"] if c["status"] != "pass"]
        assert {r["status"] for r in rows} == {"verified"}


def test_both_tools_name_the_same_operator_for_every_launch(tmp_path):
    captures = written(tmp_path)
    emitted(tiny(), captures / "tiny" / "n1024" / "nsys")
    rows = operators(captures, "eager")
    assert [(r["torch_operator"], r["launches"], r["status"]) for r in rows] == [
        ("aten::addmm", 10, "agree"),
        ("aten::add", 10, "agree"),
        ("aten::mul", 10, "agree"),
    ]


def test_another_operator_in_one_book_disagrees(tmp_path):
    captures, other = written(tmp_path), tiny()
    other.variants["eager"][1] = Launch(other.variants["eager"][1].symbol, "aten::div", 120_000)
    emitted(other, captures / "tiny" / "n1024" / "nsys")
    odd = [r for r in operators(captures, "eager") if r["status"] != "agree"]
    assert [(r["torch_operator"], r["nsys_operator"], r["status"]) for r in odd] == [
        ("aten::mul", "aten::div", "disagree")
    ]


def test_without_the_ranges_nothing_is_said_to_agree(tmp_path):
    captures = written(tmp_path)
    assert {r["status"] for r in operators(captures, "eager", on=False)} == {"unknown"}
    assert {r["status"] for r in operators(captures, "eager", on=True)} == {"unknown"}


def test_the_operator_is_the_text_before_torchs_own_additions():
    names = {"w/eager"}
    assert operator_of("aten::add, op_id = 3, sizes = [[4, 4], []]", names) == "aten::add"
    assert operator_of("aten::mm, seq = 7, op_id = 3, input_op_ids = [(1, 0)]", names) == "aten::mm"
    assert operator_of("w/eager", names) is None and operator_of(None, names) is None


def test_the_option_reaches_the_measured_process_and_old_plans_lack_it(tmp_path):
    from kernel_ledger.request import build_request

    plan = json.loads((written(tmp_path) / "plan.json").read_text()) | {"timing": {}, "torch": {}, "nsys": {}}
    given = {"variants": ["eager"], "library": None, "output": tmp_path}
    assert build_request(plan, plan["cases"][0], "nsys", **given)["emit_nvtx"] is False
    plan["nsys"]["emit_nvtx"] = True
    assert build_request(plan, plan["cases"][0], "nsys", **given)["emit_nvtx"] is True
