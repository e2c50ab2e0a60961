"""A real Slurm on this machine alone, with GPUs that are only pretended: ``with slurm_node(folder, gpus=2): ...``

For Debian 12's packages (Slurm 22.05) and root.  Everything listens on the loopback and lies in one folder but for
Slurm's configuration: job steps of Snakemake's plugin drop SLURM_CONF, so this has to lie where Slurm itself looks.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = Path("/etc/slurm")
PLUGIN = ROOT / "tools" / "snakemake-slurm"  # where .ci/install-slurm puts it
PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel")
CPUS, MEMORY_MB = 16, 32_000  # pretended too, so that only GPUs keep jobs waiting
NULL_DEVICE = os.makedev(1, 3)


def missing() -> str | None:
    """What keeps a Slurm from being started here, None where nothing does."""
    if absent := [name for name in PROGRAMS if shutil.which(name) is None]:
        return f"{', '.join(absent)} not found; .ci/install-slurm installs them"
    if not (PLUGIN / "snakemake_executor_plugin_slurm").is_dir():
        return f"no plugin in {PLUGIN.relative_to(ROOT)}; .ci/install-slurm puts it there"
    if os.geteuid() != 0:
        return "only root can start it"
    if (SETTINGS / "slurm.conf").exists():
        return "this machine has a Slurm of its own"
    return None


@contextlib.contextmanager
def slurm_node(folder: Path, gpus: int) -> Iterator[None]:
    """Slurm with one node, ``gpus`` GPUs of the model h100, and a second partition without any.

    ``folder``: for its state and logs.  Raises TimeoutError, with the controller's log, where it does not come up.
    """
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    written = write_settings(folder, gpus)
    started: list[subprocess.Popen[bytes]] = []
    try:
        for command in daemons(folder):
            started.append(start(command, folder))
            if command[0] == "munged":
                wait_for((folder / "munge.socket").exists, "munged", folder)
        wait_for(lambda: "idle" in output("sinfo", "--noheader", "--format=%T"), "the node", folder)
        yield
    finally:
        for process in reversed(started):
            with contextlib.suppress(ProcessLookupError):
                process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for path in written:
            path.unlink(missing_ok=True)


def daemons(folder: Path) -> list[list[str]]:
    """All in the foreground, so that each is a child that can be ended and waited for."""
    munged = [
        "munged",
        "--foreground",
        "--force",
        f"--socket={folder}/munge.socket",
        f"--key-file={folder}/key",
    ]
    munged += [
        f"--pid-file={folder}/munged.pid",
        f"--seed-file={folder}/seed",
        f"--log-file={folder}/munged.log",
    ]
    return [munged, ["slurmctld", "-D"], ["slurmd", "-D", "-N", socket.gethostname().split(".")[0]]]


def start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{command[0]}.out").open("wb") as log:
        return subprocess.Popen(
            command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, start_new_session=True
        )


def write_settings(folder: Path, gpus: int) -> list[Path]:
    """slurm.conf and what belongs to it; the files, for removal."""
    host = socket.gethostname().split(".")[0]
    key = folder / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    for number in range(gpus):  # a plain file will not do: Slurm wants a device
        os.mknod(folder / f"gpu{number}", stat.S_IFCHR | 0o666, NULL_DEVICE)
    for name in ("spool", "state"):
        (folder / name).mkdir()
    devices = "\n".join(
        f"NodeName={host} Name=gpu Type=h100 File={folder}/gpu{number} Flags=nvidia_gpu_env"
        for number in range(gpus)
    )
    texts = {
        "gres.conf": f"{devices}\n",
        "cgroup.conf": "CgroupPlugin=autodetect\n",
        "slurm.conf": f"""\
ClusterName=alone
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1
ReturnToService=2
KillWait=2
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
MinJobAge=3600
NodeName={host} NodeAddr=127.0.0.1 CPUs={CPUS} RealMemory={MEMORY_MB} Gres=gpu:h100:{gpus} State=UNKNOWN
PartitionName=gpu Nodes={host} Default=YES MaxTime=INFINITE State=UP
PartitionName=cpu Nodes={host} MaxTime=INFINITE State=UP
""",
    }
    SETTINGS.mkdir(exist_ok=True)
    for name, text in texts.items():
        (SETTINGS / name).write_text(text)
    return [SETTINGS / name for name in texts]


def output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=30).stdout


def queue() -> list[str]:
    """The jobs that wait, run or end, one line each."""
    return output("squeue", "--noheader", "--format=%i %T %b %P").splitlines()


def wait_for(holds, what: str, folder: Path, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            logs = "\n".join(
                path.read_text(errors="replace")[-2000:] for path in sorted(folder.glob("*.out"))
            )
            raise TimeoutError(f"{what} did not come up within {seconds} s\n{logs}")
        time.sleep(0.2)


if __name__ == "__main__":  # python tests/slurm_node.py FOLDER [GPUS]: by hand, until Ctrl-C
    for number in (signal.SIGINT, signal.SIGTERM):  # a shell's background job ignores the first
        signal.signal(number, signal.default_int_handler)
    with slurm_node(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1):
        print(output("sinfo", "--format=%P %N %G %T"))
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()
