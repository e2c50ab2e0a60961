"""Which GPU a pass gets where there are several: all passes of a case the same one, cases spread over the others.

The first pass of a case, numerics, takes a GPU that nobody holds; its record says which, and the other passes of
the case wait for that one, since a kernel's two books are only comparable where one GPU wrote both.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .errors import EvidenceError, MachineError
from .files import read_json
from .repeats import count, schedule

CAP = "KERNEL_LEDGER_GPUS"  # how many GPUs the workflow may use at once; set by workflow/rules/common.smk


@dataclass(frozen=True)
class Choice:
    """``pinned``: UUID of the GPU that the case's first pass ran on; ``model``: what the configuration asks for;
    ``cases``: how many other cases of the run are at work on a GPU; ``spread``: whether to keep out of their way.
    ``count``: GPUs of a group of ranks, one each; ``ranks``: those that the case's first pass ran on, by rank."""

    pinned: str | None = None
    model: str | None = None
    cases: Mapping[str, int] = field(default_factory=dict)
    spread: bool = False
    label: str = "this case"
    count: int = 1
    ranks: tuple[str, ...] = ()

    def several(self, gpus: Sequence[Mapping[str, Any]]) -> list[str]:
        """UUIDs of the GPUs of a group, by rank.  Raises MachineError where there are too few."""
        if self.pinned is None:
            chosen = self.order(gpus)[: self.count]
        else:
            chosen = [uuid for rank in self.ranks for uuid in replace(self, pinned=rank).order(gpus)]
        if len(chosen) != self.count:
            raise MachineError(
                "there is no GPU for each rank",
                where=self.label,
                expected=f"{self.count} GPUs",
                found=listed(gpus),
                next_step="choose a smaller world_size for the case, or run where there are more GPUs",
            )
        return sorted(chosen, key=[gpu["uuid"] for gpu in gpus].index) if self.pinned is None else chosen

    def order(self, gpus: Sequence[Mapping[str, Any]]) -> list[str]:
        """UUIDs that will do, the best first.  Raises MachineError where none of the visible ones does."""
        if self.pinned is not None:
            if self.pinned not in [gpu["uuid"] for gpu in gpus]:
                raise MachineError(
                    "the GPU that this case began on is not here",
                    where=self.label,
                    expected=self.pinned,
                    found=listed(gpus),
                    next_step=f"measure the case from its start: remove captures/{self.label}, run snakemake again",
                )
            return [self.pinned]
        fitting = [gpu for gpu in gpus if self.model is None or is_model(self.model, gpu["name"])]
        if not fitting:
            raise MachineError(
                "no GPU here is of the model that the configuration asks for",
                where=self.label,
                expected=f"gpu_model: {self.model}",
                found=listed(gpus),
                next_step="run it where there is one, or change gpu_model in config.yaml",
            )
        sign = 1 if self.spread else -1
        ranked = sorted(fitting, key=lambda gpu: (sign * self.cases.get(gpu["uuid"], 0), gpu["index"]))
        return [gpu["uuid"] for gpu in ranked]


def choose(
    plan: Mapping[str, Any],
    entry: Mapping[str, Any],
    *,
    captures: Path,
    first: bool,
    environ: Mapping[str, str],
) -> Choice:
    """The choice for one pass of the case ``entry``.  ``first``: whether it is the case's first, numerics."""
    if plan["device"] != "cuda":
        return Choice()
    cap = environ.get(CAP, "1")
    ranks = () if first else began_on(captures, entry)
    return Choice(
        pinned=ranks[0] if ranks else None,
        count=entry.get("world_size") or 1,
        ranks=ranks,
        model=entry.get("gpu_model"),
        cases=at_work(plan, entry, captures) if first else {},
        spread=cap.isdigit() and int(cap) > 1,
        label=f"{entry['workload']}/{entry['case']}",
    )


def began_on(captures: Path, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """UUID of the GPU of a case's first pass, or of each rank's; empty where there is no record of it."""
    try:
        record = read_json(captures / entry["workload"] / entry["case"] / "numerics.json")
        found = [
            (told.get("gpu") or {}).get("uuid") for told in record["run"].get("ranks") or [record["run"]]
        ]
        return tuple(filter(None, found))
    except (EvidenceError, KeyError, TypeError, AttributeError):  # its own check says what is wrong with it
        return ()


def at_work(plan: Mapping[str, Any], entry: Mapping[str, Any], captures: Path) -> dict[str, int]:
    """UUID -> cases of the run that began on that GPU and have not ended, ``entry`` aside."""
    found: Counter[str] = Counter()
    for other in plan["cases"]:
        steps = schedule(plan.get("passes", ()), other["variants"], count(plan, other))
        ended = captures / other["workload"] / other["case"] / steps[-1].record if steps else None
        same = (other["workload"], other["case"]) == (entry["workload"], entry["case"])
        if not same and ended and not ended.exists():
            found.update(began_on(captures, other))
    return dict(found)


def is_model(asked: str, name: str | None) -> bool:
    """Whether a GPU's name means the model asked for: ``h100`` is "NVIDIA H100 80GB HBM3", ``l4`` no "NVIDIA L40S".

    Slurm's names of models are a site's own; each part of one has to be a word, or words, of the GPU's name.
    """
    words = re.findall(r"[a-z0-9]+", (name or "").lower())
    runs = {"".join(words[a:b]) for a in range(len(words)) for b in range(a + 1, len(words) + 1)}
    parts = re.findall(r"[a-z0-9]+", asked.lower())
    return bool(parts) and all(part in runs for part in parts)


def listed(gpus: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(f"{gpu['name']} ({gpu['uuid']})" for gpu in gpus) or "none"
