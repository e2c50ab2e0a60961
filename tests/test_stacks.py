"""Flame graphs from a trace's own events: weights, files that open elsewhere, and names that stay text."""

import json
import xml.etree.ElementTree as ElementTree

from kernel_ledger.stacks import Stacks, flame_graph, speedscope, stacks
from kernel_ledger.stacks.samples import frame
from kernel_ledger.trace_events import TraceEvent, TraceEvents


def event(category, name, start, end, thread=1, **args):
    return TraceEvent(name, category, thread, start, end, args, args.get("correlation"))


def trace(*more):
    """One call: main calls forward, whose operator launches a kernel of 700 ns."""
    events = [
        event("user_annotation", "w/eager", 0, 1000),
        event("python_function", "kernel_ledger/passes/torch_profile.py(50): run", 0, 1000),
        event("python_function", "/home/x/study/workloads/w.py(3): call", 10, 900),
        event("python_function", "<built-in method mul of Tensor object at 0x7f01>", 20, 800),
        event("cpu_op", "aten::mul", 30, 700),
        event("cuda_runtime", "cudaLaunchKernel", 100, 120, correlation=7),
        event("kernel", "_Z7scale_iPf", 5000, 5700, thread=9, correlation=7),
        *more,
    ]
    return TraceEvents(tuple(sorted(events, key=lambda e: (e.start, -e.end))), {})


def test_a_kernels_time_belongs_to_the_stack_that_launched_it():
    found = stacks(trace(), "w/eager", "cuda")
    frames = ("workloads/w.py:3 call", "<built-in method mul of Tensor object>", "aten::mul", "scale_i")
    assert found.weights == {frames: 700} and found.measure == "self CUDA time"


def test_a_kernel_of_another_thread_says_that_it_has_no_python_frames():
    other = [
        event("cpu_op", "MulBackward0", 400, 600, thread=2),
        event("cuda_runtime", "cudaLaunchKernel", 450, 460, thread=2, correlation=8),
        event("kernel", "grad", 6000, 6100, thread=9, correlation=8),
    ]
    found = stacks(trace(*other), "w/eager", "cuda")
    assert any("autograd" in frames[0] and frames[1:] == ("MulBackward0", "grad") for frames in found.weights)


def test_on_the_cpu_the_weight_is_an_operators_own_time():
    found = stacks(trace(event("cpu_op", "aten::empty", 40, 140)), "w/eager", "cpu")
    assert sorted((frames[-1], weight) for frames, weight in found.weights.items()) == [
        ("aten::empty", 100),
        ("aten::mul", 570),
    ]
    assert "device=cpu" in found.measure


def test_a_trace_without_frames_says_which_option_is_missing():
    events = tuple(e for e in trace().events if e.category != "python_function")
    found = stacks(TraceEvents(events, {}), "w/eager", "cuda")
    assert not found.weights and "torch.with_stack" in found.reason


def test_work_outside_the_range_is_left_out():
    assert not stacks(trace(), "w/other", "cuda").weights


def test_names_stay_text_in_the_picture():
    hostile = "</title><script>alert(1)</script>\x1b[31m\"'&"
    text = flame_graph(hostile, Stacks({(hostile, "leaf"): 5_000_000}, "self CUDA time"))
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(text).iter()}
    assert tags == {"svg", "rect", "text", "g", "title"} and "\x1b" not in text


def test_widths_are_shares_of_the_time():
    text = flame_graph("t", Stacks({("a", "b"): 3_000_000, ("a", "c"): 1_000_000}, "self CUDA time"))
    widths = [float(e.get("width")) for e in ElementTree.fromstring(text).iter() if e.tag.endswith("rect")][
        1:
    ]
    assert widths == [1200, 1200, 900, 300]


def test_the_speedscope_file_has_a_frame_once_and_the_whole_weight():
    value = json.loads(speedscope("t", Stacks({("a", "b"): 3, ("a", "c"): 1}, "self CUDA time")))
    (profile,) = value["profiles"]
    assert value["shared"]["frames"] == [{"name": "a"}, {"name": "b"}, {"name": "c"}]
    assert (profile["samples"], profile["weights"], profile["endValue"]) == ([[0, 1], [0, 2]], [3, 1], 4)
    assert value["$schema"].endswith("file-format-schema.json") and profile["unit"] == "nanoseconds"


def test_a_frame_tells_nothing_of_the_machine():
    assert frame("/home/x/.venv/lib/python3.12/site-packages/torch/nn/modules/linear.py(130): forward") == (
        "torch/nn/modules/linear.py:130 forward"
    )
    assert frame("/home/someone/deep/down/models/a.py(1): f") == "down/models/a.py:1 f"
