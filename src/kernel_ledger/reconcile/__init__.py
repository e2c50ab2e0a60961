"""The evidence of a case -> its rows of the result table; every GPU operation ends in exactly one kernel or memory row."""

from .case import reconcile_case
from .table import read_table, write_table

__all__ = ["read_table", "reconcile_case", "write_table"]
