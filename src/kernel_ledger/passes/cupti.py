"""Is anybody else subscribed to CUPTI in this process?  Asked of CUPTI itself, by subscribing.

On an H200 (CUDA 13.0, nsys 2025.3.1) cuptiSubscribe gives 0 in a clean process and 39 under ``nsys -t cuda``,
and after cuptiUnsubscribe torch.profiler works normally.  CUPTI 13.2 adds cuptiSubscribe_v2, with which
several subscribers may coexist; where it is there, it is asked for an exclusive subscription as well.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SUCCESS = 0
MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39
NAME_BYTES = 256
INJECTORS = (
    "CUDA_INJECTION64_PATH",
    "CUDA_INJECTION32_PATH",
    "NVTX_INJECTION64_PATH",
    "NVTX_INJECTION32_PATH",
    "NSYS_PROFILING_SESSION_ID",
    "QUADD_INJECTION_PROXY",
)
INJECTED_LIBRARIES = ("ToolsInjection", "nsight", "nsys")

Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_void_p)


class SubscriberParams(ctypes.Structure):
    """CUpti_SubscriberParams of CUPTI 13.2."""

    _fields_ = (
        ("structSize", ctypes.c_size_t),
        ("subscriberName", ctypes.c_char_p),
        ("oldSubscriberName", ctypes.c_char_p),
        ("oldSubscriberSize", ctypes.c_size_t),
        ("allowMultipleSubscribers", ctypes.c_uint8),
    )


def probe(
    device: str, environ: Mapping[str, str] = os.environ, library: Path | None = None
) -> dict[str, Any]:
    """The result of subscribing and the injection variables found.

    ``result``: cuptiSubscribe's code, None where it could not be asked; ``regime``: "exclusive", "multi"
    (this CUPTI can have several subscribers) or "absent"; ``result_alone``: what cuptiSubscribe_v2 said to a
    request for an exclusive subscription; ``version``: of CUPTI.  Call it once the CUDA
    context exists: nsys subscribes when CUDA starts.
    """
    found = {
        "result": None,
        "regime": "absent",
        "reason": None,
        "version": None,
        "other": None,
        "result_alone": None,
    }
    injection = {"injection": injections(environ)}
    if device != "cuda":
        return {**found, "reason": f"device is {device}", **injection}
    cupti = load(library)
    if cupti is None:
        reason = "libcupti was not found (torch's packages, the CUDA toolkit, the loader)"
        return {**found, "reason": reason, **injection}
    found["version"] = version(cupti)
    found["regime"] = "multi" if hasattr(cupti, "cuptiSubscribe_v2") else "exclusive"
    found["result"] = subscribe(cupti)
    if found["result"] == SUCCESS and found["regime"] == "multi":
        # CUPTI 13.0.1 has the entry but refuses these parameters (1, seen on an H200): an answer that is
        # neither yes nor no is kept beside, and the first one stands
        found["result_alone"], found["other"] = subscribe_alone(cupti)
        if found["result_alone"] == MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
            found["result"] = found["result_alone"]
    if found["result"] != SUCCESS:
        found["reason"] = result_text(cupti, found["result"])
    return {**found, **injection}


def injections(environ: Mapping[str, str]) -> list[str]:
    """Names of the variables by which a profiler gets into this process."""
    names = [name for name in INJECTORS if environ.get(name)]
    if any(library in environ.get("LD_PRELOAD", "") for library in INJECTED_LIBRARIES):
        names.append("LD_PRELOAD")
    return names


def subscribe(cupti: ctypes.CDLL) -> int:
    """cuptiSubscribe's result; a subscription that was given is handed back at once."""
    handle = ctypes.c_void_p()
    callback = Callback(_ignore)
    result = cupti.cuptiSubscribe(ctypes.byref(handle), callback, None)
    if result == SUCCESS:
        cupti.cuptiUnsubscribe(handle)
    return result


def subscribe_alone(cupti: ctypes.CDLL) -> tuple[int, str | None]:
    """cuptiSubscribe_v2's result when asked for a subscription without company, and the other's name."""
    handle = ctypes.c_void_p()
    callback = Callback(_ignore)
    other = ctypes.create_string_buffer(NAME_BYTES)
    parameters = SubscriberParams(
        SubscriberParams.allowMultipleSubscribers.offset + 1,  # CUPTI counts to the end of the last field
        b"kernel-ledger probe",
        ctypes.cast(other, ctypes.c_char_p),
        NAME_BYTES,
        0,
    )
    result = cupti.cuptiSubscribe_v2(ctypes.byref(handle), callback, None, ctypes.byref(parameters))
    if result == SUCCESS:
        cupti.cuptiUnsubscribe(handle)
        return result, None
    return result, other.value.decode(errors="replace") or None


def _ignore(userdata: int, domain: int, callback_id: int, data: int) -> None:
    """Never called: no callback is enabled."""


def version(cupti: ctypes.CDLL) -> str | None:
    """CUPTI_API_VERSION of the library, such as 130000."""
    number = ctypes.c_uint32()
    return str(number.value) if cupti.cuptiGetVersion(ctypes.byref(number)) == SUCCESS else None


def result_text(cupti: ctypes.CDLL, result: int) -> str:
    text = ctypes.c_char_p()
    told = cupti.cuptiGetResultString(result, ctypes.byref(text)) == SUCCESS and text.value
    return f"cuptiSubscribe gave {result}" + (f" ({told.decode(errors='replace')})" if told else "")


def load(library: Path | None = None) -> ctypes.CDLL | None:
    """libcupti: the one given, else the first that loads, torch's own before any other."""
    for candidate in [str(library)] if library else candidates():
        try:
            return ctypes.CDLL(candidate)
        except OSError:  # not here, or of another architecture: the next one
            continue
    return None


def candidates() -> Iterator[str]:
    """Where libcupti may be; the copy that torch has mapped comes first, since Kineto uses that one."""
    yield from mapped(Path("/proc/self/maps"))
    for folder in sys.path:
        for pattern in ("nvidia/cu*/lib/libcupti.so.*", "nvidia/cuda_cupti/lib/libcupti.so.*"):
            yield from map(str, sorted(Path(folder).glob(pattern), reverse=True) if folder else ())
    for root in filter(None, (os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda")):
        yield f"{root}/extras/CUPTI/lib64/libcupti.so"
        yield f"{root}/lib64/libcupti.so"
    yield from ("libcupti.so.13", "libcupti.so.12", "libcupti.so")


def mapped(maps: Path) -> list[str]:
    """Copies of libcupti in this process, without the one that nsys brings along."""
    lines = maps.read_text().splitlines() if maps.exists() else []
    paths = [line.split(maxsplit=5)[-1] for line in lines if "libcupti.so" in line]
    return list(dict.fromkeys(path for path in paths if "nsight" not in path.lower()))
