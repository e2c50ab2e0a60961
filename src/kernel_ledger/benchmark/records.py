"""Writes reports/benchmark/: the measurements, the bars, a picture of both, and the machine."""

from __future__ import annotations

import csv
import io
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from math import log10
from pathlib import Path

from ..files import write_json, write_text
from .bars import Bar
from .measure import Measurement

HEADER = ("what", "size", "seconds", "process_s", "cpu_s", "peak_mb", "runs", "kernels", "total_ns")
PACKAGES = ("msgspec", "numpy", "isal", "torch")
ROW, LEFT, WIDTH, RIGHT = 20, 260, 420, 150
LEAST_S = 0.01


def write_large(
    folder: Path, found: Sequence[Measurement], bars: Sequence[Bar], machine: Mapping[str, object]
) -> None:
    """large.csv, bars.csv, large.svg and machine.json."""
    write_text(folder / "large.csv", table(HEADER, map(measurement_row, found)))
    write_text(
        folder / "bars.csv",
        table(
            ("what", "value", "sense", "limit", "holds"),
            ((b.what, f"{b.value:.3g}", b.sense, f"{b.limit:g}", str(b.holds).lower()) for b in bars),
        ),
    )
    write_text(folder / "large.svg", picture([m for m in found if m.answer or m.seconds]))
    write_json(folder / "machine.json", machine)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return stream.getvalue()


def measurement_row(one: Measurement) -> tuple:
    answer = one.answer
    numbers = (f"{one.seconds:.3f}", f"{one.process_s:.3f}", f"{one.cpu_s:.3f}", f"{one.peak_mb:.0f}")
    return (one.what, one.size, *numbers, one.runs, answer.get("kernels", ""), answer.get("total_ns", ""))


def picture(found: Sequence[Measurement]) -> str:
    """Bars of the seconds, on a logarithmic axis from 10 ms on."""
    most = max(log10(m.seconds / LEAST_S) for m in found)
    height = ROW * len(found) + 30
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{height}" '
        'font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="white"/>',
        f'<text x="{LEFT}" y="16">seconds (logarithmic), best of the runs, and peak memory</text>',
    ]
    for i, one in enumerate(found):
        y = 24 + i * ROW
        width = max(1.0, WIDTH * log10(max(one.seconds, LEAST_S) / LEAST_S) / most)
        colour = "#3b6fb6" if one.what.startswith(("kineto_", "nsys_", "run_")) else "#b0b0b0"
        label = f"{one.what}, {one.size:,}"
        parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(label)}</text>')
        parts.append(f'<rect x="{LEFT}" y="{y + 2}" width="{width:.1f}" height="{ROW - 6}" fill="{colour}"/>')
        text = f"{one.seconds:.2f} s, {one.peak_mb:.0f} MB"
        parts.append(f'<text x="{LEFT + width + 6:.1f}" y="{y + 13}">{text}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def machine(peers: Mapping[str, str]) -> dict[str, object]:
    """Where the figures were taken.  ``peers``: name -> version of what ours was compared with."""
    return {
        "format": 1,
        "cpu": cpu_name(),
        "cpus": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "load_average": [round(value, 2) for value in os.getloadavg()],
        "python": platform.python_version(),
        "kernel": platform.release(),
        "packages": {name: found for name in PACKAGES if (found := installed(name))},
        "peers": dict(peers),
    }


def cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.machine()
    )


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
