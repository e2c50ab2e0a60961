"""results.parquet: the table's twin for programs that need not guess types from text.

Same rows, same columns, same order as results.csv; types, meanings and units come from ``columns``, and each field
carries its own in its metadata.  An empty cell is null.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .columns import COLUMNS, Column, table_schema
from .files import publish, temporary_for
from .reconcile.rows import Row

TYPES = {"string": pa.string(), "integer": pa.int64(), "number": pa.float64(), "boolean": pa.bool_()}


def field(column: Column) -> pa.Field:
    """One column's Arrow field; its metadata has the description and the unit."""
    told = {"description": column.meaning} | ({"unit": column.unit} if column.unit else {})
    return pa.field(column.name, TYPES[column.type], metadata=told)


def arrow_schema() -> pa.Schema:
    """The table's schema; under the key ``table_schema`` its metadata has results.schema.json."""
    return pa.schema([field(c) for c in COLUMNS], metadata={"table_schema": json.dumps(table_schema())})


def write_parquet(rows: Sequence[Row], path: Path) -> None:
    """Write results.parquet whole or not at all."""
    columns = {c.name: [None if row[c.name] == "" else row[c.name] for row in rows] for c in COLUMNS}
    temporary = temporary_for(path)
    pq.write_table(pa.table(columns, schema=arrow_schema()), temporary, compression="zstd")
    publish(temporary, path)
