"""Records of one kind as columns: a sequence whose members are made only when they are looked at.

A million objects of twenty fields are 1 GB and seconds; as columns they are a tenth of that, and what is done to all
of them is done in numpy.  Code that looks at a few members, and tests, may still treat the columns as a tuple.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np

from . import NONE, Column, Names, column

Row = TypeVar("Row")
Field = Column | tuple[Column, Sequence[Hashable]]
BLOCK = 1 << 14  # records that are made at once
ABSENT = -1  # the code of a value that no record has


class Records(Sequence, Generic[Row]):
    """``row``: the class of a member.  ``numbers``: its fields that are integers or None, held as int64 columns with
    NONE for None.  ``coded``: its other fields, held as indices into ``values[field]``, which has each value once.

    A number that was not given is None in every record; of a coded field, ``default`` has the value.  A selection
    shares the columns of the whole and holds only which records are its own.
    """

    row: ClassVar[type]
    numbers: ClassVar[tuple[str, ...]]
    coded: ClassVar[tuple[str, ...]]
    default: ClassVar[Mapping[str, Hashable]] = {}

    def __init__(
        self,
        count: int,
        columns: Mapping[str, Column],
        values: Mapping[str, Sequence[Hashable]],
        index: Column | None = None,
    ) -> None:
        """``count``: records of the whole, of which ``index`` says the selected ones."""
        self._count, self._columns, self._values, self._index = count, columns, values, index
        self._seen: dict[str, set[Hashable]] = {}

    @classmethod
    def build(cls, count: int, **fields: Field) -> Self:
        """From columns; of a coded field (indices, values), where a value may stand more than once."""
        columns, values = cls.entered(fields)
        return cls(count, columns, values)

    @classmethod
    def entered(cls, fields: Mapping[str, Field]) -> tuple[dict[str, Column], dict[str, list[Hashable]]]:
        """(columns, values), with each value once."""
        columns, values = {}, {}
        for name, given in fields.items():
            if name in cls.numbers:
                columns[name] = given
                continue
            codes, texts = given
            found = Names()
            to = column([found[text] for text in texts])
            columns[name] = codes if len(found) == len(texts) else to[codes]
            values[name] = found.all()
        return columns, values

    @classmethod
    def of(cls, rows: Iterable[Row]) -> Self:
        """From members."""
        rows = list(rows)
        fields: dict[str, Any] = {
            name: column([NONE if (value := getattr(r, name)) is None else value for r in rows])
            for name in cls.numbers
        }
        for name in cls.coded:
            found = Names()
            fields[name] = column([found[getattr(r, name)] for r in rows]), found.all()
        return cls.build(len(rows), **fields)

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Several as one, in their order."""
        if len(parts) == 1:
            return parts[0]
        fields: dict[str, Any] = {
            name: np.concatenate([part.column(name) for part in parts] or [column()])
            for name in cls.numbers
            if any(name in part._columns for part in parts)
        }
        for name in cls.coded:
            if any(name in part._columns for part in parts):
                before = np.cumsum([0, *(len(part.values(name)) for part in parts)])
                codes = [part.column(name) + at for part, at in zip(parts, before, strict=False)]
                fields[name] = np.concatenate(codes), [v for part in parts for v in part.values(name)]
        return cls.build(sum(map(len, parts)), **fields)

    def column(self, name: str) -> Column:
        """A field of every record: numbers with NONE for None, of a coded field the codes."""
        found = self._columns.get(name)
        if found is None:
            found = np.broadcast_to(np.int64(NONE if name in self.numbers else 0), self._count)
        return found if self._index is None else found[self._index]

    def values(self, name: str) -> Sequence[Hashable]:
        """What the codes of a field mean."""
        if name in self._columns:
            return self._values[name]
        return [self.default[name]] if name in self.default else []

    def code(self, name: str, value: Hashable) -> int:
        """The code of a value, ABSENT where there is none."""
        return self.values(name).index(value) if value in self.values(name) else ABSENT

    def has(self, name: str, value: Hashable) -> Column:
        """For each record whether a coded field has this value."""
        return self.column(name) == self.code(name, value)

    def where(self, name: str, value: Hashable) -> Self:
        """The records of which a coded field has this value."""
        return self.take(self.has(name, value))

    def seen(self, name: str) -> set[Hashable]:
        """The values that a coded field has in any of these records."""
        if name not in self._seen:
            values, codes = self.values(name), self.column(name)
            few = len(codes) < len(values)  # a selection of few does not walk through all values
            codes = np.unique(codes) if few else np.flatnonzero(np.bincount(codes))
            self._seen[name] = {values[code] for code in codes.tolist()}
        return self._seen[name]

    def take(self, which: Column) -> Self:
        """A selection, by indices or by a mask."""
        at = np.flatnonzero(which) if which.dtype == bool else which
        at = at if self._index is None else self._index[at]
        return type(self)(self._count, self._columns, self._values, at)

    def altered(self, **fields: Field) -> Self:
        """The same records with other values in some fields, given as to ``build``."""
        whole = self if self._index is None else self.copied()
        columns, values = self.entered(fields)
        return type(self)(len(self), {**whole._columns, **columns}, {**whole._values, **values})

    def copied(self) -> Self:
        """The same records with columns of their own: a selection of few no longer holds all."""
        return type(self)(len(self), {n: self.column(n) for n in self._columns}, self._values)

    def decoded(self, name: str) -> list[Any]:
        """A field of every record as Python values."""
        codes = self.column(name).tolist()
        if name in self.numbers:
            return [None if value == NONE else value for value in codes]
        values = self.values(name)
        return [values[code] for code in codes]

    def __len__(self) -> int:
        return self._count if self._index is None else len(self._index)

    def __getitem__(self, at: int | slice) -> Any:
        chosen = range(len(self))[at]
        if isinstance(at, slice):
            return self.take(np.arange(chosen.start, chosen.stop, chosen.step))
        return next(iter(self.take(column([chosen]))))

    def __iter__(self) -> Iterator[Row]:
        fields = [name for name in (*self.numbers, *self.coded) if name in self._columns]
        for start in range(0, len(self), BLOCK):
            part = self.take(np.arange(start, min(start + BLOCK, len(self))))
            for values in zip(*(part.decoded(name) for name in fields), strict=True):
                yield self.row(**dict(zip(fields, values, strict=True)), **self.missing(fields))

    def missing(self, fields: Sequence[str]) -> dict[str, Any]:
        """What the fields without a column have in every record."""
        return {
            **{name: None for name in self.numbers if name not in fields},
            **{name: self.default.get(name) for name in self.coded if name not in fields},
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} records)"
