"""Reads a Perfetto trace as the trace processor does: interned names, stacks of slices, tracks with parents.

The trace processor itself is a binary that the package downloads when it is first used, so tests decode here.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket, TrackEvent


@dataclass
class Read:
    """``path``: names of the track and its parents, outermost first; ``end`` None: an instant."""

    path: tuple[str, ...]
    name: str
    category: str
    start: int
    depth: int
    end: int | None = None
    arguments: dict = field(default_factory=dict)
    flows: tuple[int, ...] = ()

    @property
    def duration(self) -> int:
        return self.end - self.start


def read(content: bytes) -> tuple[list[Read], dict[str, str], dict[str, str]]:
    """(slices, attributes of the trace, description of each track by name)."""
    trace = Trace.FromString(content)
    texts: dict[str, dict[int, str]] = {}
    paths: dict[int, tuple[str, ...]] = {}
    about, attributes, events = {}, {}, []
    for packet in trace.packet:
        assert packet.trusted_packet_sequence_id == 1
        for attribute in packet.trace_attributes.attribute:
            attributes[attribute.key] = attribute.string_value or attribute.long_value
        for table in ("event_names", "event_categories", "debug_annotation_names"):
            for entry in getattr(packet.interned_data, table):
                assert texts.setdefault(table, {}).setdefault(entry.iid, entry.name) == entry.name
        for entry in packet.interned_data.debug_annotation_string_values:
            texts.setdefault("strings", {})[entry.iid] = entry.str.decode()
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            own = track.process.process_name or track.name
            assert track.uuid not in paths
            paths[track.uuid] = (*(paths[track.parent_uuid] if track.parent_uuid else ()), own)
            about[own] = track.description
        if packet.HasField("track_event"):
            assert packet.sequence_flags == TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
            events.append(packet)
    assert trace.packet[0].sequence_flags == TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
    return list(stacked(events, texts, paths)), attributes, about


def stacked(events, texts, paths):
    stacks: dict[int, list[Read]] = {}
    found = []
    for packet in sorted(events, key=lambda p: p.timestamp):
        event, stack = packet.track_event, stacks.setdefault(packet.track_event.track_uuid, [])
        if event.type == TrackEvent.TYPE_SLICE_END:
            stack.pop().end = packet.timestamp
            continue
        one = Read(
            path=paths[event.track_uuid],
            name=texts["event_names"][event.name_iid],
            category=texts["event_categories"][event.category_iids[0]],
            start=packet.timestamp,
            depth=len(stack),
            arguments={
                texts["debug_annotation_names"][a.name_iid]: texts["strings"][a.string_value_iid]
                if a.string_value_iid
                else a.int_value
                for a in event.debug_annotations
            },
            flows=tuple(event.flow_ids),
        )
        found.append(one)
        if event.type == TrackEvent.TYPE_SLICE_BEGIN:
            stack.append(one)
    assert not any(stacks.values()), "slices that never end"
    return found
