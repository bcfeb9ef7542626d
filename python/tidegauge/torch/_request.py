"""The size of a request that failed, behind the size of the segment that the allocator asked for.

    requested 4 MiB  ->  the allocator asks the driver for a segment of 20 MiB  ->  the observer hears of 20 MiB

The event "oom" of the history has the request. Without it only bounds are known.
"""

from __future__ import annotations

from typing import Any

SMALL_SEGMENT, LARGE_SEGMENT = 2 << 20, 20 << 20
SMALL_REQUEST = 1 << 20
BLOCK_BYTES = 512
# A segment of more than 20 MiB is the request, rounded up to this.
ROUND_BYTES = 2 << 20
# Sizes that come from the text of an error are rounded to four digits.
TEXT_ERROR = 1.01


def least_request(segment: int) -> int:
    """The smallest request for which PyTorch asks for such a segment, in bytes."""
    if segment <= SMALL_SEGMENT:
        return min(segment, BLOCK_BYTES)
    if segment == LARGE_SEGMENT:
        return SMALL_REQUEST + BLOCK_BYTES
    return segment - ROUND_BYTES + BLOCK_BYTES


def requested_of(snapshot: dict[str, Any], device: int, segment: int) -> int | None:
    """The request that failed last, as the report of this snapshot has it; None if no event has it.

    Args:
        device: the ordinal.
        segment: the bytes that the allocator asked for; 0 if not even that is known.
    """
    traces = snapshot.get("device_traces", [])
    for event in reversed(traces[device] if device < len(traces) else []):
        if event["action"] == "oom" and (not segment or event["size"] <= segment * TEXT_ERROR):
            return int(event["size"])
    return None
