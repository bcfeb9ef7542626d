"""Records the allocator's history round a block of the program."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from tidegauge.arguments import shown, whole_of
from tidegauge.errors import UsageError

from ._engine import open_trace
from ._live import devices, events_made, history_on, start_history, stop_history, torch_module
from ._snapshot import snapshot

if TYPE_CHECKING:
    from tidegauge import Trace

P = ParamSpec("P")
T = TypeVar("T")

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
        self._max_events = whole_of(max_events, "max_events", "Give 1 or more", 1)
        self._stacks, self._started = stacks, False
        self._trace: Trace | None = None
        self._began_us = 0
        self._made: list[int] = []

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

    def __enter__(self) -> Recording:
        torch_module().cuda.init()
        if not history_on():
            start_history(self._max_events, stacks=self._stacks)
            self._started = True
        self._made = [events_made(device) for device in devices()]
        self._began_us = time.time_ns() // 1000
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        try:
            self.snapshot, self._trace = snapshot(), None
            if not self._started:
                since = [events_made(device) - made for device, made in enumerate(self._made)]
                _keep_since(self.snapshot, self._began_us, since, self._max_events)
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


def _begin_of_newest(events: list[dict[str, Any]], count: int) -> int:
    """Where the newest `count` events of the allocator begin. Marks of snapshots are no events of it."""
    first = len(events)
    while first > 0 and count > 0:
        first -= 1
        count -= events[first]["action"] != "snapshot"
    return first


class _Record(Recording):
    """`record()`: a recording that can also decorate a function."""

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        return _decorated(function, self._max_events, self._stacks)


def _decorated(function: Callable[P, T], max_events: int, stacks: str) -> Callable[P, T]:
    @wraps(function)
    def recorded(*args: P.args, **kwargs: P.kwargs) -> T:
        recording = Recording(max_events, stacks)
        recorded.recording = recording  # type: ignore[attr-defined]
        with recording:
            return function(*args, **kwargs)

    return recorded


@overload
def record(function: Callable[P, T], /) -> Callable[P, T]: ...
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
        ValueError: an argument is out of its range.
    """
    if function is not None:
        return _decorated(function, max_events, stacks)
    return _Record(max_events, stacks)
