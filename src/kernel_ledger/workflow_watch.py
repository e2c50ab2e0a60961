"""Ends a rule's script when the Snakemake that started it is gone: a killed run goes on measuring otherwise.

Between the two stands a shell that outlives Snakemake, so that a parent's death tells nothing.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import threading
from collections.abc import Mapping

VARIABLE = "KERNEL_LEDGER_WORKFLOW"


def start(environ: Mapping[str, str]) -> None:
    """Watch the process whose number the workflow put into the environment; where there is none, nothing.

    When it ends, this process gets SIGTERM, and with it whatever it started.
    """
    text = environ.get(VARIABLE, "")
    if not text.isdigit() or not hasattr(os, "pidfd_open"):
        return
    try:
        workflow = os.pidfd_open(int(text))
    except ProcessLookupError:
        sys.exit(f"error: the snakemake (process {text}) that started this is gone")
    except OSError:  # a kernel before 5.3
        return
    threading.Thread(target=_wait, args=(workflow, text), daemon=True, name="workflow watch").start()


def _wait(workflow: int, text: str) -> None:
    select.select([workflow], [], [])
    with contextlib.suppress(OSError):  # the terminal may be gone, too
        print(f"error: the snakemake (process {text}) that started this is gone", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
