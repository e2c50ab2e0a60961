"""A flame graph as SVG: no script, no link, nothing loaded; each frame tells its name and time when it is pointed at."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from ..report.numbers import duration, on_one_line
from .samples import Stacks

WIDTH, ROW, TOP, CHARACTER = 1200, 18, 44, 6.6
LEAST = 0.3  # narrower frames are not drawn


@dataclass
class Node:
    name: str
    weight: int = 0
    inner: dict[str, Node] = field(default_factory=dict)

    def depth(self) -> int:
        return 1 + max((node.depth() for node in self.inner.values()), default=0)


def tree(found: Stacks) -> Node:
    """All stacks as one tree."""
    root = Node("all", sum(found.weights.values()))
    for frames, weight in found.weights.items():
        node = root
        for name in frames:
            node = node.inner.setdefault(name, Node(name))
            node.weight += weight
    return root


def flame_graph(title: str, found: Stacks) -> str:
    """The SVG text; the outermost frame is on top, a wider one took longer, equal input gives equal text."""
    root = tree(found)
    height = TOP + ROW * root.depth() + 8
    heading = f"{title}: {found.measure}, {duration(root.weight)} in all recorded calls"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="monospace" font-size="11">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        f'<text x="8" y="24" font-size="14" fill="#111111">{inert(heading)}</text>',
        *boxes(root, 0.0, TOP, WIDTH / max(1, root.weight), root.weight),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def boxes(node: Node, x: float, y: int, scale: float, whole: int) -> Iterator[str]:
    """The box of a node, then those of its children, heaviest first."""
    width = node.weight * scale
    if width < LEAST:
        return
    told = f"{node.name}: {duration(node.weight)}, {node.weight / max(1, whole):.1%}"
    room = int((width - 6) / CHARACTER)
    label = node.name if len(node.name) <= room else node.name[: room - 1] + "…" if room > 3 else ""
    yield (
        f'<g><title>{inert(told)}</title><rect x="{x:.2f}" y="{y}" width="{width:.2f}" height="{ROW - 1}"'
        f' fill="{colour(node.name)}" stroke="#ffffff" stroke-width="0.4"/>'
        f'<text x="{x + 3:.2f}" y="{y + 12}" fill="#111111">{inert(label)}</text></g>'
    )
    for inner in sorted(node.inner.values(), key=lambda n: (-n.weight, n.name)):
        yield from boxes(inner, x, y + ROW, scale, whole)
        x += inner.weight * scale


def colour(name: str) -> str:
    """A light colour of a name's own, the same in every picture; dark text reads on all of them."""
    number = zlib.crc32(name.encode("utf-8", "replace"))
    return f"hsl({20 + number % 40}, {55 + number // 40 % 25}%, {72 + number // 1000 % 12}%)"


def inert(text: str) -> str:
    """Text that is text in XML whatever it holds."""
    return escape(on_one_line(text), {'"': "&quot;", "'": "&#39;"})
