"""Writes small, healthy captures for tests: both books from a few launches, in the tools' own formats.

A test describes launches, writes the capture, breaks one thing, and looks at the row and the verdict.
``template``: an nsys SQLite export whose tables are emptied and filled again, so that the real
``nsys stats`` reads the result too.
"""

from __future__ import annotations

import copy
import csv
import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from kernel_ledger.evidence import statistics
from kernel_ledger.files import sha256
from kernel_ledger.names import demangle
from kernel_ledger.nsys.tables import COLUMNS

TEMPLATE = Path(__file__).parent / "data" / "linear.sqlite"
MUL = (
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_13BinaryFunctorIfffNS0_15binary_internal10MulFunctorIfEEEE"
    "St5arrayIPcLm3EEEEviT0_T1_"
)
GEMM = (
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4"
    "_execute_kernel__5x_cublas"
)
FUSED = "_Z18fused_chain_vectorPKfS0_Pfffffl"
SPIN = "ruler_spin"
PID, TID, STREAM = 4242, 4242, 7
GLOBAL_PID = 281474976710656 + (PID << 24)
GLOBAL_TID = GLOBAL_PID + TID


@dataclass
class Launch:
    """One kernel (or copy) of a call; ``ns`` is its duration in torch, ``nsys_ns`` in nsys."""

    symbol: str
    operator: str
    ns: int
    nsys_ns: int | None = None
    grid: tuple = (1024, 1, 1)
    block: tuple = (256, 1, 1)
    level: str = "kernel"
    shapes: list = field(default_factory=lambda: [[1024, 1024]])
    bytes: int = 8388608


@dataclass
class Scenario:
    """A case: variants with the launches of one call.  Change any field before writing."""

    workload: str = "tiny"
    case: str = "n1024"
    iterations: int = 10
    device: str = "cuda"
    variants: dict[str, list[Launch]] = field(default_factory=dict)
    traffic: dict = field(default_factory=dict)
    kernels: dict = field(default_factory=dict)
    roles: dict = field(default_factory=dict)
    expectations: dict = field(default_factory=dict)
    elements: int | None = 1048576
    not_chain: list = field(default_factory=lambda: ["aten::addmm"])
    jitter: int = 0
    tamper: Callable[[str, list], list] | None = None

    def recorded(self, book: str, variants: list[str]) -> list:
        """What ``book`` ("torch" or "nsys") has of these variants; ``tamper`` may change what really happened."""
        happened = list(calls(self, book == "nsys", variants))
        return happened if self.tamper is None else self.tamper(book, happened)


def tiny() -> Scenario:
    """eager: a GEMM and two elementwise kernels; fused: the GEMM and one kernel of ours; copy: a memcpy."""
    gemm = Launch(GEMM, "aten::addmm", 2_700_000, grid=(512, 8, 1), block=(128, 1, 1))
    return Scenario(
        variants={
            "eager": [
                gemm,
                Launch(MUL, "aten::mul", 120_000),
                Launch(MUL.replace("Mul", "Add"), "aten::add", 130_000),
            ],
            "fused": [gemm, Launch(FUSED, "kernel_ledger::fused_chain", 90_000)],
            "copy": [Launch("Memcpy DtoD (Device -> Device)", "aten::copy_", 60_000, level="memory")],
        },
        traffic={
            "eager": {"reads": 3, "writes": 2},
            "fused": {"reads": 2, "writes": 1},
            "copy": {"reads": 1, "writes": 1},
        },
        kernels={"fused": {"fused_chain_vector": 1}},
        roles={"eager": "variant", "fused": "variant", "copy": "reference"},
    )


def ruler() -> Scenario:
    """One kernel that spins for a millisecond, announced in full."""
    launch = Launch(SPIN, "kernel_ledger::spin", 1_002_000, grid=(8, 1, 1), block=(32, 1, 1))
    known = {
        "kernel": SPIN,
        "launches": 1,
        "grid": [8, 1, 1],
        "block": [32, 1, 1],
        "least_ns": 1_000_000,
        "bytes": None,
    }
    return Scenario(
        workload="ruler",
        case="default",
        variants={"spin": [launch]},
        roles={"spin": "reference"},
        expectations={"spin": [known]},
        elements=None,
        not_chain=[],
    )


def written(root: Path, *scenarios: Scenario) -> Path:
    """Write captures and plan.json below ``root``; returns the captures folder."""
    captures = root / "captures"
    scenarios = scenarios or (tiny(), ruler())
    for scenario in scenarios:
        write_case(captures / scenario.workload / scenario.case, scenario)
    write_plan(captures / "plan.json", scenarios)
    return captures


def write_plan(path: Path, scenarios: tuple[Scenario, ...]) -> None:
    first = scenarios[0]
    tolerance = {
        "agreement_pct": 1.0,
        "short_kernel_ns": 20000,
        "short_kernel_extra_ns": 200,
        "rtol": 1e-5,
        "atol": 1e-6,
    }
    plan = {"format": 1, "version": "0.1.0", "device": first.device, "seed": 1, "warmup": 5, "iterations": first.iterations,
            "timeout_s": 900, "tolerance": tolerance, "cases": [planned(s) for s in scenarios]}  # fmt: skip
    path.write_text(json.dumps(plan))


def planned(s: Scenario) -> dict:
    launches = {v: sum(x.level == "kernel" for x in calls) for v, calls in s.variants.items()}
    return {"workload": s.workload, "file": f"workloads/{s.workload}.py", "source_sha256": "ab" * 32, "case": s.case,
            "parameters": {"n": 1024}, "variants": list(s.variants), "left_out": {}, "roles": s.roles, "launches": launches,
            "kernels": s.kernels, "traffic": s.traffic, "needs": {}, "elements": s.elements, "element_bytes": 4,
            "working_set": 100 << 20, "not_chain": s.not_chain, "clamp": None}  # fmt: skip


def write_case(folder: Path, s: Scenario) -> None:
    for variant in s.variants:
        place = folder / "torch" / variant
        place.mkdir(parents=True)
        write_trace(place / "trace.json.gz", trace(s, variant))
        (place / "key_averages.txt").write_text("a table for people\n")
        (place / "key_averages.csv").write_text("name\n")
        write_json(place / "run.json", record(s, f"torch/{variant}", place))
    write_nsys(folder / "nsys", s)
    write_json(folder / "numerics.json", numerics(s))
    write_json(folder / "timing.json", timing(s))
    write_json(folder / "run.json", record(s, "timing", folder, ("numerics.json", "timing.json")))


def write_json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value))


def calls(s: Scenario, nsys: bool, variants: list[str]):
    """(variant, iteration, position, launch, duration, start of the launch, start, end) in order of time."""
    host = gpu = 1_000_000_000
    correlation = 100
    for variant in variants:
        for iteration in range(s.iterations):
            begin = host
            events = []
            for launch in s.variants[variant]:
                base = launch.nsys_ns if nsys and launch.nsys_ns is not None else launch.ns
                duration = base + s.jitter * ((iteration * 7 + nsys * 3) % 5 - 2)
                host, correlation = host + 5_000, correlation + 1
                gpu = max(gpu + 1_000, host + 4_000)
                events.append((launch, correlation, host, gpu, gpu + duration))
                gpu += duration
            host += 10_000
            yield variant, iteration, begin, host, events
            host = max(host, gpu) + 2_000


def trace(s: Scenario, variant: str) -> dict:
    """A Kineto trace of one torch pass."""
    events: list[dict] = [
        {"ph": "M", "name": "process_name", "pid": PID, "tid": 0, "ts": 0, "args": {"name": "python"}}
    ]
    for _, _, begin, end, launches in s.recorded("torch", [variant]):
        events.append(complete("user_annotation", f"{s.workload}/{variant}", begin, end - begin, PID, TID))
        for launch, correlation, host, start, stop in launches:
            dims = {"Input Dims": launch.shapes, "External id": correlation}
            events.append(complete("cpu_op", launch.operator, host - 2_000, 5_000, PID, TID, dims))
            api = "cudaMemcpyAsync" if launch.level == "memory" else "cudaLaunchKernel"
            events.append(complete("cuda_runtime", api, host, 2_500, PID, TID, {"correlation": correlation}))
            events.append(gpu_event(launch, correlation, start, stop))
    return {"schemaVersion": 1, "traceEvents": events}


def gpu_event(launch: Launch, correlation: int, start: int, stop: int) -> dict:
    args = {"correlation": correlation, "device": 0, "stream": STREAM}
    if launch.level == "memory":
        return complete(
            "gpu_memcpy", launch.symbol, start, stop - start, 0, STREAM, args | {"bytes": launch.bytes}
        )
    args |= {"grid": list(launch.grid), "block": list(launch.block)}
    return complete("kernel", demangle(launch.symbol), start, stop - start, 0, STREAM, args)


def complete(
    cat: str, name: str, start: int, duration: int, pid: int, tid: int, args: dict | None = None
) -> dict:
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": start / 1000, "dur": duration / 1000,
            "args": args or {}}  # fmt: skip


def write_trace(path: Path, value: dict) -> None:
    path.write_bytes(gzip.compress(json.dumps(value).encode(), mtime=0))


def record(s: Scenario, name: str, folder: Path, files: tuple[str, ...] | None = None) -> dict:
    """run.json of a pass, with the hashes of what is in its folder."""
    names = (
        files
        if files is not None
        else tuple(p.name for p in sorted(folder.iterdir()) if p.name not in ("run.json", "export.json"))
    )
    if name == "nsys":
        names = ("report.nsys-rep", "log.txt")
    variants = [name.split("/")[1]] if "/" in name else list(s.variants)
    sample = {
        "sm_mhz": 1980,
        "memory_mhz": 3201,
        "power_w": 400.0,
        "temperature_c": 40,
        "throttle_reasons": [],
        "processes": [],
    }
    gpu = {"name": "NVIDIA H200", "uuid": "GPU-1", "l2_bytes": 60 << 20}
    versions = {"python": "3.12.3", "torch": "2.11.0", "cuda": "13.0", "cudnn": "9", "driver": "580", "nsys": "2025.3.1",
                "kernel_ledger": "0.1.0", "triton": "3.6.0", "nvcc": "13.0.88", "cupti": "130001"}  # fmt: skip
    return {
        "format": 1, "pass": name.split("/")[0], "command": ["python"], "exit_status": 0, "seconds": 1.0,
        "workload": s.workload, "case": s.case, "parameters": {"n": 1024}, "variants": variants, "device": s.device,
        "seed": 1, "warmup": 5, "iterations": s.iterations, "versions": versions, "gpu": gpu,
        "nvml": {"before": sample, "after": sample, "samples": [sample]}, "workload_sha256": "ab" * 32,
        "probe": {"result": 39 if name == "nsys" else 0, "regime": "exclusive", "reason": None, "injection": []},
        "announced": {f"{s.workload}/{v}": s.iterations for v in variants},
        "output_sha256": {v: "cd" * 32 for v in variants},
        "tf32": {"matmul_allow_tf32": False, "cudnn_allow_tf32": False, "float32_matmul_precision": "highest"},
        "expectations": {v: s.expectations[v] for v in variants if v in s.expectations},
        "warnings": [], "files": {n: sha256(folder / n) for n in names},
    }  # fmt: skip


def numerics(s: Scenario) -> dict:
    entry = {"shape": [1024], "dtype": "float32", "sha256": "cd" * 32, "nan_count": 0, "agrees": True, "first_disagreement": None,
             "error_l2": 1e-7, "error_max": 1e-6}  # fmt: skip
    run = record(s, "numerics", Path(), ())
    compared = [v for v in s.variants if s.roles.get(v) == "variant"]
    return {
        "format": 1,
        "run": run,
        "rtol": 1e-5,
        "atol": 1e-6,
        "tf32": False,
        "variants": {v: copy.deepcopy(entry) for v in compared},
    }


def timing(s: Scenario) -> dict:
    samples = {v: sum(x.ns for x in launches) + 10_000 for v, launches in s.variants.items()}
    entries = {
        v: {"samples_ns": [t, t + 100, t - 100], "median_ns": t, "mad_ns": 100} for v, t in samples.items()
    }
    return {"format": 1, "run": record(s, "timing", Path(), ()), "variants": entries, "timer": "cuda_event"}


def write_nsys(folder: Path, s: Scenario) -> None:
    folder.mkdir(parents=True)
    write_sqlite(folder / "report.sqlite", s)
    write_csvs(folder, s)
    (folder / "report.nsys-rep").write_bytes(b"a binary report")
    (folder / "log.txt").write_text("recorded\n")
    write_json(folder / "run.json", record(s, "nsys", folder))
    write_export(folder)


def write_export(folder: Path) -> None:
    """export.json as the export writes it, for the files as they are."""
    reports = {p.name: {"status": "ok", "reason": None, "rows": 1, "success_line": "done", "sha256": sha256(p)}
               for p in sorted(folder.glob("*.csv"))}  # fmt: skip
    sqlite = {
        "sha256": sha256(folder / "report.sqlite"),
        "exporter_version": "2025.3.1",
        "recorder_version": "2025.3.1",
    }
    value = {"format": 1, "nsys": {"path": "nsys", "version": "2025.3.1"}, "report_sha256": sha256(folder / "report.nsys-rep"),
             "reports": reports, "sqlite": sqlite, "warnings": [], "diagnostics": []}  # fmt: skip
    write_json(folder / "export.json", value)


EMPTIED = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "PROFILER_OVERHEAD", "DIAGNOSTIC_EVENT",
           "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "StringIds", "ThreadNames")  # fmt: skip
MEMCPY = """CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
 greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, bytes INTEGER, copyKind INTEGER,
 deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER,
 dstContextId INTEGER, migrationCause INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, copyCount INTEGER)"""
DEVICE_TO_DEVICE = 8


def write_sqlite(path: Path, s: Scenario) -> None:
    """report.sqlite with the scenario's launches inside the ranges of the domain kernel_ledger."""
    shutil.copyfile(TEMPLATE, path)
    path.chmod(0o644)
    connection = sqlite3.connect(path)
    for table in EMPTIED:
        connection.execute(f"DELETE FROM {table}")
    connection.execute(MEMCPY)
    strings: dict[str, int] = {}

    def string(text: str) -> int:
        return strings.setdefault(text, len(strings))

    def insert(table: str, **values: object) -> None:
        columns, marks = ", ".join(f'"{k}"' for k in values), ", ".join("?" * len(values))
        connection.execute(f"INSERT INTO {table} ({columns}) VALUES ({marks})", tuple(values.values()))

    insert("NVTX_EVENTS", start=0, eventType=75, text="kernel_ledger", globalTid=GLOBAL_TID, domainId=1)
    for variant, _, begin, end, launches in s.recorded("nsys", list(s.variants)):
        insert(
            "NVTX_EVENTS",
            start=begin,
            end=end,
            eventType=59,
            text=f"{s.workload}/{variant}",
            globalTid=GLOBAL_TID,
            domainId=1,
        )
        for launch, correlation, host, start, stop in launches:
            memory = launch.level == "memory"
            api = string("cudaMemcpyAsync_v3020" if memory else "cudaLaunchKernel_v7000")
            insert("CUPTI_ACTIVITY_KIND_RUNTIME", start=host, end=host + 2_500, eventClass=0, globalTid=GLOBAL_TID,
                   correlationId=correlation, nameId=api, returnValue=0)  # fmt: skip
            common = {"start": start, "end": stop, "deviceId": 0, "contextId": 1, "streamId": STREAM,
                      "correlationId": correlation,
                      "globalPid": GLOBAL_PID}  # fmt: skip
            if memory:
                insert(
                    "CUPTI_ACTIVITY_KIND_MEMCPY",
                    **common,
                    bytes=launch.bytes,
                    copyKind=DEVICE_TO_DEVICE,
                    srcKind=2,
                    dstKind=2,
                )
                continue
            grid = dict(
                zip(
                    ("gridX", "gridY", "gridZ", "blockX", "blockY", "blockZ"),
                    launch.grid + launch.block,
                    strict=True,
                )
            )
            insert("CUPTI_ACTIVITY_KIND_KERNEL", **common, **grid, demangledName=string(demangle(launch.symbol)),
                   shortName=string(launch.symbol[:20]), mangledName=string(launch.symbol), launchType=1, cacheConfig=1,
                   registersPerThread=32, staticSharedMemory=0, dynamicSharedMemory=0, localMemoryPerThread=0,
                   localMemoryTotal=0, gridId=correlation, sharedMemoryExecuted=0, sharedMemoryLimitConfig=0)  # fmt: skip
    for text, number in strings.items():
        insert("StringIds", id=number, value=text)
    connection.commit()
    connection.close()


def write_csvs(folder: Path, s: Scenario) -> None:
    """The five CSVs of `nsys stats`, computed from the same launches."""
    kernels: dict[tuple[str | None, str], list[int]] = {}
    hosts: dict[str, list[int]] = {}
    spans: dict[str, list[int]] = {}
    for variant, _, begin, end, launches in s.recorded("nsys", list(s.variants)):
        hosts.setdefault(variant, []).append(end - begin)
        projected = [
            launch for launch in launches if launch[2] <= end
        ]  # nsys leaves out what the range did not launch
        if projected:
            spans.setdefault(variant, []).append(projected[-1][4] - projected[0][3])
        for launch, _, host, start, stop in launches:
            if launch.level == "kernel":
                inside = variant if host <= end else None
                kernels.setdefault((inside, launch.symbol), []).append(stop - start)
    spread = lambda d: ["1.0", sum(d), len(d), round(sum(d) / len(d), 1), *shape(d)]  # noqa: E731
    by_range = [
        [*spread(d), symbol if v is None else f"{s.workload}/{v}/{symbol}"]
        for (v, symbol), d in kernels.items()
    ]
    merged: dict[str, list[int]] = {}
    for (_, symbol), d in kernels.items():
        merged.setdefault(symbol, []).extend(d)
    rows = {
        "nvtx_sum.csv": [[*spread(d), "PushPop", f"kernel_ledger:{s.workload}/{v}"] for v, d in hosts.items()],
        "nvtx_gpu_proj_sum.csv": [
            [f"kernel_ledger:{s.workload}/{v}", "PushPop", sum(d), sum(hosts[v]), len(d), round(sum(d) / len(d), 1), *shape(d),
             len(d), "1.0", "0.0", "0.0"] for v, d in spans.items()
        ],
        "nvtx_kern_sum.csv": [
            [f"kernel_ledger:{s.workload}/{v}", "PushPop", PID, TID, s.iterations, len(d), sum(d), *spread(d)[3:],
             demangle(symbol)] for (v, symbol), d in kernels.items() if v is not None
        ],
        "cuda_gpu_kern_sum.csv": [[*spread(d), demangle(symbol)] for symbol, d in merged.items()],
        "cuda_gpu_kern_sum_by_range.csv": by_range,
    }  # fmt: skip
    for name, lines in rows.items():
        with (folder / name).open("w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows([COLUMNS[name], *lines])


def shape(durations: list[int]) -> list:
    """Med, Min, Max, StdDev as nsys prints them."""
    stats = statistics(durations)
    return [
        float(stats.median),
        stats.least,
        stats.most,
        "" if stats.stddev is None else round(stats.stddev, 1),
    ]
