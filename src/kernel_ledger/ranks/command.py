"""How the processes of a pass are started: one alone, or the ranks of a group by torchrun."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
MODULE = "kernel_ledger.passes"


def child_command(request: Mapping[str, Any], path: Path) -> list[str]:
    """The command of a pass.  ``path``: its request.json.

    torchrun is run as a module, so that it is the one of this interpreter; it finds a free port by itself.
    """
    if request.get("world_size") is None:
        return [sys.executable, "-m", MODULE, str(path)]
    options = ["--standalone", f"--nproc-per-node={request['world_size']}", f"--local-addr={LOOPBACK}"]
    return [sys.executable, "-m", "torch.distributed.run", *options, "--module", MODULE, str(path)]


def group_environment(request: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, str]:
    """What a group of one host needs besides: the loopback interface, since a host's name need not resolve.

    Nothing for a pass of one process.  What the configuration lets through is kept.
    """
    if request.get("world_size") is None:
        return {}
    wanted = {
        "GLOO_SOCKET_IFNAME": "lo",
        "NCCL_SOCKET_IFNAME": "lo",
        "NCCL_NVTX_DISABLE": "1",  # its ranges would stand between ours and its kernels in nsys's tables
        "OMP_NUM_THREADS": "1",
    }
    return {name: environment.get(name, value) for name, value in wanted.items()}
