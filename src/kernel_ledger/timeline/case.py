"""The timeline of one case: captures in, a Perfetto trace out.

Layout: a track "variants" with one slice for each variant (its arguments say by how much each book was
shifted, and from which files), and below it one process for each book, with its host threads and its GPU
streams.  A book that cannot be read, or is too large, leaves its reason there, and the rest is drawn.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..errors import EvidenceError
from ..files import sha256
from ..plan_file import Plan, PlannedCase
from .axis import Section, Stretch, divide, section, stretches
from .books import OVERHEAD, nsys_slices, torch_slices
from .pftrace import Trace
from .size import recorded_events, trace_events
from .slices import Slice, in_order, lanes

BOOKS = {
    "torch": "torch.profiler: one process a variant",
    "nsys": "Nsight Systems: one process, all variants",
}
ALIGNMENT = (
    "Each book is shifted, variant by variant, so that the variant's first recorded range begins at the same"
    " time in both; the two clocks are not otherwise related. Distances within a variant and a book are exact."
)
FLOWS_OF_A_PROCESS = 1 << 32  # correlation ids are 32 bits and start anew in each process


class Sources:
    """Reads the books of a case; why one is not there is kept, by book and variant."""

    def __init__(self, plan: Plan, case: PlannedCase, captures: Path) -> None:
        self.plan, self.case = plan, case
        self.folder = captures / case.workload / case.case
        self.files: dict[tuple[str, str], str] = {}
        self.absent: dict[tuple[str, str], str] = {}
        self.events = 0

    def sections(self) -> list[Section]:
        names = {self.case.range_name(v): v for v in self.case.variants}
        parts: dict[tuple[str, str], list[Slice]] = {}
        for variant in self.case.variants:
            name = f"torch/{variant}/trace.json.gz"
            own = self.attempt(
                "torch", [variant], name, trace_events, lambda path: torch_slices(path, set(names))
            )
            parts["torch", variant] = own or []
        if "nsys" in self.plan.passes:
            every = list(self.case.variants)
            own = self.attempt(
                "nsys",
                every,
                "nsys/report.sqlite",
                recorded_events,
                lambda path: nsys_slices(path, set(names)),
            )
            parts |= {("nsys", v): part for v, part in divide(own or [], names).items()}
        else:
            self.absent |= {("nsys", v): "the plan leaves nsys out" for v in self.case.variants}
        found = [section(b, v, own, self.case.range_name(v)) for (b, v), own in parts.items()]
        return [one for one in found if one is not None]

    def attempt(
        self,
        book: str,
        variants: list[str],
        name: str,
        count: Callable[[Path], int],
        read: Callable[[Path], list[Slice]],
    ) -> list[Slice] | None:
        path = self.folder / name
        try:
            events = count(path)
            if self.events + events > self.plan.timeline_events:
                raise EvidenceError(
                    f"left out, since a timeline holds at most {self.plan.timeline_events} events of a case"
                    " (limits.timeline_events)",
                    where=path,
                    found=f"{events} events, after {self.events} of other recordings",
                )
            found = read(path)
        except EvidenceError as error:
            reason = " ".join(f"{error.what}: {error.found or name}".split())
            self.absent |= {(book, variant): reason for variant in variants}
            return None
        self.events += events
        source = f"{name}@{sha256(self.folder / name)[:12]}"
        self.files |= {(book, variant): source for variant in variants}
        return found


def case_timeline(plan: Plan, case: PlannedCase, captures: Path) -> bytes:
    """A Perfetto trace of the first process of each pass of a case, as bytes that are the same every time."""
    sources = Sources(plan, case, captures)
    sections = sources.sections()
    axis = stretches(case.variants, sections)
    told = {"workload": case.workload, "case": case.case, "time axis": ALIGNMENT}
    if sources.absent:
        told["not shown"] = "; ".join(f"{b}/{v}: {reason}" for (b, v), reason in sources.absent.items())
    trace = Trace(told)
    variants = trace.track("variants", rank=0, about=ALIGNMENT)
    trace.lane(variants, [variant_slice(one, sections, sources) for one in axis], 0)
    for pid, (book, name) in enumerate(BOOKS.items(), 1):
        process = trace.process(pid, name, about=ALIGNMENT)
        fill(trace, process, pid, [s for s in sections if s.book == book], axis)
    return trace.serialize()


def variant_slice(stretch: Stretch, sections: list[Section], sources: Sources) -> Slice:
    """A variant's slice on the axis, with what was done to each of its books."""
    told: list[tuple[str, int | str]] = [("both books' first range begins at (ns)", stretch.origin)]
    for book in BOOKS:
        key = (book, stretch.variant)
        own = next((s for s in sections if (s.book, s.variant) == key), None)
        if own is None:
            told.append((f"{book} is not shown", sources.absent.get(key, "it holds nothing of this variant")))
            continue
        told.append((f"{book} file", sources.files[key]))
        told.append((f"{book} shifted by (ns)", stretch.origin - own.zero))
        if not own.aligned:
            told.append((f"{book} alignment", "no range was recorded: its first record stands there"))
    return Slice(
        stretch.start, stretch.end, stretch.variant, "variant", "variants", stretch.start, None, tuple(told)
    )


def fill(trace: Trace, process: int, pid: int, sections: list[Section], axis: list[Stretch]) -> None:
    """One book's tracks below its process: GPU streams, then host threads, then the profiler's overhead."""
    origins = {one.variant: (number, one.origin) for number, one in enumerate(axis)}
    names = sorted({one.track for s in sections for one in s.slices}, key=track_order)
    made: dict[tuple[str, int], int] = {}
    for rank, name in enumerate(names):
        for own in sections:
            number, origin = origins[own.variant]
            slices = in_order(one for one in own.slices if one.track == name)
            for lane, part in enumerate(lanes(slices)):
                if (name, lane) not in made:
                    title = name if not lane else f"{name} (overlapping {lane})"
                    made[name, lane] = trace.track(title, parent=process, rank=100 * rank + lane)
                trace.lane(
                    made[name, lane], part, origin - own.zero, (pid << 44) + number * FLOWS_OF_A_PROCESS
                )


def track_order(name: str) -> tuple[int, int, str]:
    """Ranges and operators first, the GPU below them, overhead last; streams by number."""
    kind = 2 if name == OVERHEAD else 1 if name.startswith("GPU ") else 0
    return kind, len(name), name
