"""``python -m kernel_ledger.passes <request.json>``: the measured process of one pass.

It writes its files into the request's ``output`` folder and child.json last, then ends with status 0.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

from .. import entry, lifeline
from ..errors import PassError
from ..files import read_json
from ..request import FORMAT, PASSES

MODULES = {"numerics": "numerics", "timing": "timing", "torch": "torch_profile", "nsys": "nsys_target"}


def main() -> None:
    path = Path(sys.argv[1])
    request = read_json(path, format=FORMAT)
    # torchrun hands no descriptor on: the guard above it (kernel_ledger.guard) ends the ranks
    unwatched = lifeline.watch(os.environ) if request["world_size"] is None else None
    if request["pass"] not in PASSES:
        raise PassError(
            "there is no such pass", where=path, expected=", ".join(PASSES), found=request["pass"]
        )
    module = importlib.import_module(f".{MODULES[request['pass']]}", __package__)
    module.run(request, [] if unwatched is None else [{"source": "life line", "text": unwatched}])
    if request["world_size"] is not None:
        importlib.import_module(".group", __package__).leave()


if __name__ == "__main__":
    entry.run(main)
