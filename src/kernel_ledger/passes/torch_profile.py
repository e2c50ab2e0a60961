"""Pass torch: one variant, one torch.profiler session.  Writes trace.json.gz, key_averages.txt and .csv.

The tables are what users know; they count some times twice (Activity Buffer Request, compiled regions), so
the evidence is the trace.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch.profiler import ProfilerActivity, profile, record_function

from ..limits import BYTES_PER_EVENT, limits_of
from ..request import range_name
from .common import open_session, output_hashes, probe_clean, write_child

NS_PER_US = 1000
NAME_WIDTH = 120
COLUMNS = (
    "grouping",
    "name",
    "input_shapes",
    "count",
    "self_cpu_ns",
    "cpu_total_ns",
    "self_device_ns",
    "device_total_ns",
)


def run(request: Mapping[str, Any], warnings: list[dict[str, str]]) -> None:
    (variant,) = request["variants"]
    session = open_session(request, warnings)
    session.warm_up()
    probe = probe_clean(session)
    call, name = session.calls[variant], range_name(request, variant)
    session.group.barrier()
    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if session.on_cuda else [])]
    with profile(
        activities=activities,
        record_shapes=True,
        with_stack=request["torch"]["with_stack"],
        acc_events=True,  # one session, one cycle: without it torch warns that events of others are cleared
    ) as profiler:
        for _ in range(request["iterations"]):
            with record_function(name):
                call()
        session.synchronize()  # inside: the session must not end before its kernels have
    limits, events = limits_of(request), len(profiler.profiler.kineto_results.events())
    limits.check_events(events, session.output)
    limits.check_disk(events * BYTES_PER_EVENT, session.output, f"the trace of {events} events")
    too_many = events > limits.key_averages_events
    trace = session.file("trace.json.gz")
    profiler.export_chrome_trace(str(session.output / trace))
    files = [trace]
    if session.group.first:  # the tables are for people; each rank's evidence is its trace
        if too_many:
            skip_tables(session.output, skipped(events, limits.key_averages_events))
        else:
            write_tables(profiler, session.output, "device" if session.on_cuda else "cpu")
        files += ["key_averages.txt", "key_averages.csv"]
    if too_many:
        text = skipped(events, limits.key_averages_events)
        warnings.append({"source": "torch.profiler", "text": text})
    elif (count := announced(profiler, name)) != request["iterations"]:
        text = f"{name} was announced {request['iterations']} times; key_averages() counts {count}"
        warnings.append({"source": "torch.profiler", "text": text})
    write_child(session, probe=probe, output_sha256=output_hashes(session), files=files)


def on_device(row: Any) -> bool:
    """Whether a row of key_averages() is of the GPU: kernels, and annotations repeated on its time line."""
    return str(row.device_type).rpartition(".")[2] != "CPU"


def announced(profiler: profile, name: str) -> int:
    """How often key_averages() counts a range on the host."""
    return sum(row.count for row in profiler.key_averages() if row.key == name and not on_device(row))


def skipped(events: int, most: int) -> str:
    return (
        f"key_averages() was skipped: {events} events, more than limits.key_averages_events, {most}; "
        "it would take minutes, and the trace has all that it is made from"
    )


def skip_tables(folder: Path, reason: str) -> None:
    """The files of key_averages where it was not computed; both say why."""
    (folder / "key_averages.txt").write_text(f"{reason}\n")
    with (folder / "key_averages.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, COLUMNS)
        writer.writeheader()
        writer.writerow({"grouping": "skipped", "name": reason})


def write_tables(profiler: profile, folder: Path, device: str) -> None:
    """key_averages by self time, plain and by input shape, as text and (all rows, in ns) as CSV."""
    order = f"self_{device}_time_total"
    titles = {"plain": "by operator", "shapes": "by operator and input shapes"}
    groups = {
        "plain": profiler.key_averages(),
        "shapes": profiler.key_averages(group_by_input_shape=True),
    }
    texts = [
        f"{titles[grouping]}, sorted by self {device.upper()} time\n"
        + rows.table(sort_by=order, row_limit=-1, max_name_column_width=NAME_WIDTH)
        for grouping, rows in groups.items()
    ]
    (folder / "key_averages.txt").write_text("\n".join(texts))
    with (folder / "key_averages.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(COLUMNS)
        for grouping, rows in groups.items():
            for row in sorted(rows, key=lambda r: (-getattr(r, order), r.key, str(r.input_shapes))):
                writer.writerow(table_row(grouping, row))


def table_row(grouping: str, row: Any) -> list[Any]:
    """A row of key_averages(); torch's microseconds are floats of whole nanoseconds."""
    times = (row.self_cpu_time_total, row.cpu_time_total, row.self_device_time_total, row.device_time_total)
    shapes = str(row.input_shapes) if grouping == "shapes" else ""
    return [grouping, row.key, shapes, row.count, *(round(time * NS_PER_US) for time in times)]
