"""Generates a large Kineto trace from small recorded ones: structure kept, times and ids shifted.

The calls of three variants of the reference run are repeated one after another, as a long training loop would
write them, in Kineto's own layout.  The same seed and size give the same bytes.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

REFERENCE = Path("reports/h200-reference/captures/linear_chain/rows65536_dim1024")
VARIANTS = ("eager", "fused", "compiled")
EVENT = re.compile(r"\n  \{\n(.*?)\n  \}(?=,|\n)", re.DOTALL)
NUMBER = re.compile(r'("ts": |"dur": |"correlation": |"External id": |"id": |"Ev Idx": )([0-9.]+)')
HOST = re.compile(r'"pid": ([1-9][0-9]*), "tid": [1-9][0-9]*')
PROCESS = 4242
GAP_NS = 50_000
JITTER_NS = 400


@dataclass(frozen=True)
class Template:
    """One event with its numbers taken out: ``form`` % the numbers, each with the key that says how it shifts."""

    form: str
    keys: tuple[str, ...]
    values: tuple[int, ...]


def ns(text: str) -> int:
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int(part.ljust(3, "0"))


def us(value: int) -> str:
    return f"{value // 1000}.{value % 1000:03d}"


def template(text: str, offset: int) -> Template:
    text = HOST.sub(f'"pid": {PROCESS}, "tid": {PROCESS}', text)
    found = [(m[1].split('"')[1], m[2]) for m in NUMBER.finditer(text)]
    values = tuple(ns(v) - offset if k == "ts" else ns(v) if k == "dur" else int(float(v)) for k, v in found)
    form = NUMBER.sub(lambda m: m[1] + "%s", text.replace("%", "%%"))
    return Template(form, tuple(k for k, _ in found), values)


def recorded(path: Path) -> tuple[str, list[str]]:
    """(text before the first event, the complete and flow events) of a recorded trace."""
    text = gzip.decompress(path.read_bytes()).decode()
    head, _, rest = text.partition('"traceEvents": [')
    return head, [t for t in EVENT.findall(rest) if '"cat": ' in t and '"cat": "Trace"' not in t]


def block(captures: Path, variants: Sequence[str]) -> tuple[str, list[Template], int, int]:
    """(head, templates of one block, its length in ns, how many ids it uses)."""
    templates, begin, ids, head = [], 0, 0, ""
    for variant in variants:
        head, texts = recorded(captures / "torch" / variant / "trace.json.gz")
        times = [ns(m[2]) for t in texts for m in NUMBER.finditer(t) if m[1] == '"ts": ']
        shifted = [template(t, min(times) - begin) for t in texts]
        most = 0
        for t in shifted:
            values = tuple(
                v if k in ("ts", "dur") else v + ids for k, v in zip(t.keys, t.values, strict=True)
            )
            most = max(most, *(v for k, v in zip(t.keys, values, strict=True) if k not in ("ts", "dur")), 0)
            templates.append(Template(t.form, t.keys, values))
        begin += max(times) - min(times) + GAP_NS * 100
        ids = most + 1
    return head, templates, begin, ids


def pieces(captures: Path, variants: Sequence[str], repeats: int, seed: int) -> Iterator[str]:
    """The text of a trace in which the recorded calls of these variants stand ``repeats`` times."""
    head, templates, length, ids = block(captures, variants)
    random = Random(seed)
    base = random.randrange(10**15, 4 * 10**15)
    yield head.rstrip().removesuffix(",") + ',\n  "distributedInfo": {"rank": 0},\n  "traceEvents": ['
    separator = ""
    for repeat in range(repeats):
        shift, more = base + repeat * length, repeat * ids
        for t in templates:
            jitter = random.randrange(JITTER_NS) if '"cat": "kernel"' in t.form else 0
            numbers = tuple(
                us(v + shift) if k == "ts" else us(v + jitter) if k == "dur" else str(v + more)
                for k, v in zip(t.keys, t.values, strict=True)
            )
            yield f"{separator}\n  {{\n{t.form % numbers}\n  }}"
            separator = ","
    yield '\n  ],\n  "traceName": "benchmark.json"\n}'


def write(path: Path, captures: Path, events: int, seed: int) -> None:
    """Write a trace of about ``events`` events as plain JSON."""
    templates = block(captures, VARIANTS)[1]
    repeats = max(1, round(events / len(templates)))
    with path.open("w") as stream:
        buffer: list[str] = []
        for piece in pieces(captures, VARIANTS, repeats, seed):
            buffer.append(piece)
            if len(buffer) == 10_000:
                stream.write("".join(buffer))
                buffer.clear()
        stream.write("".join(buffer))


if __name__ == "__main__":
    import sys

    write(Path(sys.argv[1]), REFERENCE, int(sys.argv[2]), int(sys.argv[4]))
