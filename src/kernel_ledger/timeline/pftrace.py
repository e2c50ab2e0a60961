"""Writes a Perfetto trace (TrackEvent packets, https://perfetto.dev/docs/reference/synthetic-track-event).

The bytes depend on the slices alone: numbers instead of random ids, names interned in order of use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import (
    TracePacket,
    TrackDescriptor,
    TrackEvent,
)

from .slices import Slice, Value

SEQUENCE = 1
PACKET = b"\x0a"  # field 1, with a length
Point = tuple[int, int, Slice | None, int, int | None]  # time, kind of event, slice, track, flow


class Trace:
    """A trace under construction: tracks first, then events in any order, then its bytes."""

    def __init__(self, attributes: Mapping[str, Value]) -> None:
        self.head: list[TracePacket] = []
        self.points: list[Point] = []
        self.tracks = 0
        self.interned: dict[str, dict[str, int]] = {}
        first = self.first()
        first.sequence_flags = TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        for key, value in attributes.items():
            attribute = first.trace_attributes.attribute.add(key=key)
            setattr(attribute, "long_value" if isinstance(value, int) else "string_value", value)

    def first(self) -> TracePacket:
        """A packet that stands before all events."""
        self.head.append(TracePacket(trusted_packet_sequence_id=SEQUENCE))
        return self.head[-1]

    def track(self, name: str, *, parent: int | None = None, rank: int = 0, about: str = "") -> int:
        """A track's number; ``rank`` orders it among its siblings."""
        descriptor = self.descriptor(about)
        descriptor.name, descriptor.sibling_order_rank = name, rank
        descriptor.child_ordering = TrackDescriptor.EXPLICIT
        if parent is not None:
            descriptor.parent_uuid = parent
        return descriptor.uuid

    def process(self, pid: int, name: str, *, about: str = "") -> int:
        """A process's track; what has it as parent stands below it."""
        descriptor = self.descriptor(about)
        descriptor.process.pid, descriptor.process.process_name = pid, name
        descriptor.child_ordering = TrackDescriptor.EXPLICIT
        return descriptor.uuid

    def descriptor(self, about: str) -> TrackDescriptor:
        descriptor = self.first().track_descriptor
        self.tracks += 1
        descriptor.uuid = self.tracks
        if about:
            descriptor.description = about
        return descriptor

    def lane(self, track: int, slices: Iterable[Slice], shift: int, flows: int = 0) -> None:
        """Slices that nest, in order, onto a track; ``shift`` ns later than they were recorded.

        ``flows``: what correlation ids of this process count from.
        """
        open_slices: list[Slice] = []
        for one in slices:
            while open_slices and open_slices[-1].last <= one.start:
                self.end(track, open_slices.pop(), shift)
            kind = TrackEvent.TYPE_SLICE_BEGIN if one.whole else TrackEvent.TYPE_INSTANT
            flow = None if one.flow is None else flows + one.flow
            self.points.append((one.start + shift, kind, one, track, flow))
            if one.whole:
                open_slices.append(one)
        while open_slices:
            self.end(track, open_slices.pop(), shift)

    def end(self, track: int, one: Slice, shift: int) -> None:
        self.points.append((one.last + shift, TrackEvent.TYPE_SLICE_END, None, track, None))

    def serialize(self) -> bytes:
        """The file's bytes.  Events of one time keep the order in which their track was filled.

        Each packet becomes bytes at once: as a message it takes ten times as much memory.
        """
        file = bytearray().join(map(field, self.head))
        for point in sorted(self.points, key=lambda point: point[0]):
            file += field(self.event(*point))
        return bytes(file)

    def event(self, time: int, kind: int, one: Slice | None, track: int, flow: int | None) -> TracePacket:
        packet = TracePacket(trusted_packet_sequence_id=SEQUENCE, timestamp=time)
        packet.sequence_flags = TracePacket.SEQ_NEEDS_INCREMENTAL_STATE
        packet.track_event.type, packet.track_event.track_uuid = kind, track
        if one is not None:
            self.describe(packet, one)
        if flow is not None:
            packet.track_event.flow_ids.append(flow)
        return packet

    def describe(self, packet: TracePacket, one: Slice) -> None:
        """A slice's name, category and arguments, each text stored once in the file."""
        event = packet.track_event
        event.name_iid = self.intern(packet, "event_names", one.name or "(no name)")
        event.category_iids.append(self.intern(packet, "event_categories", one.category))
        arguments = list(one.arguments)
        if not one.whole:
            arguments.append(
                ("not a slice", "never closed" if one.end is None else f"ends {one.start - one.end} ns before it starts")
            )  # fmt: skip
        for key, value in arguments:
            annotation = event.debug_annotations.add()
            annotation.name_iid = self.intern(packet, "debug_annotation_names", key)
            if isinstance(value, int):
                annotation.int_value = value
            else:
                annotation.string_value_iid = self.intern(packet, "debug_annotation_string_values", value)

    def intern(self, packet: TracePacket, table: str, text: str) -> int:
        numbers = self.interned.setdefault(table, {})
        if text not in numbers:
            numbers[text] = len(numbers) + 1
            entry = getattr(packet.interned_data, table).add(iid=numbers[text])
            plain = text.encode(errors="replace")  # what a tool recorded need not be Unicode
            if table == "debug_annotation_string_values":
                entry.str = plain
            else:
                entry.name = plain.decode()
        return numbers[text]


def field(packet: TracePacket) -> bytes:
    """A packet as one entry of the file's only field: its number and type, its length, its bytes."""
    content = packet.SerializeToString(deterministic=True)
    return PACKET + varint(len(content)) + content


def varint(value: int) -> bytes:
    """A number as protobuf writes lengths: 7 bits a byte, the lowest first, and a bit where more follow."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    written.append(value)
    return bytes(written)
