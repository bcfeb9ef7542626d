"""What of the allocator's state can be taken now without harm: all, the state alone, or counters."""

from __future__ import annotations

import pathlib
from dataclasses import dataclass

from tidegauge.sizes import human_bytes

from . import _files, _host, _live

# Memory that the writing itself needs beyond what PyTorch needs to hand out the snapshot.
WRITE_BYTES = 64 << 20
WRITE_BYTES_PER_EVENT = 60
# A file has 60 to 75 bytes per event, more with deep stacks that never repeat.
FILE_BYTES_PER_EVENT = 150
FILE_BYTES_PER_BLOCK = 200
# Only this share of what is free is used: the program itself continues to allocate.
SHARE = 0.8

EVENTS, STATE, COUNTERS = "events", "state", "counters"


@dataclass(frozen=True)
class Plan:
    """What to take, and why not more."""

    take: str
    reason: str = ""


@dataclass(frozen=True)
class Cost:
    """The most that a snapshot takes: host memory, file, time."""

    memory_bytes: int
    file_bytes: int
    seconds: float


def cost_of(events: int, blocks: int) -> Cost:
    """The cost of a snapshot with that number of events and blocks."""
    memory = WRITE_BYTES + events * (_live.HAND_OUT_BYTES + WRITE_BYTES_PER_EVENT) + blocks * _live.BLOCK_BYTES
    size = (1 << 20) + events * FILE_BYTES_PER_EVENT + blocks * FILE_BYTES_PER_BLOCK
    return Cost(memory, size, 0.05 + (events + blocks) * _live.HAND_OUT_S)


def _refusal(cost: Cost, memory: _host.Headroom, disk_bytes: int, left_s: float) -> str:
    """Why this cannot be taken; empty if it can."""
    if cost.memory_bytes > SHARE * memory.bytes:
        return (f"it needs up to {human_bytes(cost.memory_bytes)} of host memory, and "
                f"{human_bytes(memory.bytes)} are left ({memory.limit})")
    if cost.file_bytes > disk_bytes:
        return (f"its file has up to {human_bytes(cost.file_bytes)}, and the disk or the folder's "
                f"budget has room for {human_bytes(max(0, disk_bytes))}")
    if cost.seconds > left_s:
        return f"it takes up to {cost.seconds:.0f} s, and {max(0.0, left_s):.0f} s are left"
    return ""


def plan_for(events: int, blocks: int, memory: _host.Headroom, disk_bytes: int, left_s: float,
             can_skip_events: bool) -> Plan:
    """Chooses the most that fits into memory, disk and time.

    Args:
        events: an upper bound of the events of all devices.
        blocks: the blocks of all devices.
        memory: what is left of host memory.
        disk_bytes: what a file may have.
        left_s: the time that is left, in seconds.
        can_skip_events: whether PyTorch can hand out the state without events.
    """
    whole, state = cost_of(events, blocks), cost_of(0, blocks)
    refusal = _refusal(whole, memory, disk_bytes, left_s)
    if not refusal:
        return Plan(EVENTS if events else STATE)
    reason = f"the snapshot was left out: {refusal}"
    if events and can_skip_events and not _refusal(state, memory, disk_bytes, left_s):
        return Plan(STATE, f"the events were left out: {refusal}")
    return Plan(COUNTERS, reason)


def room_on_disk(folder: pathlib.Path, pattern: str, most_bytes: int, keep_free_bytes: int) -> int:
    """Bytes that a new file may have: within the folder's budget, and leaving the disk some room."""
    _, used = _files.size_of(folder, pattern)
    return min(most_bytes - used, _files.free_bytes(folder) - keep_free_bytes)


def plan_now(folder: pathlib.Path, pattern: str, most_bytes: int, keep_free_bytes: int, left_s: float) -> Plan:
    """`plan_for()` with the figures of this moment."""
    return plan_for(_live.events_at_most(), _live.blocks_at_most(), _host.headroom(),
                    room_on_disk(folder, pattern, most_bytes, keep_free_bytes), left_s, _live.can_skip_events())
