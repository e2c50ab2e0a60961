"""The bars of a whole reconciliation: by processor time, beside the kernel tables of the same run."""

import pytest

from kernel_ledger.benchmark.bars import SMALL, M, bars
from kernel_ledger.benchmark.measure import Measurement


def measured(what, size, cpu_s, peak_mb=700.0, kernels=10):
    answer = {"cpu_s": cpu_s, "kernels": kernels, "total_ns": 99}
    return (what, size), Measurement(what, size, 999.0, 999.0, 999.0, peak_mb, 1, answer)


def judged(whole=34.0, small=3.2, **more):
    """Whether each bar holds: equal sums, processor time, growth, memory."""
    found = dict([measured("run_tables", SMALL, 1.1), measured("run_tables", M, 11.0),
                  measured("run_reconciled", SMALL, small), measured("run_reconciled", M, whole, **more)])  # fmt: skip
    return [bar.holds for bar in bars(found)]


@pytest.mark.parametrize(
    ("given", "holds"),
    [
        ({}, [True, True, True, True]),
        ({"kernels": 11}, [False, True, True, True]),
        ({"whole": 56.0, "small": 5.6}, [True, False, True, True]),
        ({"whole": 50.0, "small": 3.2}, [True, True, False, True]),
        ({"peak_mb": 1201.0}, [True, True, True, False]),
    ],
)
def test_a_whole_reconciliation_is_held_to_its_tables_its_growth_and_its_memory(given, holds):
    assert judged(**given) == holds


def test_without_a_whole_run_there_is_no_bar_of_it():
    assert bars(dict([measured("run_tables", M, 11.0)])) == []
