"""workloads/linear_chain.py: its declaration, and all its variants on a small CPU case."""

import subprocess
import sys
from pathlib import Path

import pytest

from kernel_ledger.workload import Context, load

ROOT = Path(__file__).parents[1]
FILE = ROOT / "workloads" / "linear_chain.py"
CASE = {"rows": 37, "dim": 24}


@pytest.fixture(scope="module")
def workload():
    return load(FILE)


@pytest.fixture(scope="module")
def prepared(workload, cpu_library):
    context = Context(device="cpu", seed=2026, library=cpu_library)
    return context, workload.build(CASE, context)


@pytest.mark.parametrize("name", ["linear_chain", "ruler"])
def test_reading_the_declaration_imports_no_torch(name):
    program = (
        "import sys; from pathlib import Path; from kernel_ledger.workload import load\n"
        f"w = load(Path('workloads/{name}.py')); assert w.name == {name!r}; assert 'torch' not in sys.modules"
    )
    environ = {"PYTHONPATH": "src"}
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, env=environ, check=True)


def test_the_chain_moves_11_floats_an_element_eager_and_3_fused(workload):
    floats = {v.name: v.traffic.floats_per_element for v in workload.variants}
    assert floats == {"eager": 11, "fused": 3, "fused_scalar": 3, "compiled": 3, "copy": 2, "add": 3}


def test_the_default_case_is_several_times_any_l2(workload):
    (case,) = workload.cases["cuda"]
    assert workload.case_name(case) == "rows65536_dim1024"
    assert workload.working_set(case) == 3 * 65536 * 1024 * 4 > 4 * 60 * 2**20


def test_every_variant_agrees_with_eager_and_eager_with_float64(workload, prepared):
    context, inputs = prepared
    torch = pytest.importorskip("torch")
    results = {
        variant.name: variant.make(CASE, context, inputs)()
        for variant in workload.variants
        if variant.role == "variant" and "compile" not in variant.needs
    }
    assert set(results) == {"eager", "fused", "fused_scalar"}
    for result in results.values():
        torch.testing.assert_close(result, results["eager"], rtol=1e-5, atol=1e-6)
        assert not result.requires_grad and result.shape == (37, 24)
    reference = workload.reference(CASE, context, inputs)
    assert reference.dtype == torch.float64
    torch.testing.assert_close(results["eager"].double(), reference, rtol=1e-5, atol=3e-6)
    low, high = workload.clamp
    assert results["eager"].min() >= low and results["eager"].max() == high


def test_the_compiled_variant_agrees_with_eager(workload, prepared):
    context, inputs = prepared
    torch = pytest.importorskip("torch")
    eager, compiled = (workload.variant(name).make(CASE, context, inputs) for name in ("eager", "compiled"))
    torch.testing.assert_close(compiled(), eager(), rtol=1e-5, atol=1e-6)


def test_the_references_move_the_tensors_of_the_case(workload, prepared):
    context, inputs = prepared
    torch = pytest.importorskip("torch")
    copied, added = (workload.variant(name).make(CASE, context, inputs) for name in ("copy", "add"))
    assert torch.equal(copied(), inputs["x"]) and copied().data_ptr() == copied().data_ptr()
    assert torch.equal(added(), inputs["x"] + inputs["residual"])


def test_the_same_seed_gives_the_same_inputs_and_another_seed_others(workload):
    torch = pytest.importorskip("torch")
    state = torch.get_rng_state()
    first, again, other = (workload.build(CASE, Context("cpu", seed)) for seed in (1, 1, 2))
    assert torch.equal(first["x"], again["x"]) and not torch.equal(first["x"], other["x"])
    assert torch.equal(first["state"]["linear.bias"], again["state"]["linear.bias"])
    assert torch.equal(torch.get_rng_state(), state)
