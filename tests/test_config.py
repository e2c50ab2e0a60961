"""The configuration: what it refuses, and how it says so."""

import pytest

from kernel_ledger.config import load_config
from kernel_ledger.config_problems import ConfigProblems


def problems_of(mapping):
    with pytest.raises(ConfigProblems) as caught:
        load_config(mapping)
    return caught.value.problems


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ({"devise": "cpu"}, "devise: unknown key; did you mean device?"),
        ({"measure": {"iteratons": 3}}, "measure.iteratons: unknown key; did you mean measure.iterations?"),
        ({"iterations": 3}, "iterations: unknown key; did you mean measure.iterations?"),
        (
            {"workloads": [{"fil": "x", "file": "y"}]},
            "workloads[0].fil: unknown key; did you mean workloads[0].file?",
        ),
        ({"nsys": {"zzz": 1}}, "nsys.zzz: unknown key; nsys has path, emit_nvtx, reports"),
    ],
)
def test_an_unknown_key_is_refused_with_the_nearest_valid_one(mapping, told):
    assert problems_of(mapping) == (told,)


@pytest.mark.parametrize(
    ("mapping", "told"),
    [
        ({"device": "gpu"}, "device: expected one of cuda, cpu; found 'gpu'"),
        (
            {"measure": {"iterations": 0}},
            "measure.iterations: expected a whole number from 1 to 10000; found 0",
        ),
        (
            {"measure": {"timeout_s": "x"}},
            "measure.timeout_s: expected a whole number from 1 to 86400 s; found 'x'",
        ),
        ({"tolerance": 3}, "tolerance: expected a section with keys; found 3"),
        ({"environment": "HOME"}, "environment: expected a list; found 'HOME'"),
        ({"workloads": [{}]}, "workloads[0].file: this key is required"),
    ],
)
def test_a_wrong_value_is_told_what_is_allowed_and_what_was_found(mapping, told):
    assert problems_of(mapping) == (told,)


def test_all_problems_are_listed_at_once_with_one_next_step():
    with pytest.raises(ConfigProblems) as caught:
        load_config({"device": "tpu", "seed": -1, "measure": {"warmup": "many", "timing": {"noise": 1}}})
    text = str(caught.value)
    assert "4 problems; nothing was run" in text
    for path in ("device:", "seed:", "measure.warmup:", "measure.timing.noise: unknown key"):
        assert f"  - {path}" in text
    assert text.count("next:") == 1
    assert caught.value.exit_status == 2


@pytest.mark.parametrize(
    "run", ["../up", "a/b", "..", ".", "-rf", "a b", "a;b", "$(id)", "a\nb", "a\n", "{x}", ""]
)
def test_a_run_that_is_no_plain_folder_name_is_refused(run):
    assert problems_of({"run": run})[0].startswith("run: ")


@pytest.mark.parametrize("path", ["a\nb", "a{wildcard}b", "a\0b", "\x1b[31m", ""])
@pytest.mark.parametrize("key", ["replay", "nsys", "workloads"])
def test_a_path_with_braces_or_control_characters_is_refused(key, path):
    mapping = {
        "replay": {"replay": path},
        "nsys": {"nsys": {"path": path}},
        "workloads": {"workloads": [{"file": path}]},
    }[key]
    if path == "" and key != "workloads":
        load_config(mapping)  # `--config replay=` means none
    else:
        assert len(problems_of(mapping)) == 1


@pytest.mark.parametrize("path", ["my runs/first", "it's; $(odd)", "/elsewhere/x", "über/ergebnis"])
def test_a_path_with_spaces_quotes_or_a_shells_characters_is_kept(path):
    assert load_config({"replay": path}).replay == path


def test_values_of_the_command_line_arrive_as_text_or_numbers_and_are_understood():
    config = load_config(
        {
            "run": 2026,
            "replay": "null",
            "measure": {"iterations": "3", "timing": {"flush_l2": "true", "noise_pct": "1.5"}},
            "build": {"architectures": [9.0, "12.0"]},
        }
    )
    assert config.run == "2026" and config.replay is None
    assert config.measure.iterations == 3 and config.measure.timing.flush_l2 is True
    assert config.measure.timing.noise_pct == 1.5
    assert config.build.architectures == ["9.0", "12.0"]


def test_a_truth_value_is_not_a_number_nor_a_name():
    assert problems_of({"seed": True})[0].startswith("seed: a truth value stands where a number belongs")
    assert problems_of({"run": True}) == ("run: expected text that matches [A-Za-z0-9_.-]+; found True",)


def test_a_replay_into_the_run_that_it_reads_is_refused():
    (told,) = problems_of({"replay": "reports/local"})
    assert "would be overwritten" in told


def test_fewer_samples_at_most_than_at_least_are_refused():
    (told,) = problems_of({"measure": {"timing": {"min_samples": 30, "max_samples": 10}}})
    assert "measure.timing.max_samples" in told


@pytest.mark.parametrize("repeats", [0, True, 1.5, 101, "many"])
def test_repeats_of_a_workload_are_a_number_of_processes(repeats):
    with pytest.raises(ConfigProblems, match="repeats"):
        load_config({"workloads": [{"file": "workloads/add.py", "repeats": repeats}]})


@pytest.mark.parametrize("value", [1e5, 1.0])
def test_a_run_whose_name_was_read_as_a_number_is_refused(value):
    with pytest.raises(ConfigProblems, match=f"run: it was read as the number {value}"):
        load_config({"run": value})
    assert load_config({"run": 2026}).run == "2026"
