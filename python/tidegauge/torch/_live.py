"""The live allocator of PyTorch, behind functions that hide what differs from 2.1 to the newest.

Nothing here imports torch before it is called.
"""

from __future__ import annotations

import gc
import importlib
import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from ..arguments import whole_of
from ..errors import UsageError
from ..libraries import library
from ..sizes import counted

# Host memory that PyTorch needs to hand out one event, in bytes. Measured: 850 with 2.15, 720 with 2.8, 490
# with 2.1.
HAND_OUT_BYTES = 1100
# The same for one block of a segment.
BLOCK_BYTES = 1500
# Time to hand out one event, in seconds. Measured: 1.5 µs of the processor, 3 µs on a busy host.
HAND_OUT_S = 10e-6

_ring: dict[str, int] = {}


def torch_module() -> Any:
    """The module torch. It is imported here if the program did not do it yet.

    Raises:
        MissingFeatureError: PyTorch is not installed.
    """
    return library("torch", "torch", called="PyTorch")


def cuda_ready() -> bool:
    """Whether this process uses CUDA through PyTorch already. Never starts it."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return bool(cuda is not None and cuda.is_initialized())


def when_cuda_starts(act: Callable[[], None]) -> None:
    """Calls `act` now if CUDA runs, else when PyTorch starts it.

    Starting CUDA here would break programs that fork workers first or choose their device later.
    """
    cuda = torch_module().cuda
    if cuda.is_initialized():
        act()
    else:
        cuda._lazy_call(act)


def devices() -> range:
    """The ordinals of the devices; empty while CUDA does not run."""
    return range(torch_module().cuda.device_count()) if cuda_ready() else range(0)


def ordinal_of(device: Any, name: str = "device") -> int | None:
    """The ordinal of a device as PyTorch takes it: 1, "cuda:1" or torch.device("cuda:1"); None for None.

    Raises:
        UsageError: it is something else, or this process uses CUDA and has no such device.
    """
    found = re.fullmatch(r"cuda:(\d{1,5})", str(device)) if isinstance(device, str) or hasattr(device, "index") and hasattr(device, "type") else None
    advice = "Give the number of a GPU, 'cuda:0', or None"
    ordinal = int(found[1]) if found else None if device is None else whole_of(device, name, advice, 0, (1 << 31) - 1)
    check_ordinal(ordinal)
    return ordinal


def check_ordinal(ordinal: int | None) -> None:
    """Raises UsageError if this process uses CUDA and has no such device: a limit that nobody checks never fails."""
    if ordinal is not None and cuda_ready() and ordinal not in devices():
        raise UsageError(f"there is no cuda:{ordinal}", advice=f"PyTorch has {counted(len(devices()), 'device')}, from cuda:0")


def stats(device: int) -> dict[str, int]:
    """`torch.cuda.memory_stats()` of a device: bytes and counts."""
    found: dict[str, int] = dict(torch_module().cuda.memory_stats(device))
    return found


def history_on() -> bool:
    """Whether PyTorch records its allocator's events or stacks now."""
    return cuda_ready() and bool(torch_module()._C._cuda_isHistoryEnabled())


def start_history(max_entries: int, level: str = "all", context: str = "all", stacks: str = "python") -> None:
    """Switches the recording of history on.

    Args:
        max_entries: the size of the ring of each device, in events. 240 to 400 bytes of host memory each.
        level: "all" records events; "state" records the stacks of live blocks alone.
        context: "all" records the stack of each free as well; "alloc" those of allocations alone.
        stacks: "python", or "all" for C++ frames as well.
    """
    record = torch_module().cuda.memory._record_memory_history
    options: dict[str, Any] = {"context": context, "stacks": stacks, "max_entries": max_entries}
    if "global_record_annotations" in inspect.signature(record).parameters:
        options["global_record_annotations"] = True  # phases of all threads (2.8)
    record(level, **options)
    _ring["entries"] = max_entries


def stop_history() -> None:
    """Switches the recording off. PyTorch then forgets the events."""
    torch_module().cuda.memory._record_memory_history(None)
    _ring.clear()


def events_made(device: int) -> int:
    """How many events the allocator of a device has had, by its counters; those of expandable segments are not counted."""
    counts = stats(device)
    made = counts.get("allocation.all.allocated", 0) + counts.get("allocation.all.freed", 0)
    made += counts.get("active.all.freed", 0) + counts.get("num_ooms", 0)
    return made + counts.get("segment.all.allocated", 0) + counts.get("segment.all.freed", 0)


def events_at_most() -> int:
    """An upper bound of the events that a snapshot of this moment has; 0 without history.

    PyTorch does not say how long its ring is. The counters of the allocator bound it: an allocation makes
    one event, a free two.
    """
    if not history_on():
        return 0
    total = 0
    for device in devices():
        counts = stats(device)
        made = counts.get("allocation.all.allocated", 0) + 2 * counts.get("allocation.all.freed", 0)
        made += counts.get("segment.all.allocated", 0) + counts.get("segment.all.freed", 0)
        made += counts.get("num_ooms", 0)
        total += min(made, _ring.get("entries", made))
    return total


def blocks_at_most() -> int:
    """How many blocks the segments of all devices have now."""
    total = 0
    for device in devices():
        counts = stats(device)
        total += counts.get("active.all.current", 0) + counts.get("segment.all.current", 0)
        total += counts.get("inactive_split.all.current", 0)
    return total


def can_skip_events() -> bool:
    """Whether PyTorch hands out segments without events (2.11 and newer)."""
    parameters = inspect.signature(torch_module().cuda.memory.memory_snapshot).parameters
    return "include_traces" in parameters


@contextmanager
def without_collector() -> Iterator[None]:
    """Stops the garbage collector: it would search millions of new dictionaries again and again."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


class _NoCompiledCode(ModuleType):
    """Stands for torch._inductor, which nothing has imported: so it has no compiled code to look up."""

    def __getattr__(self, name: str) -> Any:
        if name == "codecache":
            raise AttributeError(name)
        return getattr(importlib.import_module("torch._inductor"), name)  # asked by another thread


@contextmanager
def without_imports() -> Iterator[None]:
    """Keeps PyTorch from importing its compiler for a snapshot: 800 modules, more than 100 MB and a second.

    PyTorch asks for the attribute torch._inductor to translate stacks, and asking imports it.
    """
    torch = torch_module()
    stand_in = _NoCompiledCode("torch._inductor")
    if "torch._inductor" not in sys.modules:
        torch.__dict__.setdefault("_inductor", stand_in)
    try:
        yield
    finally:
        if torch.__dict__.get("_inductor") is stand_in:
            del torch.__dict__["_inductor"]


def take(events: bool = True) -> dict[str, Any]:
    """What the allocators of all devices hold now, as `torch.cuda.memory._snapshot()` returns it.

    Args:
        events: False leaves the events out where PyTorch can (2.11); `can_skip_events()`.
    """
    torch = torch_module()
    with without_collector(), without_imports():
        if events or not can_skip_events():
            taken = torch.cuda.memory._snapshot()
        else:
            taken = torch._C._cuda_memorySnapshot((0, 0, False))
    snapshot: dict[str, Any] = dict(taken)
    return snapshot


def torch_imported() -> bool:
    """Whether the program imported torch."""
    return "torch" in sys.modules
