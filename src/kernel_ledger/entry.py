"""The outermost edge of every script: an error that a user is meant to read becomes text and a status."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

from . import workflow_watch
from .errors import LedgerError

INTERRUPTED = 130  # what a shell shows for Ctrl-C


def run(main: Callable[[], int | None]) -> None:
    """Call ``main`` and exit with its status, or print a LedgerError and exit with the error's own.

    A script that Snakemake started ends with it.
    """
    workflow_watch.start(os.environ)
    try:
        sys.exit(main() or 0)
    except LedgerError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(error.exit_status)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
