"""What the numerics pass records of a call's tensors: identities that no trace has."""

import pytest

torch = pytest.importorskip("torch")

from kernel_ledger.passes.dataflow import flow  # noqa: E402


def recorded(call):
    with torch.no_grad():
        found = flow(call, "cpu")
    assert found["reason"] is None
    return found["operators"], set(found["outlive"])


def buffers(entry, side):
    return [tensor["buffer"] for tensor in entry[side]]


def test_an_intermediate_is_one_buffer_and_does_not_outlive_the_call():
    x = torch.randn(8, 4)
    (mul, add), outlive = recorded(lambda: x * 2 + 1)
    assert (mul["operator"], add["operator"], mul["pointwise"]) == ("aten::mul", "aten::add", True)
    assert buffers(mul, "writes") == buffers(add, "reads") and buffers(mul, "writes")[0] not in outlive
    assert set(buffers(mul, "reads") + buffers(add, "writes")) <= outlive
    assert mul["reads"][0]["bytes"] == 128 and mul["reads"][0]["elements"] == 32


def test_memory_that_is_used_again_is_another_buffer():
    x = torch.randn(1024)

    def call():
        for _ in range(20):  # each is freed before the next is made, at the same address
            (x * 2).sum()

    operators, _ = recorded(call)
    written = [buffers(entry, "writes")[0] for entry in operators]
    assert len(set(written)) == 40


def test_an_operator_in_place_reads_and_writes_one_buffer():
    x, y = torch.randn(8), torch.randn(8)
    (entry,), _ = recorded(lambda: x.add_(y))
    assert buffers(entry, "writes") == buffers(entry, "reads")[:1] and len(entry["reads"]) == 2


def test_an_output_that_is_given_is_not_read():
    x, y, out = torch.randn(8), torch.randn(8), torch.empty(8)
    (entry,), _ = recorded(lambda: torch.add(x, y, out=out))
    assert len(entry["reads"]) == 2 and len(entry["writes"]) == 1
    assert not set(buffers(entry, "writes")) & set(buffers(entry, "reads"))


def test_a_copy_does_not_read_its_target():
    x, target = torch.randn(8), torch.empty(8)
    (entry,), _ = recorded(lambda: target.copy_(x))
    assert len(entry["reads"]) == len(entry["writes"]) == 1


def test_a_view_is_its_buffer_and_an_expanded_tensor_counts_what_lies_in_memory():
    x, row = torch.randn(8, 4), torch.randn(4)
    operators, _ = recorded(lambda: x.t() * row[:, None].expand(4, 8))
    mul = next(entry for entry in operators if entry["operator"] == "aten::mul")
    transpose = next(entry for entry in operators if entry["operator"] == "aten::t")
    assert buffers(transpose, "reads")[0] == buffers(mul, "reads")[0] and transpose["writes"] == []
    assert [tensor["elements"] for tensor in mul["reads"]] == [32, 4]


def test_a_backward_pass_is_recorded_with_what_it_keeps_from_the_forward_pass():
    x = torch.randn(8, 4, requires_grad=True)

    def call():
        with torch.enable_grad():
            return torch.autograd.grad((x.tanh() * 2).sum(), x)

    operators, _ = recorded(call)
    tanh = next(entry for entry in operators if entry["operator"] == "aten::tanh")
    backward = next(entry for entry in operators if entry["operator"] == "aten::tanh_backward")
    assert buffers(tanh, "writes")[0] in buffers(backward, "reads")


def test_a_model_that_refuses_to_be_recorded_says_why():
    def call():
        raise NotImplementedError("no modes here")

    assert flow(call, "cpu") == {
        "reason": "NotImplementedError: no modes here",
        "operators": [],
        "outlive": [],
    }
