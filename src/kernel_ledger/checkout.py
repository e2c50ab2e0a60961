"""Where this checkout's own files lie, also for a workflow that uses ours as a module from another folder.

Data (reports/, logs/, build/) belong to the folder in which Snakemake runs; scripts/, csrc/, src/ and the
workloads that come along belong to the checkout.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def at(name: str) -> str:
    """The path of something in the checkout: relative where Snakemake runs in it, absolute elsewhere."""
    return name if Path.cwd().resolve() == ROOT else (ROOT / name).as_posix()


def found(name: str) -> str:
    """A file that a configuration names: the user's own, else the one that came along, else the name as it is."""
    return at(name) if not Path(name).is_file() and Path(at(name)).is_file() else name
