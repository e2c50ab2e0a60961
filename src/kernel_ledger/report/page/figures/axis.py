"""An axis: values to per cent of its width, and round ticks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import asinh, ceil, floor, log10


@dataclass(frozen=True)
class Axis:
    """``bend``: where given, the axis is linear up to about this distance from 0 and logarithmic beyond."""

    least: float
    most: float
    bend: float | None = None

    def share(self, value: float) -> float:
        """Where a value lies, 0 to 100."""
        least, most, value = (self.bent(v) for v in (self.least, self.most, value))
        return 100 * (value - least) / (most - least)

    def bent(self, value: float) -> float:
        return asinh(value / self.bend) if self.bend else value

    def at(self, value: float) -> str:
        return percent(self.share(value))

    def ticks(self, wanted: int = 6) -> list[float]:
        """Round values on the axis, about as many as wanted."""
        if self.bend:
            decades = [self.bend * 10**n for n in range(0, 12)]
            return [
                t for t in [*(-d for d in reversed(decades)), 0, *decades] if self.least <= t <= self.most
            ]
        step = round_up((self.most - self.least) / wanted)
        return [n * step for n in range(ceil(self.least / step - 1e-9), floor(self.most / step + 1e-9) + 1)]


def percent(share: float) -> str:
    """An SVG length; two decimals are a tenth of a pixel."""
    return f"{share:.2f}".rstrip("0").rstrip(".") + "%"


def round_up(value: float) -> float:
    """The next of 1, 2, 2.5, 5 or 10 times a power of ten."""
    power = 10 ** floor(log10(value))
    return next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= value * (1 - 1e-9))


def from_zero(values: Iterable[float | None]) -> Axis | None:
    """An axis from 0 to a little more than the greatest value; None where there is none."""
    most = max((v for v in values if v is not None), default=0)
    return Axis(0, most * 1.04) if most > 0 else None


def around_zero(values: Iterable[float], least: float) -> Axis:
    """An axis over all values and 0, at least ``least`` to both sides; bent where few lie far outside."""
    values = list(values)
    sizes = sorted(abs(v) for v in values) or [0]
    usual, most = max(sizes[int(0.9 * (len(sizes) - 1))], least), max(sizes[-1], least)
    bend = 10 ** floor(log10(usual)) if most > 8 * usual else None
    low, high = min([*values, -least]), max([*values, least])
    if bend:
        return Axis(low * 1.3, high * 1.3, bend)
    margin = 0.04 * (high - low)
    return Axis(low - margin, high + margin)
