"""torch.ops.kernel_ledger.fused_chain: the same function as eager PyTorch, or a clear refusal."""

import pytest

torch = pytest.importorskip("torch")

CONSTANTS = (1.25, 0.1, -1.0, 2.0)
ODD_SIZES = [0, 1, 3, 4, 5, 1023, 100_001]


@pytest.fixture(scope="module")
def fused_chain(cpu_library):
    return torch.ops.kernel_ledger.fused_chain


def eager(x, residual, gamma, beta, low, high):
    return torch.clamp(torch.nn.functional.gelu(x * gamma + beta, approximate="tanh") + residual, low, high)


def draw(*shape):
    generator = torch.Generator().manual_seed(7)
    return [3 * torch.randn(*shape, generator=generator) for _ in range(2)]


@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("size", ODD_SIZES)
def test_any_size_agrees_with_eager_and_with_float64(fused_chain, size, vectorized):
    x, residual = draw(size)
    result = fused_chain(x, residual, *CONSTANTS, vectorized=vectorized)
    torch.testing.assert_close(result, eager(x, residual, *CONSTANTS), rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(
        result.double(), eager(x.double(), residual.double(), *CONSTANTS), rtol=1e-5, atol=3e-6
    )


def test_a_view_off_the_16_byte_boundary_agrees_with_eager(fused_chain):
    x, residual = (tensor[1:] for tensor in draw(1024))
    assert x.data_ptr() % 16
    torch.testing.assert_close(
        fused_chain(x, residual, *CONSTANTS), eager(x, residual, *CONSTANTS), rtol=1e-5, atol=1e-6
    )


def test_nan_and_infinity_come_out_as_in_eager(fused_chain):
    x = torch.tensor([float("nan"), 0.0, float("inf"), -float("inf"), float("inf")])
    residual = torch.tensor([0.0, float("nan"), 0.0, 0.0, -float("inf")])
    expected = eager(x, residual, *CONSTANTS)
    torch.testing.assert_close(fused_chain(x, residual, *CONSTANTS), expected, equal_nan=True)


def test_the_result_is_a_new_contiguous_tensor_of_the_same_shape(fused_chain):
    x, residual = draw(2, 3, 5)
    before = x.clone(), residual.clone()
    result = fused_chain(x, residual, *CONSTANTS)
    assert result.shape == (2, 3, 5) and result.is_contiguous()
    assert torch.equal(x, before[0]) and torch.equal(residual, before[1])


@pytest.mark.parametrize("which", ["x", "residual"])
def test_a_non_contiguous_input_is_refused_with_what_to_call(fused_chain, which):
    inputs = dict(zip(("x", "residual"), draw(8, 8), strict=True))
    inputs[which] = inputs[which].t()
    message = rf"{which} is not contiguous .*strides \[1, 8\].*pass {which}\.contiguous\(\)"
    with pytest.raises(RuntimeError, match=message):
        fused_chain(inputs["x"], inputs["residual"], *CONSTANTS)


@pytest.mark.parametrize(
    ("x", "residual", "message"),
    [
        (torch.zeros(3), torch.zeros(4), r"shape \[3\] and residual \[4\]; there is no broadcasting"),
        (torch.zeros(3).double(), torch.zeros(3), "x must be float32, not Double"),
        (torch.zeros(3), torch.zeros(3).half(), "residual must be float32, not Half"),
        (torch.zeros(3), torch.zeros(3, device="meta"), "x is on cpu and residual on meta"),
    ],
    ids=["shape", "dtype of x", "dtype of residual", "device"],
)
def test_operands_that_do_not_match_are_refused(fused_chain, x, residual, message):
    with pytest.raises(RuntimeError, match=message):
        fused_chain(x, residual, *CONSTANTS)


@pytest.mark.parametrize("shape", [(5, 7), (0, 4), (1,)])
def test_opcheck_passes(fused_chain, shape):
    torch.library.opcheck(fused_chain.default, (*draw(*shape), *CONSTANTS))


def test_meta_tensors_give_the_shape_without_computing(fused_chain):
    x = torch.empty(1 << 20, 1 << 14, device="meta")  # 64 GiB, if it were real
    assert fused_chain(x, x, *CONSTANTS).shape == x.shape


@pytest.mark.parametrize("dynamic", [False, True])
def test_torch_compile_traces_the_operator_without_a_graph_break(fused_chain, dynamic):
    compiled = torch.compile(
        lambda x, residual: fused_chain(x + 1, residual, *CONSTANTS),
        fullgraph=True,
        dynamic=dynamic,
        backend="aot_eager",
    )
    for size in (6, 11):
        x, residual = draw(size, 3)
        torch.testing.assert_close(compiled(x, residual), fused_chain(x + 1, residual, *CONSTANTS))


def test_the_ruler_says_that_it_is_for_cuda_only(fused_chain):
    with pytest.raises(NotImplementedError, match="kernel_ledger::spin.*CPU"):
        torch.ops.kernel_ledger.spin(torch.zeros(1), 1000, 1, 1)


def test_operators_that_write_say_so_in_their_schema(fused_chain):
    assert "Tensor(a!) buffer" in str(torch.ops.kernel_ledger.touch.default._schema)
    assert "Tensor(a!) counter" in str(torch.ops.kernel_ledger.tick.default._schema)


def test_gelu_keeps_its_relative_precision_where_it_is_nearly_zero(fused_chain):
    """1 + tanh(u) would lose all but a few digits for x below -3."""
    x = torch.linspace(-5.0, 5.0, 10_001)
    exact = torch.nn.functional.gelu(x.double(), approximate="tanh")
    output = torch.ops.kernel_ledger.gelu(x).double()
    small = exact.abs() > 0
    assert ((output - exact)[small] / exact[small]).abs().max() < 5e-6
    assert torch.equal(output[~small], exact[~small])
