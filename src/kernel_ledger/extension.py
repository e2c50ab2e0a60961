"""csrc/ -> kernels.so, built by ninja through torch.utils.cpp_extension before anything is measured.

The library is a plain shared one: ``torch.ops.load_library(path)`` registers torch.ops.kernel_ledger.  torch
is imported inside the function, and loads the library it has built, so one process can build once.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import sysconfig
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import entry, files, process, toolchain
from .checkout import at
from .errors import MachineError

FORMAT = 1  # of build.json
HOST_FLAGS = ["-O3", "-ffp-contract=off"]  # off: see chain.h
DEVICE_FLAGS = ["-O3"]
TIMEOUT_S = 3600


def build(
    device: str, architectures: Sequence[str], output: Path, *, sources: Path | None = None
) -> dict[str, Any]:
    """Build ``output`` (*.so, in a folder of its own) for "cuda" or "cpu"; write build.json beside it.

    ``architectures``: such as ["9.0"]; none means those of the GPUs present.  Returns what build.json holds.
    Raises MachineError for each thing that this machine lacks, and when a source does not compile.  Run it
    through :func:`build_guarded`: torch starts compilers that would outlive a killed process.
    """
    started, sources = time.monotonic(), sources or Path(at("csrc"))
    objects = output.parent / "objects"
    recorded = output.with_name("build.json")
    with sole_builder(objects) as warnings:
        plan = _plan(device, architectures, sources)
        built = _compile(plan, objects / output.name)
        recorded.unlink(missing_ok=True)  # it must not vouch for a library that comes after it
        partial = objects / f"{output.name}.partial"
        shutil.copyfile(built, partial)
        files.publish(partial, output)  # never half linked, never changed under a process that has loaded it
    record = {
        "format": FORMAT,
        "device": device,
        "versions": plan["versions"],
        "architectures": plan["architectures"],
        "flags": {kind: plan[f"{kind}_flags"] for kind in ("host", "device", "link")},
        "seconds": round(time.monotonic() - started, 3),
        "warnings": warnings,
        "sources": {path.name: files.sha256(path) for path in sorted(sources.iterdir()) if path.is_file()},
        "library_sha256": files.sha256(output),
    }
    files.write_json(recorded, record)
    return record


def build_guarded(device: str, architectures: Sequence[str], output: Path) -> int:
    """:func:`build` in a process of its own, with its compilers killed whenever this one ends; exit status."""
    command = [sys.executable, "-m", __spec__.name, device, str(output), *architectures]
    return process.run(command, environment=os.environ, timeout_s=TIMEOUT_S, echo=True).exit_status


@contextmanager
def sole_builder(folder: Path) -> Iterator[list[str]]:
    """Hold the folder for one build; yields what was found wrong in it and put right.

    torch waits without end for a file ``lock`` that a killed build leaves behind.  Our own lock ends with its
    process, so whoever holds it knows that such a file is stale.  Raises MachineError if a build is at work.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".builder").open("a+") as holder:
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder.seek(0)
            raise MachineError(
                "another build is at work in this folder",
                where=folder,
                found=f"process {holder.read().strip() or 'unknown'}",
                next_step="wait until it has ended, then start again",
            ) from None
        holder.truncate(0)
        holder.write(str(os.getpid()))
        holder.flush()
        yield _without_stale_lock(folder / "lock")


def _without_stale_lock(lock: Path) -> list[str]:
    if not lock.exists():
        return []
    lock.unlink()
    text = f"{lock}: left behind by a build that was killed; removed"
    print(f"warning: {text}", file=sys.stderr)
    return [text]


def _plan(device: str, architectures: Sequence[str], sources: Path) -> dict[str, Any]:
    """Everything that is settled before the first compiler runs."""
    environ = os.environ
    compiler = toolchain.find_compiler(environ)
    ninja = toolchain.find_ninja(environ, Path(sysconfig.get_path("scripts")))
    nvcc = toolchain.find_nvcc(environ) if device == "cuda" else None
    nvcc_version = toolchain.nvcc_version(nvcc, environ) if nvcc else None
    import torch

    if nvcc and nvcc_version:
        toolchain.require_same_major(nvcc, nvcc_version, torch.version.cuda)
        architectures = list(architectures) or _architectures_present(torch)
        toolchain.require_supported(nvcc, architectures, toolchain.supported_architectures(nvcc, environ))
    return {
        "ninja": ninja,
        "toolkit": toolchain.toolkit_of(nvcc, environ) if nvcc else None,
        "sources": [*sorted(sources.glob("*.cpp")), *(sorted(sources.glob("*.cu")) if nvcc else [])],
        "architectures": list(architectures) if nvcc else [],
        "host_flags": [*HOST_FLAGS, *(["-DWITH_CUDA"] if nvcc else [])],
        "link_flags": toolchain.standard_library(compiler, environ, Path("/proc/self/maps").read_text()),
        "device_flags": [*DEVICE_FLAGS, *toolchain.gencode(architectures)] if nvcc else [],
        "versions": {
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "nvcc": nvcc_version,
            "compiler": toolchain.compiler_version(compiler, environ),
        },
    }


def _architectures_present(torch: Any) -> list[str]:
    count = torch.cuda.device_count()
    if not count:
        raise MachineError(
            "there is no CUDA GPU to build for, and no architecture is configured",
            next_step='set `architectures` in config.yaml, such as ["9.0"] for an H200',
        )
    capabilities = {torch.cuda.get_device_capability(index) for index in range(count)}
    return [f"{major}.{minor}" for major, minor in sorted(capabilities)]


def _compile(plan: dict[str, Any], output: Path) -> Path:
    """Link ``output`` in the folder of the objects; its path."""
    # torch calls `ninja` by name, and reads CUDA_HOME when the module is imported
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", ""), str(plan["ninja"].parent)])
    if plan["toolkit"]:
        os.environ["CUDA_HOME"] = str(plan["toolkit"])
    from torch.utils import cpp_extension

    try:
        cpp_extension.load(
            name=output.stem,
            sources=[str(source.resolve()) for source in plan["sources"]],
            extra_cflags=plan["host_flags"],
            extra_cuda_cflags=plan["device_flags"],
            extra_ldflags=list(plan["link_flags"]),
            build_directory=str(output.parent.resolve()),
            with_cuda=plan["toolkit"] is not None,
            is_python_module=False,
        )
    except (RuntimeError, OSError) as error:
        raise MachineError(
            "the extension could not be built",
            where=output.parent,
            found="\n".join(str(error).splitlines()[-25:]),
            next_step=f"`ninja -v -C {output.parent}` shows the whole output",
        ) from error
    return output


def main() -> None:
    device, output, *architectures = sys.argv[1:]
    record = build(device, architectures, Path(output))
    print(f"{output}: built in {record['seconds']:.1f} s")


if __name__ == "__main__":
    entry.run(main)
