"""Events of a trace for what the books leave out: as they stand in the file, and found by time without a search."""

import gzip
import json
import random
from decimal import Decimal
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

from kernel_ledger.timeline.pftrace import field, varint
from kernel_ledger.trace_events import KEPT, Following, TraceEvent, has_events, read_events

RECORDED = sorted(
    (Path(__file__).parents[1] / "reports/h200-reference/captures").glob("*/*/torch/*/trace.json.gz")
)


@pytest.mark.parametrize("path", RECORDED, ids=lambda p: p.parent.name)
def test_the_events_are_those_of_the_file(path):
    whole = json.loads(gzip.decompress(path.read_bytes()), parse_float=Decimal)
    expected = [
        (e["name"], e["cat"], e["tid"], int(e["ts"] * 1000), int((e["ts"] + e["dur"]) * 1000))
        for e in whole["traceEvents"]
        if e["ph"] == "X" and e["cat"] in KEPT
    ]
    found = read_events(path)
    assert [(e.name, e.category, e.thread, e.start, e.end) for e in found.events] == sorted(
        expected, key=lambda e: (e[3], -e[4])
    )
    assert found.device == whole["deviceProperties"][0]
    kernels = [dict(e.args) for e in found.events if e.category == "kernel"]
    assert kernels == [
        e["args"]
        for e in sorted(whole["traceEvents"], key=lambda e: e.get("ts", 0))
        if e.get("cat") == "kernel"
    ]
    launched = [e for e in found.events if e.category in ("kernel", "cuda_runtime") and e.correlation]
    assert launched and all(
        e.args["correlation"] == e.correlation for e in launched if e.category == "kernel"
    )
    assert has_events(path, "cpu_op") and not has_events(path, "python_function")


@pytest.mark.parametrize("seed", range(40))
def test_the_event_around_a_moment_is_the_first_that_holds_it(seed):
    rng = random.Random(seed)
    time, events = 0, []
    for _ in range(rng.randrange(12)):
        start = time + rng.randrange(3)
        time = start + rng.randrange(5)
        events.append(TraceEvent("w/v", "user_annotation", 1, start, time, {}))
    if seed % 3 == 0:
        rng.shuffle(events)
    following = Following(events)
    for moment in range(-1, time + 3):
        holding = [number for number, e in enumerate(events) if e.start <= moment <= e.end]
        assert following.holding(moment) == (holding[0] if holding else None)


def test_a_search_among_many_events_does_not_look_at_each():
    class Looked(list):
        count = 0

        def __getitem__(self, at):
            Looked.count += 1
            return super().__getitem__(at)

    events = Looked(TraceEvent("w/v", "user_annotation", 1, n * 10, n * 10 + 5, {}) for n in range(10_000))
    following = Following(events)
    assert following.holding(55_552) == 5555 and following.holding(55_558) is None
    assert Looked.count <= 2


def test_a_file_of_packets_is_what_protobuf_writes_of_them_together():
    packets = [perfetto.TracePacket(timestamp=n, trusted_packet_sequence_id=1) for n in (1, 2**40, 2**63)]
    packets[1].track_event.log_message.body_iid = 7
    packets[2].trace_attributes.attribute.add(key="k" * 200, string_value="v" * 20_000)
    together = perfetto.Trace(packet=packets).SerializeToString(deterministic=True)
    assert b"".join(map(field, packets)) == together
    assert [varint(n) for n in (0, 127, 128, 300)] == [b"\0", b"\x7f", b"\x80\x01", b"\xac\x02"]
