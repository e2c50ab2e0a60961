"""Hundreds of simulated pairs of runs: none of the same code is called slower, every kernel slowed by 5 % is found.

Every process of every run is off by up to 0.5 %, as processes are; calls scatter as on an H200 (the residuals of the
recorded run, drawn again), with noise on top and an odd call now and then.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kernel_ledger.compare.comparison import compare
from kernel_ledger.compare.judgement import Margins
from kernel_ledger.compare.run import read_run

ROOT = Path(__file__).parents[1]
PAIRS = 300
BETWEEN_RUNS, NOISE, ODD, ODD_BY = 0.005, 0.002, 0.02, 0.03
LONG_NS = 20_000  # of a call; the margin of a shorter kernel is that of its time stamps
GEMM = "sm80_xmma_gemm"


@pytest.fixture(scope="module")
def recorded():
    return read_run(ROOT / "reports/h200-reference")


def measured_again(run, rng, slowed=None):
    """The recorded run as if measured again; ``slowed``: (workload, case, variant, kernel, factor)."""
    processes = {}
    samples = {}
    for key, witnesses in run.samples.items():
        samples[key] = {}
        for witness, recorded in witnesses.items():
            process = (key[:2], witness, key[2] if witness == "torch" else "")
            shift = processes.setdefault(process, rng.uniform(-BETWEEN_RUNS, BETWEEN_RUNS))
            drawn = rng.choice(np.asarray(recorded, float), len(recorded))
            noise = rng.normal(0, NOISE, len(drawn)) + ODD_BY * (rng.random(len(drawn)) < ODD)
            extra = added_ns(run, key, witness, slowed)
            samples[key][witness] = list((drawn + extra) * (1 + shift + noise))
    return replace(run, folder=Path("reports/again"), samples=samples)


def added_ns(run, key, witness, slowed):
    """What a slowed kernel adds to a call of this row."""
    if slowed is None or key[:3] != slowed[:3] or (key[3] in ("kernel", "memory") and key[4] != slowed[3]):
        return 0
    kernel = next(k for k in run.rows if k[:5] == (*slowed[:3], "kernel", slowed[3]))
    if key[3] == "operator" and run.rows[kernel]["operator"] != key[4]:
        return 0
    if key[3] == "chain" and GEMM in slowed[3]:
        return 0
    book = "nsys" if witness == "events" else witness
    return (slowed[4] - 1) * float(np.median(run.samples[kernel][book]))


def long_kernels(run):
    return [key for key, row in run.rows.items() if key[3] == "kernel" and row["nsys_median_ns"] > LONG_NS]


def test_no_row_of_three_hundred_pairs_of_the_same_code_is_called_slower(recorded):
    rng = np.random.default_rng(2026)
    outcomes, false = {}, []
    for _ in range(PAIRS):
        found = compare(measured_again(recorded, rng), measured_again(recorded, rng), Margins())
        outcomes[found.outcome] = outcomes.get(found.outcome, 0) + 1
        false += [(row.key, row.verdict) for row in found.rows if row.verdict in ("slower", "faster")]
    print(outcomes, "of", PAIRS)
    assert false == []
    assert outcomes.get("no regression", 0) > 0.9 * PAIRS


def test_every_kernel_slowed_by_five_percent_is_found_in_every_pair(recorded):
    rng = np.random.default_rng(5)
    kernels = long_kernels(recorded)
    missed, elsewhere = [], []
    for number in range(PAIRS):
        key = kernels[number % len(kernels)]
        slowed = (*key[:3], key[4], 1.05)
        found = compare(measured_again(recorded, rng), measured_again(recorded, rng, slowed), Margins())
        verdicts = {row.key: row for row in found.rows}
        if verdicts[key].verdict != "slower" or found.exit_status != 1:
            missed.append((key, verdicts[key].judgement))
        elsewhere += [row.key for row in found.rows if row.verdict == "slower" and row.key[:3] != key[:3]]
    print(f"{PAIRS - len(missed)} of {PAIRS} found, {len(kernels)} kernels")
    assert missed == [] and elsewhere == []


def test_a_kernel_made_five_percent_faster_is_an_improvement_and_no_regression(recorded):
    rng = np.random.default_rng(7)
    key = next(key for key in long_kernels(recorded) if key[4] == "fused_chain_vector")
    slower = measured_again(recorded, rng, (*key[:3], key[4], 1.05))
    found = compare(slower, measured_again(recorded, rng), Margins())
    assert next(row.verdict for row in found.rows if row.key == key) == "faster"
    assert found.exit_status == 0


def test_one_book_alone_is_not_believed(recorded):
    rng = np.random.default_rng(11)
    key = next(key for key in long_kernels(recorded) if key[4] == "fused_chain_vector")
    new = measured_again(recorded, rng)
    new.samples[key]["torch"] = [ns * 1.05 for ns in new.samples[key]["torch"]]
    row = next(r for r in compare(measured_again(recorded, rng), new, Margins()).rows if r.key == key)
    assert row.verdict == "ambiguous" and row.judgement.reason.endswith(": slower by torch, same by nsys")
