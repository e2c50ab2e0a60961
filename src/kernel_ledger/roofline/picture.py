"""roofline.svg: points with bytes and FLOPs under the run's roofs; below, kernels of which only the bytes are known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import floor, log10
from typing import Any

from ..names import base_name
from ..stacks.svg import inert

WIDTH, HEIGHT, LEFT, TOP, BAR = 900, 420, 90, 50, 18
COLOURS = ("#1b6ca8", "#b4530a", "#2e7d32", "#7b3fa0", "#a61c3c", "#4a4a4a")
Row = Mapping[str, Any]


def picture(title: str, points: Sequence[Row]) -> str:
    """SVG text; equal input gives equal text."""
    placed = [p for p in points if p["intensity"] and p["flops_per_s"]]
    bars = [p for p in points if p["bytes_per_s"] and not p["flops"] and p["fraction_of_roof"]]
    height = HEIGHT + 40 + BAR * max(1, len(bars)) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="sans-serif" font-size="11" fill="#111111">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="12" y="22" font-size="15">{inert(title)}: roofs measured in this run</text>',
        *(plot(placed) if placed else none("no kernel of this run has both bytes and FLOPs known", TOP + 30)),
        f'<text x="12" y="{HEIGHT + 24}" font-size="13">Only bytes known: share of the copy bandwidth</text>',
        *(line for number, p in enumerate(bars) for line in bar(p, HEIGHT + 40 + BAR * number)),
        *([] if bars else none("none", HEIGHT + 46)),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def none(text: str, y: int) -> list[str]:
    return [f'<text x="{LEFT}" y="{y}" fill="#555555">{inert(text)}</text>']


def plot(points: Sequence[Row]) -> Iterator[str]:
    """The log-log part: x FLOP a byte, y FLOP/s."""
    roofs = sorted({(p["copy_bytes_per_s"], p["gemm_flops_per_s"], p["dtype"] or "") for p in points
                    if p["copy_bytes_per_s"] and p["gemm_flops_per_s"]})  # fmt: skip
    xs = [p["intensity"] for p in points] + [gemm / copy for copy, gemm, _ in roofs]
    ys = [p["flops_per_s"] for p in points] + [gemm for _, gemm, _ in roofs]
    x0, x1 = floor(log10(min(xs))) - 1, floor(log10(max(xs))) + 1
    y0, y1 = floor(log10(min(ys))) - 1, floor(log10(max(ys))) + 1
    bottom, right = HEIGHT - 40, WIDTH - 30

    def x(value: float) -> float:
        return LEFT + (log10(value) - x0) / (x1 - x0) * (right - LEFT)

    def y(value: float) -> float:
        return bottom - (log10(value) - y0) / (y1 - y0) * (bottom - TOP)

    for power in range(x0, x1 + 1):
        yield f'<line x1="{x(10**power):.1f}" y1="{TOP}" x2="{x(10**power):.1f}" y2="{bottom}" stroke="#dddddd"/>'
        yield f'<text x="{x(10**power):.1f}" y="{bottom + 16}" text-anchor="middle">{10**power:g}</text>'
    for power in range(y0, y1 + 1):
        yield f'<line x1="{LEFT}" y1="{y(10**power):.1f}" x2="{right}" y2="{y(10**power):.1f}" stroke="#dddddd"/>'
        yield f'<text x="{LEFT - 6}" y="{y(10**power) + 4:.1f}" text-anchor="end">{10 ** (power - 12):g} T</text>'
    yield f'<text x="{(LEFT + right) / 2}" y="{bottom + 32}" text-anchor="middle">FLOP a byte</text>'
    yield f'<text x="14" y="{(TOP + bottom) / 2}" transform="rotate(-90 14 {(TOP + bottom) / 2})">FLOP/s</text>'
    for copy, gemm, dtype in roofs:
        low = max(10.0**x0, 10.0**y0 / copy)
        corner = gemm / copy
        path = f"{x(low):.1f},{y(low * copy):.1f} {x(corner):.1f},{y(gemm):.1f} {right},{y(gemm):.1f}"
        yield f'<polyline points="{path}" fill="none" stroke="#666666" stroke-width="1.5"/>'
        yield f'<text x="{right}" y="{y(gemm) - 5:.1f}" text-anchor="end">{inert(dtype)} GEMM {gemm / 1e12:.3g} TFLOP/s</text>'
    cases = list(dict.fromkeys((p["workload"], p["case"]) for p in points))
    for p in points:
        colour = COLOURS[cases.index((p["workload"], p["case"])) % len(COLOURS)]
        told = f"{label(p)}: {p['flops_per_s'] / 1e12:.3g} TFLOP/s at {p['intensity']:.3g} FLOP a byte"
        yield (
            f'<circle cx="{x(p["intensity"]):.1f}" cy="{y(p["flops_per_s"]):.1f}" r="4.5" fill="{colour}">'
            f"<title>{inert(told)}</title></circle>"
        )


def bar(p: Row, y: int) -> Iterator[str]:
    """One line of the lower part; a share above 1 is drawn to its length."""
    start, length = 420, 300 * min(1.4, p["fraction_of_roof"])
    yield f'<text x="{start - 6}" y="{y + 12}" text-anchor="end">{inert(label(p)[-62:])}</text>'
    yield f'<rect x="{start}" y="{y + 2}" width="{length:.1f}" height="{BAR - 5}" fill="{COLOURS[0]}"/>'
    yield f'<text x="{start + length + 5:.1f}" y="{y + 12}">{p["fraction_of_roof"]:.1%}</text>'


def label(p: Row) -> str:
    name = base_name(p["name"]) if p["level"] == "kernel" else p["name"]
    return f"{p['workload']}/{p['case']}/{p['variant']} {name[:40]}"
