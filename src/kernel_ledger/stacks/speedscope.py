"""A file that https://www.speedscope.app opens: one sampled profile, a stack's weight in ns."""

from __future__ import annotations

import json

from .samples import Stacks

SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def speedscope(title: str, found: Stacks) -> str:
    """JSON text; equal input gives equal text."""
    names = list(dict.fromkeys(name for frames in found.weights for name in frames))
    place = {name: number for number, name in enumerate(names)}
    samples = [[place[name] for name in frames] for frames in found.weights]
    weights = list(found.weights.values())
    profile = {"type": "sampled", "name": f"{title}: {found.measure}", "unit": "nanoseconds", "startValue": 0,
               "endValue": sum(weights), "samples": samples, "weights": weights}  # fmt: skip
    value = {"$schema": SCHEMA, "exporter": "kernel-ledger", "name": title, "activeProfileIndex": 0,
             "shared": {"frames": [{"name": name} for name in names]}, "profiles": [profile]}  # fmt: skip
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
