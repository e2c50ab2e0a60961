"""Everything that the page shows of one case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..headline import HeadlineTable
from . import kernels
from .figures.books import books_figure, differences_figure
from .figures.figure import Figure
from .figures.samples import samples_figure
from .figures.split import split_figure
from .figures.timeline import timeline_figure
from .figures.traffic import traffic_figure
from .fusion import Fusion, fusion_of
from .headline import headline
from .profiler import ProfilerTable, profiler_table
from .read import Case, Numerics, decode

FIGURES = (samples_figure, books_figure, differences_figure, split_figure, traffic_figure, timeline_figure)


@dataclass(frozen=True)
class Section:
    """``number`` counts the page's cases from 1 and is the anchor of this one."""

    number: int
    case: Case
    headline: HeadlineTable | None
    figures: list[Figure]
    kernels: list[dict]
    profiler: list[ProfilerTable]
    numerics: Numerics | None
    fusion: Fusion | None


def section(run: Path, number: int, case: Case, device: str) -> Section:
    """Read one case's captures; what cannot be read ends in ``case.notes``."""
    figures = [figure(case) for figure in FIGURES]
    return Section(
        number=number,
        case=case,
        headline=headline(case, device),
        figures=[figure for figure in figures if figure is not None],
        kernels=kernels.kernel_lines(case),
        profiler=list(profiler(case)),
        numerics=case.attempt("numerics", lambda: decode(case.folder / "numerics.json", Numerics)),
        fusion=fusion_of(run, case.workload, case.case),
    )


def profiler(case: Case) -> Iterator[ProfilerTable]:
    for variant in case.variants:
        table = case.attempt("profiler rows", lambda v=variant: profiler_table(case, v))
        if table is not None:
            yield table
