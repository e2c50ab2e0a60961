"""Captures of two ranks for tests: rank 1 comes to everything a little later, and waits for nobody in the all-reduce."""

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import capture_factory as factory
from capture_factory import GEMM, PID, Launch, Scenario

ALL_REDUCE = "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
LATE_NS = 50_000
EPOCH = 1_790_000_000_000_000_000
STEP = 1 << 24
COPIED = ("NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_KERNEL")


def step() -> Scenario:
    """A GEMM and an all-reduce; of the latter nsys has times that are a tenth longer."""
    return Scenario(
        workload="step",
        case="two",
        variants={
            "sequential": [
                Launch(GEMM, "aten::addmm", 2_700_000, grid=(512, 8, 1), block=(128, 1, 1)),
                Launch(
                    ALL_REDUCE,
                    "nccl:all_reduce",
                    300_000,
                    nsys_ns=330_000,
                    grid=(24, 1, 1),
                    block=(544, 1, 1),
                ),
            ]
        },
        roles={"sequential": "variant"},
        elements=None,
        not_chain=[],
    )


def late(happened: list, by: int = LATE_NS) -> list:
    """The same calls of a rank that comes later: all else is moved, an all-reduce ends when it does everywhere."""
    return [
        (variant, number, begin + by, end + by, [
            (launch, correlation, host + by, start + by, stop if launch.symbol == ALL_REDUCE else stop + by)
            for launch, correlation, host, start, stop in events
        ])
        for variant, number, begin, end, events in happened
    ]  # fmt: skip


def ranks_of(scenario: Scenario) -> list[Scenario]:
    """The two ranks of a scenario; ``tamper`` of the given one is kept for rank 1 only."""
    first = replace(scenario, tamper=None)
    tamper = scenario.tamper or (lambda book, happened: happened)
    return [first, replace(scenario, tamper=lambda book, happened: tamper(book, late(happened)))]


def written(root: Path, scenario: Scenario | None = None, change=None) -> Path:
    """Write the capture and plan.json below ``root``; ``change``: alters each record before it is written."""
    one, other = ranks_of(scenario or step())
    both = replace(one, tamper=lambda book, happened: [*happened, *other.recorded(book, list(one.variants))])
    captures = root / "captures"
    folder = captures / one.workload / one.case
    change = change or (lambda name, record: record)

    def record(name, place, files=None):
        return change(name, with_ranks(factory.record(one, name, place, files)))

    for variant in one.variants:
        place = folder / "torch" / variant
        place.mkdir(parents=True)
        for rank, (part, name) in enumerate([(one, "trace.json.gz"), (other, "trace.rank-1.json.gz")]):
            beside = {"baseTimeNanoseconds": EPOCH, "distributedInfo": {"backend": "nccl", "rank": rank}}
            factory.write_trace(place / name, beside | factory.trace(part, variant))
        (place / "key_averages.txt").write_text("a table for people\n")
        (place / "key_averages.csv").write_text("name\n")
        factory.write_json(place / "run.json", record(f"torch/{variant}", place))
    write_nsys(folder / "nsys", one, other, both, record)
    for name in ("numerics.json", "numerics.rank-1.json"):
        factory.write_json(folder / name, {**factory.numerics(one), "run": record("numerics", Path(), ())})
    names = ["numerics.json", "numerics.rank-1.json", "timing.json", "timing.rank-1.json"]
    for name in names[2:]:
        factory.write_json(folder / name, factory.timing(one))
    factory.write_json(folder / "run.json", record("timing", folder, tuple(names)))
    factory.write_plan(captures / "plan.json", (one,))
    plan = json.loads((captures / "plan.json").read_text())
    plan["cases"][0] |= {"world_size": 2, "launches": {}}
    factory.write_json(captures / "plan.json", plan)
    return captures


def with_ranks(record: dict) -> dict:
    """A record in which two ranks tell of themselves."""
    told = [
        {
            "rank": rank,
            "pid": PID + rank,
            "gpu": {**record["gpu"], "index": rank, "uuid": f"GPU-{rank + 1}"},
            **{key: record[key] for key in ("probe", "output_sha256", "nvml")},
        }
        for rank in range(2)
    ]
    return {**record, "gpu": told[0]["gpu"], "ranks": told}


def write_nsys(folder: Path, one: Scenario, other: Scenario, both: Scenario, record) -> None:
    """One report of both processes."""
    folder.mkdir(parents=True)
    factory.write_sqlite(folder / "report.sqlite", one)
    second = folder / "second.sqlite"
    factory.write_sqlite(second, other)
    connection = sqlite3.connect(folder / "report.sqlite")
    connection.execute("ATTACH ? AS other", (str(second),))
    for table in COPIED:
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        moved = {"globalTid": f"globalTid + {STEP}", "globalPid": f"globalPid + {STEP}", "deviceId": "1"}
        chosen = ", ".join(moved.get(column, f'"{column}"') for column in columns)
        connection.execute(f"INSERT INTO {table} SELECT {chosen} FROM other.{table}")
    connection.commit()
    connection.close()
    second.unlink()
    factory.write_csvs(folder, both)
    (folder / "report.nsys-rep").write_bytes(b"a binary report")
    (folder / "log.txt").write_text("recorded\n")
    factory.write_json(folder / "run.json", record("nsys", folder))
    factory.write_export(folder)
