"""Each pass, through its script, in a process of its own on the CPU."""

import csv
import gzip
import json
import os

import pytest
from pass_runs import change_plan, hidden, run_script, write_plan

from kernel_ledger.files import sha256

pytest.importorskip("torch")


def load(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def captured(tmp_path_factory):
    """The folder of a case after numerics, timing and the torch pass of one variant."""
    root = tmp_path_factory.mktemp("study with spaces, $(id) and 'quotes'")
    plan, case = write_plan(root)
    environ = {"SECRET_TOKEN": "planted-value", "HOME": "/somewhere/of/a/user"}
    for script, variant in (("numerics", None), ("timing", None), ("torch_pass", "other")):
        finished, folder = run_script(root, script, plan, case, variant, **environ)
    return folder


def test_numerics_compares_variants_and_leaves_references_out(captured):
    numerics = load(captured / "numerics.json")
    assert list(numerics["variants"]) == ["plain", "other"]
    assert all(v["agrees"] and v["first_disagreement"] is None for v in numerics["variants"].values())
    entry = numerics["variants"]["plain"]
    assert entry["shape"] == [8, 4] and entry["dtype"] == "torch.float32" and entry["nan_count"] == 0
    assert entry["clamped_low"] > 0 and entry["clamped_high"] > 0
    assert 0 < entry["error_l2"] < 1e-6 and 0 < entry["error_max"] < 1e-6
    assert (numerics["rtol"], numerics["atol"], numerics["tf32"]) == (1e-5, 1e-6, False)
    assert numerics["run"]["pass"] == "numerics" and "files" not in numerics["run"]


def test_timing_keeps_all_samples_in_whole_nanoseconds(captured):
    timing = load(captured / "timing.json")
    assert timing["timer"] == "perf_counter" and timing["flush_l2"] is False
    assert list(timing["variants"]) == ["plain", "other", "copy"]
    for entry in timing["variants"].values():
        assert 5 <= len(entry["samples_ns"]) <= 9
        assert all(type(sample) is int and sample > 0 for sample in entry["samples_ns"])
        assert entry["stopped"] in ("samples", "time", "noise")


def test_the_record_of_the_case_covers_numerics_and_timing(captured):
    files = load(captured / "run.json")["files"]
    assert files == {
        name: sha256(captured / name) for name in ("timing.json", "numerics.json", "dataflow.json")
    }


def test_the_torch_pass_announces_and_records_its_iterations(captured):
    folder = captured / "torch" / "other"
    record = load(folder / "run.json")
    assert record["announced"] == {"tiny/other": 3} and record["variants"] == ["other"]
    trace = json.loads(gzip.decompress((folder / "trace.json.gz").read_bytes()))
    marks = [e for e in trace["traceEvents"] if e.get("name") == "tiny/other" and e.get("ph") == "X"]
    assert len(marks) == 3
    assert record["files"] == {n: sha256(folder / n) for n in os.listdir(folder) if n != "run.json"}
    assert set(record["files"]) == {"trace.json.gz", "key_averages.txt", "key_averages.csv", "log.txt"}


def test_key_averages_are_written_plain_and_by_shape_in_nanoseconds(captured):
    with (captured / "torch" / "other" / "key_averages.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    adds = [row for row in rows if row["name"] == "aten::add"]
    assert {row["grouping"] for row in adds} == {"plain", "shapes"}
    assert sum(int(row["count"]) for row in adds if row["grouping"] == "plain") == 6
    assert any("[8, 4]" in row["input_shapes"] for row in adds)
    assert all(int(row["self_cpu_ns"]) >= 0 for row in rows)
    text = (captured / "torch" / "other" / "key_averages.txt").read_text()
    assert "sorted by self CPU time" in text and "Input Shapes" in text


def test_every_record_says_what_the_pass_was_and_ran_on(captured):
    for record in (load(captured / "run.json"), load(captured / "torch" / "other" / "run.json")):
        assert record["format"] == 1 and record["exit_status"] == 0 and record["seconds"] > 0
        assert record["seed"] == 7 and record["warmup"] == 1 and record["iterations"] == 3
        assert record["gpu"] is None and record["nvml"] is None and record["nvml_reason"] == "device is cpu"
        assert record["probe"]["result"] is None and record["probe"]["regime"] == "absent"
        assert record["versions"]["torch"] and record["versions"]["driver"] is None
        assert record["tf32"]["matmul_allow_tf32"] is False


def test_all_passes_computed_the_same_bytes(captured):
    numerics = load(captured / "numerics.json")["variants"]["other"]["sha256"]
    assert load(captured / "run.json")["output_sha256"]["other"] == numerics
    assert load(captured / "torch" / "other" / "run.json")["output_sha256"] == {"other": numerics}


def test_what_the_workload_knows_beforehand_is_recorded(captured):
    (known,) = load(captured / "run.json")["expectations"]["plain"]
    assert known["kernel"] == "tiny" and known["block"] == [32, 1, 1] and known["bytes"] is None


def test_no_partial_folder_and_no_withheld_value_is_left(captured):
    assert hidden(captured) == []
    for path in captured.rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            data = gzip.decompress(data) if path.suffix == ".gz" else data
            assert b"planted-value" not in data and b"/somewhere/of/a/user" not in data


@pytest.mark.parametrize(
    ("spoil", "index", "value"),
    [("value", [1, 2], None), ("nan", [0, 3], "nan"), ("shape", None, "shapes"), ("dtype", None, "float64")],
)
def test_a_wrong_variant_is_recorded_with_the_first_wrong_index(tmp_path, spoil, index, value):
    plan, case = write_plan(tmp_path, spoil=spoil)
    finished, folder = run_script(tmp_path, "numerics", plan, case)
    entry = load(folder / "numerics.json")["variants"]["other"]
    first = entry["first_disagreement"]
    assert not entry["agrees"] and first["index"] == index
    assert "DISAGREES" in finished.stderr
    if value is None:
        assert first["value"] == pytest.approx(first["expected"] + 1)
    else:
        assert value in str(first["value"])
    assert entry["nan_count"] == (1 if spoil == "nan" else 0)


def test_a_crash_shows_what_the_process_printed_and_leaves_nothing(tmp_path):
    plan, case = write_plan(tmp_path, spoil="crash")
    finished, folder = run_script(tmp_path, "timing", plan, case, check=False)
    assert finished.returncode == 4
    assert "ended with exit status 1" in finished.stderr and "spoiled on purpose" in finished.stderr
    assert list(folder.iterdir()) == []


def test_a_pass_past_its_time_limit_is_ended_and_says_so(tmp_path):
    plan, case = write_plan(tmp_path, spoil="hang")
    change_plan(plan, timeout_s=4)
    finished, folder = run_script(tmp_path, "timing", plan, case, check=False)
    assert finished.returncode == 4 and "ran past its time limit" in finished.stderr
    assert list(folder.iterdir()) == []


def test_a_workload_changed_after_the_plan_is_refused(tmp_path):
    plan, case = write_plan(tmp_path)
    text = json.loads(plan.read_text())
    text["cases"][0]["source_sha256"] = "0" * 64
    plan.write_text(json.dumps(text))
    finished, folder = run_script(tmp_path, "numerics", plan, case, check=False)
    assert finished.returncode == 4 and "changed after the plan" in finished.stderr
    assert list(folder.iterdir()) == []


def test_a_case_that_is_not_planned_is_refused_with_those_that_are(tmp_path):
    plan, case = write_plan(tmp_path)
    finished, _ = run_script(tmp_path, "numerics", plan, "rows9", check=False)
    assert finished.returncode == 2 and f"tiny/{case}" in finished.stderr


def test_a_clean_pass_refuses_to_run_beside_an_injected_profiler(tmp_path):
    plan, case = write_plan(tmp_path)
    change_plan(plan, environment=["NVTX_INJECTION64_PATH"])
    environ = {"NVTX_INJECTION64_PATH": "/nowhere/libToolsInjection64.so"}
    finished, folder = run_script(tmp_path, "torch_pass", plan, case, "plain", check=False, **environ)
    assert finished.returncode == 4 and "another profiler is in the process" in finished.stderr
    assert not (folder / "torch").exists()


def test_what_killed_runs_left_is_removed_and_results_of_a_failed_run_stay(tmp_path):
    plan, case = write_plan(tmp_path)
    _, folder = run_script(tmp_path, "numerics", plan, case)
    before = (folder / "numerics.json").read_bytes()
    (folder / ".partial-numerics-4194304").mkdir()
    change_plan(plan, iterations=-1, timeout_s=0.1)
    run_script(tmp_path, "numerics", plan, case, check=False)
    assert (folder / "numerics.json").read_bytes() == before and hidden(folder) == []


def test_without_nsys_on_a_cpu_the_pass_records_why_it_is_absent(tmp_path):
    plan, case = write_plan(tmp_path, nsys_path=str(tmp_path / "no-such-nsys"))
    _, folder = run_script(tmp_path, "nsys_pass", plan, case)
    record = load(folder / "nsys" / "run.json")
    assert "nsys" in record["absent"] and os.listdir(folder / "nsys") == ["run.json"]
