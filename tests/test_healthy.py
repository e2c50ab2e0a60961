"""Healthy captures raise no alarm: what differs between good recordings is no fault."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import replace

import capture_factory as factory
import pytest
from faults.bench import Bench, events
from faults.both_books import launches

HEALTHY: dict[str, Callable[[Bench], None]] = {}


def healthy(inject: Callable[[Bench], None]) -> Callable[[Bench], None]:
    HEALTHY[inject.__name__.replace("_", " ")] = inject
    return inject


@healthy
def the_reference(bench):
    pass


@healthy
def noise_within_the_tolerance(bench):
    bench.scenario.jitter = 300


@healthy
def a_kernel_0_9_percent_slower_in_one_book(bench):
    bench.change("eager", 1, nsys_ns=121_080)


@healthy
def a_short_kernel_within_its_absolute_term(bench):
    bench.change("eager", 1, ns=2_000, nsys_ns=2_150)


@healthy
def medians_that_end_in_half_a_nanosecond(bench):
    change = lambda v, i, e: [(*x[:4], x[4] + (i >= 5)) for x in e]  # noqa: E731
    bench.scenario.tamper = lambda book, calls: launches(calls, change)


@healthy
def events_in_another_order_in_the_trace(bench):
    with bench.trace("eager") as trace:
        trace["traceEvents"].reverse()


@healthy
def other_stream_numbers_in_one_book(bench):
    bench.sql(
        "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET streamId = 13",
        "UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET streamId = 13",
    )


@healthy
def other_correlation_ids_in_one_book(bench):
    tables = ("KERNEL", "RUNTIME", "MEMCPY")
    bench.sql(
        *(f"UPDATE CUPTI_ACTIVITY_KIND_{t} SET correlationId = correlationId + 5000000" for t in tables)
    )


@healthy
def ranges_printed_without_their_domain(bench):
    respell(bench, "kernel_ledger:tiny/", "tiny/")


@healthy
def ranges_printed_with_a_colon(bench):
    respell(bench, "kernel_ledger:tiny/", ":tiny/")


@healthy
def ranges_of_the_default_domain(bench):
    bench.sql(
        "UPDATE NVTX_EVENTS SET domainId = 0 WHERE eventType = 59",
        "DELETE FROM NVTX_EVENTS WHERE eventType = 75",
    )
    respell(bench, "kernel_ledger:tiny/", ":tiny/")


@healthy
def kernels_by_range_with_the_domain(bench):
    name = "nsys/cuda_gpu_kern_sum_by_range.csv"
    bench.write(name, (bench.case / name).read_text().replace(",tiny/", ",kernel_ledger:tiny/").encode())


def respell(bench: Bench, old: str, new: str) -> None:
    for name in ("nvtx_sum.csv", "nvtx_gpu_proj_sum.csv", "nvtx_kern_sum.csv"):
        bench.write(f"nsys/{name}", (bench.case / "nsys" / name).read_text().replace(old, new).encode())


@healthy
def unrelated_ranges_of_another_domain(bench):
    bench.sql(
        "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId)"
        " SELECT start - 50, end + 50, 59, 'library step', globalTid, 9 FROM NVTX_EVENTS WHERE eventType = 59"
    )
    text = (bench.case / "nsys/nvtx_sum.csv").read_text()
    more = text.splitlines()[1].replace("kernel_ledger:tiny/eager", "NCCL:library step")
    bench.write("nsys/nvtx_sum.csv", f"{text}{more}\n".encode())


@healthy
def long_names_that_kineto_left_mangled(bench):
    with bench.trace("eager") as trace:
        for event in events(trace, "kernel"):
            if "Mul" in event["name"]:
                event["name"] = factory.MUL


@healthy
def triton_kernels_without_an_operator(bench):
    bench.change("eager", 1, symbol="triton_poi_fused_add_mul_0")
    with bench.trace("eager") as trace:
        trace["traceEvents"] = [e for e in trace["traceEvents"] if e["name"] != "aten::mul"]


@healthy
def copies_in_the_other_spelling(bench):
    with bench.trace("copy") as trace:
        for event in events(trace, "gpu_memcpy"):
            event["name"] = "Memcpy DtoD (Device -> Device) "


@healthy
def one_iteration(bench):
    bench.scenario.iterations = bench.ruler.iterations = 1


@healthy
def one_kernel_with_two_geometries(bench):
    mul = bench.scenario.variants["eager"][1]
    bench.scenario.variants["eager"].append(replace(mul, grid=(7, 1, 1), ns=50_000))


@healthy
def benign_diagnostics_of_nsys(bench):
    texts = [
        "Not all NVTX events might have been collected.",
        "Not all CUDA events might have been collected.",
    ]
    with bench.json("nsys/export.json") as export:
        export["diagnostics"] = [
            {"severity": "Warning", "source": "Analysis", "text": text} for text in texts
        ]


@healthy
def warnings_of_python_and_torch(bench):
    text = "Warning: Profiler clears events at the end of each cycle.Only events from the current cycle will be reported."
    with bench.json("torch/eager/run.json") as record:
        record["warnings"] = [{"source": "python UserWarning", "text": text}]
    bench.write(
        "torch/eager/log.txt",
        f"UserWarning: {text}\nRecord counts: Out-of-range = 0, Dropped 0 records\n".encode(),
    )


@healthy
def a_trace_that_is_not_gzipped(bench):
    path = "torch/eager/trace.json.gz"
    bench.write(path, gzip.decompress((bench.case / path).read_bytes()))


@healthy
def process_and_thread_ids_as_text(bench):
    with bench.trace("eager") as trace:
        span = {
            "ph": "X",
            "cat": "Trace",
            "name": "PyTorch Profiler (0)",
            "pid": "Spans",
            "tid": "PyTorch Profiler",
        }
        trace["traceEvents"].append(span | {"ts": 1_000_000.0, "dur": 9.5, "args": {"Op count": 0}})
        for event in events(trace, "cpu_op", "cuda_runtime", "user_annotation"):
            event["pid"], event["tid"] = str(event["pid"]), str(event["tid"])


@healthy
def columns_that_older_exports_lack(bench):
    bench.sql(
        "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN graphNodeId",
        "ALTER TABLE CUPTI_ACTIVITY_KIND_MEMCPY DROP COLUMN graphNodeId",
        "DROP TABLE DIAGNOSTIC_EVENT",
    )


@healthy
def kernels_that_touch_and_start_with_their_launch(bench):
    with bench.trace("eager") as trace:
        first, second = events(trace, "kernel")[:2]
        calls = {e["args"]["correlation"]: e for e in events(trace, "cuda_runtime")}
        first["ts"] = calls[first["args"]["correlation"]]["ts"]
        first["dur"] = (round(second["ts"] * 1000) - round(first["ts"] * 1000)) / 1000


@healthy
def a_ruler_that_takes_exactly_its_least_time(bench):
    bench.ruler.variants["spin"] = [replace(bench.ruler.variants["spin"][0], ns=1_000_000)]


@healthy
def two_kernels_of_one_short_name_announced_together(bench):
    more = replace(bench.scenario.variants["fused"][1], symbol="_Z18fused_chain_vectorPKd", ns=50_000)
    bench.scenario.variants["fused"].append(more)
    bench.scenario.kernels["fused"]["fused_chain_vector"] = 2


@healthy
def a_variant_without_output(bench):
    for path in [*bench.case.rglob("run.json"), bench.case / "numerics.json"]:
        value = json.loads(path.read_text())
        value.get("output_sha256", {}).pop("copy", None)
        path.write_text(json.dumps(value))
    bench.rehash()


@healthy
def a_harmless_reason_for_a_lower_clock(bench):
    with bench.json("torch/eager/run.json") as record:
        record["nvml"]["before"]["throttle_reasons"] = ["gpu_idle"]


@healthy
def a_cupti_that_can_have_several_subscribers(bench):
    for name in ("run.json", "nsys/run.json", "torch/eager/run.json"):
        with bench.json(name) as record:
            record["probe"] |= {"regime": "multi", "result_alone": 1}


@healthy
def kernels_on_two_streams_at_the_same_time(bench):
    with bench.trace("eager") as trace:
        first, second = events(trace, "kernel")[:2]
        second["tid"] = second["args"]["stream"] = 20
        second["ts"] = first["ts"] + 10


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_capture_raises_no_alarm(tmp_path, name):
    bench = Bench(tmp_path)
    HEALTHY[name](bench)
    rows, verdict = bench.reconciled()
    assert [c for c in verdict["checks"] if c["status"] != "pass"] == []
    assert verdict["verdict"] == "verified"
    assert [r for r in rows if r["status"] != "verified"] == []
