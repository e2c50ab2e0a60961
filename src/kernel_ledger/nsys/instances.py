"""NVTX ranges of an export, as the ledger's books need them: by name and domain, open ones with no end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..columnar import NONE, Column, Names, column
from ..columnar.table import combined, dense
from .columns import DOMAIN_CREATED, PROCESS_OF_THREAD, RANGES, STYLES, Export

PUSH_POP = [style for style, name in STYLES.items() if name == "PushPop"]
OF_NAMES = "textId", "domainId"


@dataclass(frozen=True)
class Events:
    """Ranges by start, end, thread and name; ``end``: NONE of one that was never closed.

    ``name``, ``domain``: indices into ``names`` and ``domains``, whose None is the default domain.  ``nested``: pushed
    and popped on one thread.
    """

    start: Column
    end: Column
    thread: Column
    name: Column
    domain: Column
    nested: Column
    names: list[str]
    domains: list[str | None]

    @property
    def process(self) -> Column:
        return self.thread & PROCESS_OF_THREAD

    def among(self, names: object, domains: object) -> Column:
        """The indices of ranges with one of these names in one of these domains."""
        named = np.array([name in names for name in self.names], dtype=bool)
        placed = np.array([domain in domains for domain in self.domains], dtype=bool)
        return np.flatnonzero(named[self.name] & placed[self.domain]) if len(self.name) else column()


def events(source: Export, strings: Mapping[int, str]) -> Events:
    has = source.tables.get(RANGES, {})
    wanted = [name if name in has else str(NONE) for name in OF_NAMES]
    where = f"WHERE eventType IN ({', '.join(map(str, STYLES))}) ORDER BY rowid"
    start, end, thread, style, text_id, domain = source.columns(
        RANGES, ("start", "end", "globalTid", "eventType", *wanted), where
    )
    name, names = texts(source, strings, text_id, where)
    ranks = {text: rank for rank, text in enumerate(sorted(names))}
    order = np.lexsort(
        (column([ranks[text] for text in names])[name], thread, np.where(end == NONE, 0, end), start)
    )
    which, (processes, ids) = combined([thread & PROCESS_OF_THREAD, domain])
    known = created(source, strings) if has else {}
    found = [known.get(key) for key in zip(processes.tolist(), ids.tolist(), strict=True)]
    nested = np.isin(style, PUSH_POP)
    return Events(
        *(values[order] for values in (start, end, thread, name, which, nested)), names=names, domains=found
    )


def texts(
    source: Export, strings: Mapping[int, str], text_id: Column, where: str
) -> tuple[Column, list[str]]:
    """(of each range an index, names): the registered string that it refers to, or its own text."""
    ids, number = dense(text_id)
    names, codes = Names(), []
    for value in ids.tolist():
        codes.append(names[strings[value]] if value in strings else -1)
    index = column(codes)[number] if len(codes) else column()
    bare = index < 0
    if bare.any():
        rows = source.connection.execute(f"SELECT text FROM {RANGES} {where}")
        index[bare] = [names[text or ""] for (text,), own in zip(rows, bare.tolist(), strict=True) if own]
    return index, names.all()


def created(source: Export, strings: Mapping[int, str]) -> dict[tuple[int, int], str | None]:
    """(process, domain id) -> the domain's name."""
    has = source.tables[RANGES]
    text_id = "textId" if "textId" in has else "NULL"
    if "domainId" not in has:
        return {}
    rows = source.connection.execute(
        f"SELECT globalTid, domainId, {text_id}, text FROM {RANGES} WHERE eventType = {DOMAIN_CREATED} ORDER BY rowid"
    )
    return {
        (thread & PROCESS_OF_THREAD, NONE if domain is None else domain): strings.get(number, text)
        for thread, domain, number, text in rows
    }
