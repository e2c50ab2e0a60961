"""Captures with repeats and a collision control, written by the factory: further repeats are scenarios, too."""

from __future__ import annotations

import json
from pathlib import Path

import capture_factory as factory

from kernel_ledger.plan_file import CONTROL

NOTICED = {
    "format": 1, "detected": True, "detected_by": ["cupti", "injection"], "reason": None, "exit_status": 4,
    "probe": {"result": 39, "regime": "exclusive", "injection": ["CUDA_INJECTION64_PATH"]}, "files": ["probe.json"],
    "said": "another profiler is in the process of this clean torch pass", "versions": {"nsys": "2025.3.1", "driver": "580"},
    "gpu": {"uuid": "GPU-1"},
}  # fmt: skip


def written(root: Path, *repeats: factory.Scenario) -> Path:
    """A run of one case (and the ruler, the same in every repeat); ``repeats``: what each repeat is."""
    captures = factory.written(root, repeats[0], factory.ruler())
    for number, scenario in enumerate(repeats[1:], 2):
        for again in (scenario, factory.ruler()):
            write_again(captures / again.workload / again.case / f"repeat-{number}", again, number)
    change(captures / "plan.json", repeats=len(repeats))
    return captures


def write_again(folder: Path, scenario: factory.Scenario, number: int) -> None:
    """One further repeat: as the first, without numerics.json."""
    factory.write_case(folder, scenario)
    (folder / "numerics.json").unlink()
    record = json.loads((folder / "run.json").read_text())
    del record["files"]["numerics.json"]
    factory.write_json(folder / "run.json", {**record, "repeat": number})


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def controlled(captures: Path, **values: object) -> Path:
    """The same run with a collision control, changed by ``values``."""
    change(captures / "plan.json", collision_control=True)
    (captures / CONTROL).write_text(json.dumps({**NOTICED, **values}))
    return captures
