"""Who holds memory now: the blocks of a snapshot, summed by name of the tensor or by stack."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

FRAMES = 2
# Frames of PyTorch itself are skipped, to show the line of the program.
_LIBRARIES = (f"{os.sep}torch{os.sep}", f"{os.sep}torch_", "<frozen", "<string>")


@dataclass(frozen=True)
class LiveHolder:
    """Blocks with one name or one line of the program: their bytes, how many, and the label."""

    bytes: int
    blocks: int
    label: str


def label_of(frames: Iterable[dict[str, Any]]) -> str:
    """The innermost frame of the program, and its caller: `train.py:41 forward ‹ train.py:70 step`."""
    first, own = "", []
    for frame in frames:
        file = str(frame.get("filename", ""))
        text = f"{os.path.basename(file)}:{frame.get('line', 0)} {frame.get('name', '')}"
        first = first or text
        if file and file != "??" and not any(each in file for each in _LIBRARIES):
            own.append(text)
            if len(own) == FRAMES:
                break
    return " ‹ ".join(own) or first or "no stack recorded"


def _group(kind: str, name: str, of: str) -> str:
    """Gradients and optimizer state count together; a parameter counts for itself."""
    return {"gradient": "gradients", "optimizer_state": "optimizer state"}.get(kind, of or name)


class _Names:
    """Names by address, of one device."""

    def __init__(self, tensors: Iterable[dict[str, Any]], device: int) -> None:
        named = sorted((each["address"], _group(each["kind"], each["name"], each["of"]))
                       for each in tensors if each["device"] == device)
        self.addresses = [address for address, _ in named]
        self.labels = [label for _, label in named]

    def of(self, address: int, size: int) -> str:
        at = bisect_right(self.addresses, address + size - 1) - 1
        return self.labels[at] if at >= 0 and self.addresses[at] >= address else ""


def holders(snapshot: dict[str, Any], device: int) -> list[LiveHolder]:
    """The holders of a device's active memory, the largest first.

    Args:
        snapshot: as of `snapshot(events=False)`, which names only what lives. Stacks need history, names need `names()`.
        device: the ordinal.
    """
    names = _Names(snapshot.get("tidegauge", {}).get("tensors", []), device)
    sums: dict[str, tuple[int, int]] = {}
    for segment in snapshot["segments"]:
        if segment["device"] != device:
            continue
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                label = names.of(address, block["size"]) or label_of(block.get("frames", []))
                size, count = sums.get(label, (0, 0))
                sums[label] = size + block["size"], count + 1
            address += block["size"]
    return sorted((LiveHolder(size, count, label) for label, (size, count) in sums.items()),
                  key=lambda each: (-each.bytes, each.label))
