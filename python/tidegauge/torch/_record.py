"""Records the allocator's history round a block of the program."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from tidegauge.arguments import shown, whole_of
from tidegauge.errors import UsageError

from ._decorating import held
from ._engine import open_trace
from ._live import devices, events_made, history_on, start_history, stats, stop_history, torch_module
from ._snapshot import snapshot

if TYPE_CHECKING:
    from tidegauge import Trace

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

# As PyTorch's examples have it: some 40 MB of host memory per device when full.
RING_EVENTS = 100_000


class Recording:
    """History of the allocator, from the start of a block to its end.

        with tidegauge.torch.record() as r:
            train()
        print(r.trace.report())

    If PyTorch records already, its ring is left as it is, and recording continues after the block. What happened
    before the block is then left out by its time (PyTorch 2.2 and newer; older ones record no times).
    The snapshot is taken at the end also when the block raises.

    Attributes:
        snapshot: PyTorch's dictionary, at the end of the block; None before.
    """

    def __init__(self, max_events: int = RING_EVENTS, stacks: str = "python") -> None:
        if stacks not in ("python", "all"):
            raise UsageError(f"stacks is {shown(stacks)}", advice="Give 'python' or 'all'")
        self.snapshot: dict[str, Any] | None = None
        self._max_events = whole_of(max_events, "max_events", "Give 1 to 1,000,000,000", 1, 1_000_000_000)
        self._stacks, self._started = stacks, False
        self._trace: Trace | None = None
        self._began_us = 0
        self._made: list[int] = []
        self._allocs: list[int] = []

    @property
    def trace(self) -> Trace:
        """The recording, opened by `tidegauge.open()` at the first use. No file is written.

        Raises:
            UsageError: the block has not ended.
        """
        if self._trace is None:
            if self.snapshot is None:
                raise UsageError("the recording has not ended", advice="Leave the with block first")
            self._trace = open_trace(self.snapshot)
        return self._trace

    def __repr__(self) -> str:
        state = "has ended" if self.snapshot is not None else "runs" if self._began_us else "has not begun"
        return f"<tidegauge.torch recording: {state}>"

    def __enter__(self) -> Recording:
        torch_module().cuda.init()
        if not history_on():
            start_history(self._max_events, stacks=self._stacks)
            self._started = True
        self._made = [events_made(device) for device in devices()]
        self._allocs = [_allocs(device) for device in devices()]
        self._began_us = time.time_ns() // 1000
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            was_on = history_on()
            self.snapshot, self._trace = snapshot(), None
            _drop_earlier_phases(self.snapshot, self._began_us)
            if not self._started:
                since = [events_made(device) - made for device, made in enumerate(self._made)]
                _keep_since(self.snapshot, self._began_us, since, self._max_events)
                _warn_if_cut(self.snapshot, [_allocs(device) - before for device, before in enumerate(self._allocs)], self._max_events)
            if not was_on:
                warnings.warn("history was switched off inside record(), so its events are missing", RuntimeWarning, stacklevel=2)
        finally:
            if self._started:
                stop_history()
                self._started = False


def _keep_since(snapshot: dict[str, Any], began_us: int, since: list[int], max_events: int) -> None:
    """Leaves out events from before that time, and all but the newest `max_events` of each device.

    The events of PyTorch 2.1 have no times. There the newest count, as many as each allocator made `since`.
    """
    traces = snapshot.get("device_traces", [])
    for i, events in enumerate(traces):
        if events and "time_us" not in events[-1]:
            made = since[i] if i < len(since) else 0
            # Less than none: the program has reset the counters meanwhile, so nothing is known.
            first = _begin_of_newest(events, made) if made >= 0 else 0
        else:
            first = next((at for at, event in enumerate(events) if event["time_us"] >= began_us), len(events))
        traces[i] = events[max(first, len(events) - max_events):]


def _allocs(device: int) -> int:
    """How many blocks the allocator has handed out."""
    return stats(device).get("allocation.all.allocated", 0)


def _warn_if_cut(snapshot: dict[str, Any], allocs: list[int], max_events: int) -> None:
    """The ring is the program's own: it may be shorter than the block. Allocs are counted: a program may skip other actions."""
    for device, events in enumerate(snapshot.get("device_traces", [])):
        kept = sum(event["action"] == "alloc" for event in events)
        made = allocs[device] if device < len(allocs) else 0
        if 0 < kept < made and len(events) < max_events:
            warnings.warn(f"PyTorch's own ring kept {kept:,} of the {made:,} allocations of this block on cuda:{device}: "
                          "give _record_memory_history() a larger max_entries, or do not call it before record()",
                          RuntimeWarning, stacklevel=3)


def _drop_earlier_phases(snapshot: dict[str, Any], began_us: int) -> None:
    """Drops the marks of phases that had ended before that time. Those that were open then stay."""
    marks = sorted(snapshot.get("external_annotations", []), key=lambda mark: int(mark["time_us"]))
    before = [mark for mark in marks if mark["time_us"] < began_us]
    opened: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for mark in before:
        own = opened.setdefault((mark["name"], mark["device"]), [])
        if mark["stage"] == "START":
            own.append(mark)
        elif own:
            own.pop()
    still_open = {id(mark) for own in opened.values() for mark in own}
    if before:
        snapshot["external_annotations"] = [mark for mark in marks if mark["time_us"] >= began_us or id(mark) in still_open]


def _begin_of_newest(events: list[dict[str, Any]], count: int) -> int:
    """Where the newest `count` events of the allocator begin. Marks of snapshots are no events of it."""
    first = len(events)
    while first > 0 and count > 0:
        first -= 1
        count -= events[first]["action"] != "snapshot"
    return first


class Recorded(Protocol[P, T_co]):
    """A function that `record()` decorates.

    Attributes:
        recording: of its newest call; it is missing before the first.
    """

    recording: Recording

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T_co: ...


class _Record(Recording):
    """`record()`: a recording that can also decorate a function."""

    def __call__(self, function: Callable[P, T]) -> Recorded[P, T]:
        return _decorated(function, self._max_events, self._stacks)


def _decorated(function: Callable[P, T], max_events: int, stacks: str) -> Recorded[P, T]:
    def enter() -> Recording:
        recording = recorded.recording = Recording(max_events, stacks)
        return recording

    recorded: Any = held(enter, function)
    found: Recorded[P, T] = recorded
    return found


@overload
def record(function: Callable[P, T], /) -> Recorded[P, T]: ...
@overload
def record(*, max_events: int = ..., stacks: str = ...) -> _Record: ...


def record(function: Callable[..., Any] | None = None, /, *, max_events: int = RING_EVENTS,
           stacks: str = "python") -> Any:
    """Records the allocator's history: a context manager, or a decorator with or without arguments.

    A decorated function keeps its newest recording in its attribute `recording`.

    Args:
        max_events: the ring of each device, in events; 240 to 400 bytes of host memory each. The newest
            are kept.
        stacks: "python", or "all" for C++ frames as well.

    Raises:
        tidegauge.MissingFeatureError: PyTorch is not installed.
        RuntimeError: at the start: this process has no CUDA device.
        UsageError: an argument is out of its range. It is a ValueError, too.
    """
    if function is not None:
        return _decorated(function, max_events, stacks)
    return _Record(max_events, stacks)
