"""The result table's columns, each declared once: name, type, unit, meaning, and the levels it is for.

The header, the validation of every row, results.schema.json and docs derive from this list.
"""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = ("block", "chain", "range", "operator", "kernel", "memory")
STATUSES = ("verified", "disagree", "torch_only", "nsys_only", "unknown", "not_applicable")
GPU_OPS = ("block", "chain", "operator", "kernel", "memory")


@dataclass(frozen=True)
class Column:
    """``levels``: where a value is due; an empty cell there needs a reason, elsewhere it says nothing."""

    name: str
    type: str
    meaning: str
    levels: tuple[str, ...] = ()
    unit: str | None = None


COLUMNS = (
    Column("run", "string", "name of the run folder"),
    Column("workload", "string", "name of the workload"),
    Column("case", "string", "the workload's parameters, as a file name"),
    Column(
        "variant", "string", "the spelling of the function; empty for GPU work outside every announced range"
    ),
    Column(
        "level",
        "string",
        "block: a variant's whole call; chain: its memory-bound part; range: its NVTX range; "
        "operator: a PyTorch operator that launched kernels itself; kernel; memory: memcpy or memset",
    ),
    Column("name", "string", "demangled kernel name, operator, range or variant"),
    Column("symbol", "string", "the kernel's symbol as nsys records it (mangled where it is mangled)"),
    Column("operator", "string", "operator whose call launched the kernel, else the enclosing range"),
    Column("input_shapes", "string", "shapes that torch.profiler recorded for the operator, as JSON"),
    Column("grid", "string", "blocks of a launch as XxYxZ"),
    Column("block", "string", "threads of a block as XxYxZ"),
    Column(
        "rank", "integer", "process of a group that torchrun started, from 0; 0 where there is one process"
    ),
    Column("device", "string", "where that process ran, as torch names it: cuda:0, cpu"),
    Column("iterations", "integer", "calls of the variant in each recorded pass", LEVELS),
    Column("expected_count", "integer", "launches (range: instances) that the program announced beforehand"),
    Column("torch_count", "integer", "launches (range: instances) in the torch.profiler trace", LEVELS),
    Column("nsys_count", "integer", "launches (range: instances) in the Nsight Systems capture", LEVELS),
    Column("torch_total_ns", "number", "sum of GPU durations in the trace", GPU_OPS, "ns"),
    Column(
        "torch_median_ns",
        "number",
        "median duration (block, chain: of the GPU time of one call)",
        GPU_OPS,
        "ns",
    ),
    Column("torch_min_ns", "number", "least duration in the trace", GPU_OPS, "ns"),
    Column("torch_max_ns", "number", "greatest duration in the trace", GPU_OPS, "ns"),
    Column("nsys_total_ns", "number", "sum of GPU durations in the capture", GPU_OPS, "ns"),
    Column(
        "nsys_median_ns",
        "number",
        "median duration (block, chain: of the GPU time of one call)",
        GPU_OPS,
        "ns",
    ),
    Column("nsys_min_ns", "number", "least duration in the capture", GPU_OPS, "ns"),
    Column("nsys_max_ns", "number", "greatest duration in the capture", GPU_OPS, "ns"),
    Column("nsys_stddev_ns", "number", "sample standard deviation of the durations", GPU_OPS, "ns"),
    Column("event_median_ns", "number", "median call by CUDA events, unprofiled process", ("block",), "ns"),
    Column("event_mad_ns", "number", "median absolute deviation of those calls", ("block",), "ns"),
    Column("event_samples", "integer", "calls timed by CUDA events", ("block",)),
    Column("host_ns", "number", "median push-to-pop time of the range on the host", ("range",), "ns"),
    Column(
        "gpu_span_ns", "number", "median time from a call's first GPU operation to its last", ("range",), "ns"
    ),
    Column("gpu_busy_ns", "number", "median union of a call's GPU operations", ("range",), "ns"),
    Column("difference_pct", "number", "100 x (torch median - nsys median) / nsys median", GPU_OPS, "%"),
    Column("tolerance_pct", "number", "greatest difference that still balances", GPU_OPS, "%"),
    Column("status", "string", ", ".join(STATUSES), LEVELS),
    Column("reason", "string", "why a cell is empty, or why the row does not balance"),
    Column("model_bytes", "integer", "bytes that the traffic model says one call must move", (), "byte"),
    Column("achieved_bytes_per_s", "number", "model_bytes over the nsys median", (), "byte/s"),
    Column("copy_bytes_per_s", "number", "a copy of the same tensors in the same nsys process", (), "byte/s"),
    Column("fraction_of_copy", "number", "achieved_bytes_per_s over copy_bytes_per_s"),
    Column("cache_resident", "boolean", "the case's working set fits the GPU's L2: not a memory benchmark"),
    Column("torch_source", "string", "trace file in the case's folder @ first 12 digits of its SHA-256"),
    Column("nsys_source", "string", "nsys file in the case's folder @ first 12 digits of its SHA-256"),
)
NAMES = tuple(c.name for c in COLUMNS)
BY_NAME = {c.name: c for c in COLUMNS}
LATER = {"rank": 0, "device": None}
"""Columns that came after the first tables, and what a table without them means: before there were groups, a case
was one process, rank 0, and where it ran only its captures say.  An older run stays readable without a replay."""
KEY = ("workload", "case", "variant", "level", "name", "rank")


def table_schema() -> dict:
    """results.schema.json: a Frictionless Table Schema (https://specs.frictionlessdata.io/table-schema/)."""
    enums = {"level": LEVELS, "status": STATUSES}
    fields = []
    for column in COLUMNS:
        described = {"name": column.name, "type": column.type, "description": column.meaning}
        if column.unit:
            described["unit"] = column.unit
        if column.levels:
            described["levels"] = list(column.levels)
        if column.name in enums:
            described["constraints"] = {"enum": list(enums[column.name])}
        fields.append(described)
    return {"format": 1, "fields": fields, "missingValues": [""], "primaryKey": list(KEY)}
