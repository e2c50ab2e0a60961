"""A model of one's own: a file with one function, and an error for each thing that people get wrong in it."""

import textwrap

import pytest

from kernel_ledger.config import load_config
from kernel_ledger.errors import ConfigError
from kernel_ledger.plan import make_plan
from kernel_ledger.workload import Context, load

torch = pytest.importorskip("torch")
nn = torch.nn

GOOD = """
import torch
from torch import nn

def model(batch: int = 8):
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU()), (torch.randn(batch, 4),)
"""


@pytest.fixture
def written(tmp_path):
    def write(source, name="mine.py"):
        path = tmp_path / name
        path.write_text("import torch\nfrom torch import nn\n" + textwrap.dedent(source))
        return path

    return write


def built(path, **case):
    workload = load(path)
    parameters = workload.complete(case)
    inputs = workload.build(parameters, Context("cpu", 7))
    return workload, parameters, inputs


def complaint(path):
    with pytest.raises(ConfigError) as caught:
        built(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def forward(body, *, inputs="torch.randn(3, 4)", setup="", state="eval"):
    """A file whose module has this forward."""
    return (
        "class Mine(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        f"        self.linear = nn.Linear(4, 4)\n        {setup or 'pass'}\n    def forward(self, x):\n        {body}\n"
        f"def model():\n    return Mine().{state}(), ({inputs},)\n"
    )


def test_one_function_is_enough(written):
    workload, parameters, inputs = built(written(GOOD))
    assert (workload.name, [v.name for v in workload.variants]) == ("mine", ["eager", "compiled"])
    output = workload.variant("eager").make(parameters, Context("cpu", 7), inputs)()
    assert output.shape == (8, 4) and not output.requires_grad
    assert torch.allclose(workload.reference(parameters, None, inputs).float(), output, atol=1e-6)


def test_its_parameters_are_those_of_a_case(written):
    path = written(GOOD)
    config = load_config(
        {"device": "cpu", "workloads": [{"file": str(path), "cases": [{"batch": 2}, {"batch": 5}]}]}
    )
    plan = make_plan(config)
    assert [case["case"] for case in plan["cases"]] == ["batch2", "batch5"]
    assert plan["cases"][0]["tolerance"] == {"rtol": 1e-3, "atol": 1e-4}
    _, _, inputs = built(path, batch=5)
    assert inputs["inputs"][0].shape == (5, 4)


def test_weights_and_inputs_are_the_same_in_every_process_of_a_seed(written):
    path = written(GOOD)
    (_, _, one), (_, _, other) = built(path), built(path)
    assert torch.equal(one["inputs"][0], other["inputs"][0])
    assert all(
        torch.equal(a, b)
        for a, b in zip(one["module"].parameters(), other["module"].parameters(), strict=True)
    )


def test_name_tolerance_and_variants_can_be_said(written):
    workload = load(
        written(GOOD + 'NAME = "net"\nTOLERANCE = {"rtol": 0.02, "atol": 0.02}\nVARIANTS = ("eager",)\n')
    )
    assert (workload.name, [v.name for v in workload.variants]) == ("net", ["eager"])
    assert workload.tolerance({}).rtol == 0.02


FURTHER = (
    GOOD
    + """
def model_fused(batch: int = 8):
    module, _ = model(batch)
    return nn.Sequential(module[0], nn.ReLU())
"""
)


def test_a_further_function_is_a_variant_with_the_same_weights_and_inputs(written):
    workload, parameters, inputs = built(written(FURTHER), batch=3)
    assert [v.name for v in workload.variants] == ["eager", "compiled", "fused"]
    eager, fused = (
        workload.variant(v).make(parameters, Context("cpu", 7), inputs)() for v in ("eager", "fused")
    )
    assert torch.equal(eager, fused) and fused.shape == (3, 4)


def test_a_function_that_is_imported_is_no_variant(written):
    assert "zoo" not in [
        v.name for v in load(written(GOOD + "from math import sqrt as model_zoo\n")).variants
    ]


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("return model(batch)", "must return the module alone"),
        ("return 3", "found: int"),
        ("return nn.Linear(5, 5)", "forward failed with the example inputs"),
        ("raise OSError('gone')", "model_fused() failed"),
        ("return nn.Sequential(nn.Dropout(0.5))", "in training mode"),
    ],
)
def test_a_wrong_further_model_is_an_error_with_the_way_out(written, more, text):
    path = written(GOOD + f"def model_fused(batch: int = 8):\n    {more}\n")
    workload, parameters, inputs = built(path)
    with pytest.raises(ConfigError) as caught:
        workload.variant("fused").make(parameters, Context("cpu", 7), inputs)
    assert text in " ".join(str(caught.value).split())


def test_a_single_tensor_stands_for_a_tuple_of_one(written):
    _, _, inputs = built(written("def model():\n    return nn.ReLU(), torch.ones(3)"))
    assert len(inputs["inputs"]) == 1


def test_a_file_name_that_is_no_identifier_works(written):
    assert load(written(GOOD, "my-model v2.py")).name == "my-model_v2"


DECLARATIONS = {
    "neither a function `model` nor WORKLOAD": "x = 1",
    "there is 'Model'; is it that?": "class Model(nn.Module): ...",
    "`model` is not a function": "model = nn.Linear(4, 4)",
    "model is the class model": "class model(nn.Module): ...",
    "the parameter 'batch' of model() needs a default": "def model(batch): ...",
    "*args or **kwargs": "def model(*sizes): ...",
    "TOLERANCE must be two numbers": GOOD + "TOLERANCE = 0.1",
    "VARIANTS must be some of": GOOD + "VARIANTS = ('eager', 'fast')",
    "model_fused() must take the parameters of model()": GOOD + "def model_fused(): ...",
    "there is a variant 'compiled' of model() itself": GOOD + "def model_compiled(batch=8): ...",
    "NAME must match": GOOD + "NAME = 'my model'",
    "WORKLOAD in this workload file is not a Workload": "WORKLOAD = 3",
    "cannot be imported": "import no_such_package",
}


@pytest.mark.parametrize("text", DECLARATIONS)
def test_a_wrong_declaration_is_found_while_planning(written, text):
    with pytest.raises(ConfigError) as caught:
        load(written(DECLARATIONS[text]))
    assert text in str(caught.value)


MODELS = {
    "model() failed": "def model():\n    return nn.Linear(4)",
    "is there a `return`?": "def model():\n    nn.Linear(4, 4)",
    "the inputs are missing": "def model():\n    return nn.Linear(4, 4)",
    "tuple of 3": "def model():\n    return nn.ReLU(), torch.ones(2), torch.ones(2)",
    "the class ReLU, not an instance": "def model():\n    return nn.ReLU, (torch.ones(2),)",
    "no torch.nn.Module": "def model():\n    return torch.relu, (torch.ones(2),)",
    "must be a tuple of tensors": "def model():\n    return nn.ReLU(), {'x': torch.ones(2)}",
    "tuple with nothing in it": "def model():\n    return nn.ReLU(), ()",
    "example input 1 is no tensor": "def model():\n    return nn.ReLU(), (torch.ones(2), 3)",
    "the model is on another device": "def model():\n    return nn.Linear(4, 4, device='meta'), (torch.ones(4),)",
    "example input 0 is on meta": "def model():\n    return nn.ReLU(), (torch.ones(4, device='meta'),)",
    "in training mode": "def model():\n    return nn.Sequential(nn.Dropout(0.5)), (torch.ones(4),)",
    "0 (BatchNorm1d)": "def model():\n    return nn.Sequential(nn.BatchNorm1d(4)), (torch.ones(2, 4),)",
    "forward failed with the example inputs": forward("return self.linear(x)", inputs="torch.randn(3, 5)"),
    "compare the shapes": forward("return self.linear(x)", inputs="torch.randn(3, 5)"),
    "one dtype": forward("return self.linear(x)", inputs="torch.randn(3, 4).bfloat16()"),
    "forward must return a tensor": forward("return {'logits': self.linear(x)}"),
    "tuple with NoneType in it": forward("return self.linear(x), None"),
    "changes example input 0 in place": forward("return x.relu_()"),
    "another output each time": forward("return x + torch.rand_like(x)"),
    "draw no random numbers": forward("return nn.functional.dropout(x)"),
    "keep no state between calls": forward("self.calls += 1; return x * self.calls", setup="self.calls = 0"),
    "switches gradients on": forward("with torch.enable_grad(): return self.linear(x)"),
}


@pytest.mark.parametrize("text", MODELS)
def test_a_wrong_model_is_an_error_with_the_way_out(written, text):
    assert text in complaint(written(MODELS[text]))


def test_gradients_that_the_module_asks_for_are_no_fault(written):
    _, _, inputs = built(
        written(forward("return self.linear(x)", inputs="torch.randn(3, 4).requires_grad_()"))
    )
    assert not inputs["inputs"][0].requires_grad


def test_dropout_without_effect_and_a_plain_module_in_training_mode_are_no_fault(written):
    built(
        written("def model():\n    return nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.0)), (torch.ones(4),)")
    )


def test_a_model_that_gives_nan_is_not_called_random(written):
    built(written(forward("return x * float('nan')")))


def test_a_model_that_cannot_run_in_float64_has_no_reference(written):
    workload, parameters, inputs = built(written(forward("return x.half() @ torch.ones(4, 4).half()")))
    assert workload.reference(parameters, None, inputs) is None


def test_what_torch_cannot_compile_names_the_way_out(written, monkeypatch):
    workload, parameters, inputs = built(written(GOOD))

    def broken(module, **_):
        def call(*_):
            raise RuntimeError("no such backend")

        return call

    monkeypatch.setattr(torch, "compile", broken)
    with pytest.raises(ConfigError) as caught:
        workload.variant("compiled").make(parameters, Context("cpu", 7), inputs)
    assert 'VARIANTS = ("eager",)' in str(caught.value)
