"""The events of one device, spooled to a temporary file: 36 bytes each, so that ten million fit
anywhere, and the snapshot can begin with the segments although those are known last.
"""

import struct
import tempfile

from allocator import (ACTIONS, ALLOC, FREE_COMPLETED, SEGMENT_ALLOC, SEGMENT_FREE, SEGMENT_MAP,
                       SEGMENT_UNMAP)

# action, stream, pool, label, stack, block_bytes / 512, address, size, time_us
RECORD = struct.Struct("<BBBBIIQQQ")
NO_STACK = 0xFFFFFFFF
AT_START = -1  # a step
CHUNK = 4096 * RECORD.size


class EventLog:
    def __init__(self):
        self.file = tempfile.TemporaryFile(buffering=1 << 20)
        self.count = 0
        self.first = 0  # the ring has overwritten the records before this one

    def add(self, *fields):
        self.file.write(RECORD.pack(*fields))
        self.count += 1

    def keep_last(self, count):
        """What a ring buffer of that many entries does."""
        self.first = max(0, self.count - count)

    def __iter__(self):
        self.file.seek(self.first * RECORD.size)
        while chunk := self.file.read(CHUNK):
            yield from RECORD.iter_unpack(chunk)

    def written(self, skipped):
        """The records whose action is not in skipped."""
        return self if not skipped else (record for record in self if record[0] not in skipped)

    def written_count(self, skipped):
        return self.count - self.first if not skipped else sum(1 for _ in self.written(skipped))


class Peak:
    """Running total and its maximum; the start is not known until the end is."""

    def __init__(self):
        self.now = self.step = 0
        self.most = float("-inf")

    def change(self, delta, step):
        self.now += delta
        if self.now > self.most:
            self.most, self.step = self.now, step

    def result(self, final):
        most, step = (self.now, 0) if self.most == float("-inf") else (self.most, self.step)
        if most < 0:  # no state after an event is as high as that before the first one
            most, step = 0, AT_START
        return {"bytes": most + final - self.now, "step": step}


def truth(log, skipped, allocator, live_blocks):
    """What a reader must find in this device's part of the file.

    Peaks are maxima over the states after each event of the file, with the first step that reaches
    them; step −1: only the state before the first event is that high. requested and active bytes count a block from its alloc to its free_completed. Events that
    were skipped still move the totals, at the step of the last one written.
    """
    counts = dict.fromkeys(ACTIONS, 0)
    requested, active, reserved = Peak(), Peak(), Peak()
    born, step, orphans = set(), -1, 0
    for action, _, _, _, _, units, address, size, _ in log:
        if action not in skipped:
            step += 1
            counts[ACTIONS[action]] += 1
        if step < 0:
            step = 0
        if action == ALLOC:
            requested.change(size, step)
            active.change(units * 512, step)
            if action not in skipped:
                born.add(address)
        elif action == FREE_COMPLETED:
            requested.change(-size, step)
            active.change(-units * 512, step)
            if address in born:
                born.remove(address)
            elif action not in skipped:
                orphans += 1
        elif action in (SEGMENT_ALLOC, SEGMENT_MAP):
            reserved.change(size, step)
        elif action in (SEGMENT_FREE, SEGMENT_UNMAP):
            reserved.change(-size, step)
        if step == 0:  # the state after the first event counts, also where that event changed nothing
            for peak in (requested, active, reserved):
                peak.change(0, 0)
    live_requested = sum(block.requested for block in live_blocks)
    return {
        "events": sum(counts.values()),
        "actions": {name: count for name, count in counts.items() if count},
        "peak_requested": requested.result(live_requested),
        "peak_active": active.result(allocator.active),
        "peak_reserved": reserved.result(allocator.reserved),
        "live_at_end": {"count": len(live_blocks), "requested_bytes": live_requested,
                        "active_bytes": allocator.active},
        "reserved_at_end_bytes": allocator.reserved,
        "live_without_alloc": sum(block.address not in born for block in live_blocks),
        "frees_without_alloc": orphans,
    }
