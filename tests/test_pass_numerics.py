"""The comparison of two outputs: tolerance on both sides of its limit, NaN, shapes, chunks, tuples."""

import math

import pytest

torch = pytest.importorskip("torch")

from kernel_ledger.passes import common, numerics  # noqa: E402

RTOL, ATOL = 1e-5, 1e-6


def compare(actual, expected):
    return numerics.agreement(actual, expected, RTOL, ATOL)


def vector(*values, dtype=torch.float64):
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize("expected", [0.0, 1.0, -250.0])
def test_the_tolerance_is_atol_plus_rtol_times_the_expected_size(expected):
    limit = ATOL + RTOL * abs(expected)
    assert compare([vector(expected + limit * 0.999)], [vector(expected)])["agrees"]
    assert not compare([vector(expected + limit * 1.001)], [vector(expected)])["agrees"]


def test_the_comparison_is_that_of_torch_testing():
    generator = torch.Generator().manual_seed(3)
    for _ in range(50):
        expected = torch.randn(40, generator=generator)
        actual = expected * (1 + 6e-6 * torch.randn(40, generator=generator))
        try:
            torch.testing.assert_close(actual.double(), expected.double(), rtol=RTOL, atol=ATOL)
            close = True
        except AssertionError:
            close = False
        assert compare([actual], [expected])["agrees"] is close


@pytest.mark.parametrize(
    ("actual", "expected", "agrees"),
    [
        (math.nan, math.nan, False),
        (math.nan, 1.0, False),
        (1.0, math.nan, False),
        (math.inf, math.inf, True),
        (math.inf, -math.inf, False),
        (1.0, math.inf, False),
        (math.inf, 1.0, False),
    ],
)
def test_nan_agrees_with_nothing_and_an_infinity_with_itself(actual, expected, agrees):
    assert compare([vector(actual)], [vector(expected)])["agrees"] is agrees


def test_the_first_wrong_index_is_named_with_both_values_across_chunks(monkeypatch):
    monkeypatch.setattr(common, "HASH_ELEMENTS", 7)
    expected = torch.arange(60.0).reshape(3, 4, 5)
    actual = expected.clone()
    actual[2, 1, 3] = math.nan
    actual[1, 3, 4] = -1
    first = compare([actual], [expected])["first_disagreement"]
    assert first == {"index": [1, 3, 4], "value": -1.0, "expected": 39.0}


def test_a_tuple_of_outputs_names_the_output_too():
    first = compare([vector(1.0), vector(1.0, 5.0)], [vector(1.0), vector(1.0, 2.0)])["first_disagreement"]
    assert first["index"] == [1, 1]


def test_outputs_of_other_number_shape_or_type_disagree():
    one = vector(1.0)
    for actual in ([one, one], [], [vector(1.0, 1.0)], [one.float()]):
        assert not compare(actual, [one])["agrees"]


def test_no_output_at_all_is_said():
    assert compare([], [])["reason"] == "no output, nothing to compare"


def test_errors_against_float64_are_relative_l2_and_greatest():
    found = numerics.errors([vector(3.0, 4.5, dtype=torch.float32)], [vector(3.0, 4.0)])
    assert found["error_l2"] == pytest.approx(0.1) and found["error_max"] == pytest.approx(0.5)


def test_errors_that_are_not_numbers_are_none():
    assert numerics.errors([vector(1.0, math.nan)], [vector(1.0, 2.0)])["error_l2"] is None
    assert numerics.errors([vector(1.0)], None) == {"error_l2": None, "error_max": None}
    assert numerics.errors([vector(1.0)], [vector(1.0, 2.0)])["error_max"] is None


def test_nan_and_clamped_elements_are_counted():
    found = numerics.describe([vector(-1.0, 0.0, 2.0, 2.0, math.nan, dtype=torch.float32)], (-1.0, 2.0))
    assert (found["nan_count"], found["clamped_low"], found["clamped_high"]) == (1, 1, 2)
    assert numerics.describe([vector(1.0)], None)["clamped_low"] is None


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.bfloat16, torch.float16, torch.int64, torch.bool]
)
def test_the_hash_is_of_the_bytes_whatever_the_type_and_layout(dtype, monkeypatch):
    monkeypatch.setattr(common, "HASH_ELEMENTS", 5)
    tensor = (torch.arange(12) % 5 - 1).clamp(0).reshape(3, 4).to(dtype)
    assert common.output_sha256(tensor) == common.output_sha256(tensor.t().contiguous().t())
    assert common.output_sha256(tensor) != common.output_sha256(tensor.t())
    assert common.output_sha256((tensor[:1], tensor[1:])) == common.output_sha256(tensor)


def test_an_empty_output_is_hashed_and_no_output_is_not():
    assert common.output_sha256(torch.empty(0, 4)) and common.output_sha256(None) is None


def test_norms_see_a_change_that_atomics_cannot_make():
    tensor = torch.arange(1.0, 7.0).reshape(2, 3)
    norms = common.output_norms(tensor)
    assert norms == {"l1": 21.0, "l2": pytest.approx(91**0.5), "alternating": -3.0}
    swapped = common.output_norms(tensor.flip(0))
    assert swapped["l1"] == norms["l1"] and swapped["alternating"] != norms["alternating"]


def test_the_imaginary_part_of_an_output_is_compared_too():
    right, wrong = (
        vector(1 + 2j, 3 - 4j, dtype=torch.complex64),
        vector(1 + 2j, 3 + 4j, dtype=torch.complex64),
    )
    assert compare([right], [right.clone()])["agrees"]
    found = compare([wrong], [right])
    assert not found["agrees"]
    assert found["first_disagreement"] == {"index": [1], "value": "(3+4j)", "expected": "(3-4j)"}
    exact = numerics.errors([wrong], [right.to(torch.complex128)])
    assert exact["error_max"] == 8.0 and exact["error_l2"] == pytest.approx(8 / math.sqrt(30))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8])
def test_integers_are_equal_or_not(dtype):
    found = numerics.agreement([vector(100, 200, dtype=dtype)], [vector(100, 201, dtype=dtype)], 0.1, 10.0)
    assert found["first_disagreement"] == {"index": [1], "value": 200, "expected": 201}
    assert numerics.agreement([vector(7, dtype=dtype)], [vector(7, dtype=dtype)], 0.0, 0.0)["agrees"]


def test_integers_beyond_what_float64_holds_are_told_apart():
    assert not compare([vector(2**53, dtype=torch.int64)], [vector(2**53 + 1, dtype=torch.int64)])["agrees"]


def test_truth_values_are_compared():
    assert not compare([torch.tensor([True, False])], [torch.tensor([True, True])])["agrees"]


def test_the_norms_of_an_output_hold_its_imaginary_part():
    one, other = (common.output_norms(torch.tensor([1 + 2j, 3 + b * 1j])) for b in (4, 5))
    assert one != other
