"""The events of a Kineto trace as they stand in the file; only what the ledger reads.

Times stay text until they are turned into ns: a float does not hold them.
"""

from __future__ import annotations

import msgspec

OPERATIONS = {"kernel": "kernel", "gpu_memcpy": "memory", "gpu_memset": "memory"}
LAUNCHES = ("cuda_runtime", "cuda_driver")
ABSENT = msgspec.Raw(b"")


class Args(msgspec.Struct, gc=False):
    """The arguments that we read; Kineto writes many more."""

    correlation: int | None = None
    device: int | None = None
    stream: int | None = None
    grid: msgspec.Raw = ABSENT
    block: msgspec.Raw = ABSENT
    bytes: int | None = None
    input_dims: msgspec.Raw = msgspec.field(name="Input Dims", default=ABSENT)
    graph_node: msgspec.Raw = msgspec.field(name="graph node id", default=ABSENT)


class Event(msgspec.Struct, gc=False):
    """One entry of traceEvents; ``ts`` and ``dur`` are microseconds with up to three decimals."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    tid: int | str | None = None
    ts: msgspec.Raw = ABSENT
    dur: msgspec.Raw = ABSENT
    args: Args | None = None


class Link(msgspec.Struct, gc=False):
    """The one argument by which calls and operations find each other."""

    correlation: int | None = None


class Linked(msgspec.Struct, gc=False):
    """What attributing kernels to operators needs of an event."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    tid: int | str | None = None
    ts: msgspec.Raw = ABSENT
    dur: msgspec.Raw = ABSENT
    args: Link | None = None


class Bare(msgspec.Struct, gc=False):
    """What the kernel table alone needs of an event."""

    ph: str = ""
    cat: str = ""
    name: str = ""
    dur: msgspec.Raw = ABSENT
