"""What one Snakemake has found of Nsight Systems, for the jobs that it starts.

Asking an nsys whether it works starts it twice, and records nothing with it where its importer lies elsewhere (a second);
seven jobs of a run would ask.  What was found holds for the Snakemake that found it, and while the file is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..errors import EvidenceError
from ..files import read_json, write_json
from ..workflow_watch import VARIABLE

FORMAT = 1
FILE = Path(".snakemake") / "kernel-ledger-nsys.json"
SOUGHT_BY = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", VARIABLE)


def question(configured: str | None, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """What the answer depends on; None outside a workflow."""
    if not environ.get(VARIABLE) or not FILE.parent.is_dir():
        return None
    return {"configured": configured, **{name: environ.get(name) for name in SOUGHT_BY}}


def recall(asked: Mapping[str, Any]) -> dict[str, Any] | None:
    """The answer to the same question, where the nsys that it names is still the same file."""
    with suppress(EvidenceError, KeyError, TypeError, OSError):
        noted = read_json(FILE, format=FORMAT)
        if noted["asked"] == dict(asked) and noted["file"] == identity(noted["answer"]["path"]):
            return noted["answer"]
    return None


def note(asked: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
    with suppress(OSError):  # it is only asked again then
        write_json(
            FILE, {"format": FORMAT, "asked": asked, "answer": answer, "file": identity(answer["path"])}
        )


def identity(path: str) -> list[Any]:
    status = Path(path).stat()
    return [str(Path(path).resolve()), status.st_ino, status.st_size, status.st_mtime_ns]
