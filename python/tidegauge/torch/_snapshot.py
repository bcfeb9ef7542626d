"""Takes a snapshot and adds what Tidegauge knows: names of tensors, and phases that PyTorch missed."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Iterator
from typing import Any

from tidegauge.arguments import path_of
from tidegauge.errors import UsageError, unwritable

from ._files import write_whole
from ._live import take
from ._names import registry
from ._phase import missing_phases
from ._stream import Items, write_snapshot

VERSION = 1


def _timed_devices(snapshot: dict[str, Any]) -> set[int]:
    """The devices whose events have times: there a time says which block of an address a name meant."""
    traces = snapshot.get("device_traces", [])
    return {device for device, events in enumerate(traces) if events and "time_us" in events[0]}


def _tensors(timed: set[int]) -> Iterator[dict[str, Any]]:
    """Names for a snapshot, joined to its blocks by address and time.

    A device without times has the blocks of now alone. There a name of a tensor that died would name a wrong
    block, so it is left out; so is the time, by which a reader could drop a name.
    """
    for each, is_live in registry.resolve() if timed else ((each, True) for each in registry.live()):
        if each.device in timed:
            yield each.to_dict()
        elif is_live:
            entry = each.to_dict()
            del entry["time_us"]
            yield entry


def _tensors_while_writing(timed: set[int]) -> Iterator[dict[str, Any]]:
    """Another thread may change an optimizer meanwhile. Then some names are missing, not the file."""
    try:
        yield from _tensors(timed)
    except RuntimeError:
        return


def with_names(snapshot: dict[str, Any], lazily: bool = False, past: bool = True) -> dict[str, Any]:
    """Adds the key "tidegauge", and phases to "external_annotations".

    Args:
        snapshot: changed in place.
        lazily: the names are resolved when the snapshot is written, and are never a list in memory.
        past: names of tensors that died, too, where times place them.
    """
    timed = _timed_devices(snapshot) if past else set()
    tensors = Items(_tensors_while_writing(timed)) if lazily else list(_tensors(timed))
    snapshot["tidegauge"] = {"version": VERSION, "tensors": tensors}
    missing = missing_phases(snapshot.get("external_annotations", []))
    if missing:
        snapshot["external_annotations"] = [*snapshot.get("external_annotations", []), *missing]
    return snapshot


def snapshot(events: bool = True) -> dict[str, Any]:
    """A snapshot of the live allocator: PyTorch's dictionary, with the names of tensors in it.

    `tidegauge.open(snapshot())` opens it without a file. Events and stacks are in it only if PyTorch
    recorded them; see `record()`.

    Args:
        events: False leaves the events out where PyTorch can (2.11 and newer).

    Returns:
        A dictionary: "segments", "device_traces", …, and "tidegauge".

    Raises:
        tidegauge.MissingFeatureError: PyTorch is not installed.
        RuntimeError: this process has no CUDA device.
    """
    return with_names(take(events), past=events)


def save(path: str | pathlib.Path, events: bool = True) -> int:
    """Writes a snapshot to a file, in bounded memory. The file is whole or absent.

    Args:
        path: the file, usually `….pickle`.
        events: as of `snapshot()`.

    Returns:
        The size of the file in bytes.

    Raises:
        UnwritableError: the file could not be written; an OSError, too.
    """
    target = path_of(path, "path")
    if not target or os.path.isdir(target):
        raise UsageError(f"{target or 'the path'} is {'a folder' if target else 'empty'}", advice="Give the name of a file, such as 'oom.pickle'")
    taken = with_names(take(events), lazily=True, past=events)
    try:
        return write_whole(pathlib.Path(target), lambda file: write_snapshot(file, taken))
    except OSError as error:
        raise unwritable(error, target) from None
