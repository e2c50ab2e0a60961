"""Runs a pass on a GPU that is not there: ``python lock_target.py <locks> <seconds to wait> <script> arguments``.

The GPU's identity comes from a stand-in for NVML, the lock and the processes are real.
"""

import sys
from functools import partial
from pathlib import Path

import kill_target
from test_pass_nvml import FakeNvml

from kernel_ledger import device, exclusive, launch


def take(_, environment, holder, *rest, **named):
    return device.taken("cuda", environment, holder, FakeNvml(), *rest, **named)


if __name__ == "__main__":
    exclusive.POLL_S = 0.05
    locks, wait_s = Path(sys.argv[1]), float(sys.argv[2])
    for name in {"gpu_lock", "free_gpu_lock"} & set(dir(device)):
        setattr(device, name, partial(getattr(exclusive, name), folder=locks, wait_s=wait_s))
    launch.taken = take
    kill_target.run(sys.argv[3], sys.argv[4:])
