"""NVML samples around a pass, taken by the launcher: never in the measured process."""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable
from typing import Any

from .company import Company
from .nvml import Nvml

PERIOD_S = 0.2
QUANTITIES = ("sm_mhz", "memory_mhz", "power_w", "temperature_c")


class Sampler:
    """Samples a GPU every 200 ms from entering to leaving the context; ``summary`` then tells."""

    def __init__(self, nvml: Nvml, uuid: str, period_s: float = PERIOD_S) -> None:
        self._nvml, self._uuid, self._period_s = nvml, uuid, period_s
        self._samples: list[dict[str, Any]] = []
        self._failure: str | None = None
        self._company = Company()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._collect, daemon=True, name="NVML sampler")

    def __enter__(self) -> Sampler:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _collect(self) -> None:
        while True:
            try:
                self._samples.append(self._nvml.sample(self._uuid))
                self._company.note(self._nvml.processes(self._uuid))
            except self._nvml.library.NVMLError as error:  # a GPU that fell off the bus, say
                self._failure = str(error)
                return
            if self._stop.wait(self._period_s):
                return

    def summary(self) -> dict[str, Any]:
        """``samples``: minimum, median and maximum of each quantity while the GPU was not idle, each with
        all throttle reasons seen; ``sampling``: how often it was looked at, and why no longer; ``company``: who
        computed on it."""
        busy = [sample for sample in self._samples if not sample["idle"]]
        reasons = sorted({reason for sample in self._samples for reason in sample["throttle_reasons"]})
        return {
            "samples": [
                {
                    "statistic": name,
                    **{quantity: _reduce(reduce, busy, quantity) for quantity in QUANTITIES},
                    "throttle_reasons": reasons,
                }
                for name, reduce in (("min", min), ("median", statistics.median), ("max", max))
            ],
            "sampling": {
                "period_s": self._period_s,
                "count": len(self._samples),
                "busy_count": len(busy),
                "failure": self._failure,
            },
            "company": self._company.summary(),
        }


def _reduce(reduce: Callable[[list], float], samples: list[dict[str, Any]], quantity: str) -> float | None:
    values = [sample[quantity] for sample in samples if sample[quantity] is not None]
    return reduce(values) if values else None
