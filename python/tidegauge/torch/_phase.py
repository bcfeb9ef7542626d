"""Phases of the program: annotations of the recording, and of PyTorch's profiler.

A phase is a `record_function` of PyTorch. Its snapshots keep those since 2.5, and those of other threads
only since 2.8. So phases are kept here, too, and what a snapshot lacks is added to it.
"""

from __future__ import annotations

import itertools
import sys
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

from tidegauge.arguments import text_of

from ._decorating import held
from ._live import cuda_ready
from ._names import now_us, refresh

P = ParamSpec("P")
T = TypeVar("T")

# The newest marks are kept: half a phase each.
MARKS = 20_000
# PyTorch's clock and Python's may differ by this much, in microseconds.
CLOCKS_DIFFER_US = 2000


class _Mark(NamedTuple):
    name: str
    stage: str
    device: int
    begin_us: int
    end_us: int  # PyTorch's own mark lies between the two


_marks: deque[_Mark] = deque(maxlen=MARKS)
_steps = itertools.count()
_after_step: list[Callable[[int], None]] = []


def _device() -> int:
    return int(sys.modules["torch"].cuda.current_device()) if cuda_ready() else 0


def _range(name: str) -> AbstractContextManager[Any]:
    """PyTorch's range; nothing while the program has not imported torch."""
    torch = sys.modules.get("torch")
    profiler = getattr(torch, "profiler", None)
    if profiler is None:
        return nullcontext()
    found: AbstractContextManager[Any] = profiler.record_function(name)
    return found


class phase:
    """A named part of the program, as a context manager or a decorator.

        with tidegauge.torch.phase("forward"):
            loss = model(batch)

    Phases nest, and each thread has its own. Cost: about 10 µs, whether or not anything records.

    Args:
        name: as the reports and the timeline show it.
    """

    def __init__(self, name: str) -> None:
        self.name = text_of(name, "name", "Give the name of the phase, such as 'forward'")
        self._ranges: list[AbstractContextManager[Any]] = []

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        return held(lambda: phase(self.name), function)  # it may run in two threads, or call itself

    def __enter__(self) -> phase:
        begin = now_us()
        entered = _range(self.name)
        entered.__enter__()
        self._ranges.append(entered)
        _marks.append(_Mark(self.name, "START", _device(), begin, now_us()))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        begin = now_us()
        self._ranges.pop().__exit__(kind, error, trace)
        _marks.append(_Mark(self.name, "END", _device(), begin, now_us()))


def step() -> int:
    """Marks the end of a step of the program, such as one batch of a training.

    The mark is an annotation "step N" without length. Reports of growth count them. Names of gradients
    are refreshed, and periodic snapshots and `assert_no_growth()` count their steps by it.

    Returns:
        The number of the step, from 0.
    """
    number = next(_steps)
    with phase(f"step {number}"):
        pass
    refresh()
    for act in list(_after_step):
        act(number)
    return number


def after_step(act: Callable[[int], None]) -> Callable[[], None]:
    """Calls `act` with the number of each later step; returns what ends that."""
    _after_step.append(act)

    def end() -> None:
        if act in _after_step:
            _after_step.remove(act)

    return end


def missing_phases(known: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The marks kept here that are not among a snapshot's own annotations."""
    times: dict[tuple[str, str], list[int]] = {}
    for each in known:
        times.setdefault((each["name"], each["stage"]), []).append(each["time_us"])
    for own in times.values():
        own.sort()
    missing = []
    for mark in list(_marks):
        own = times.get((mark.name, mark.stage), [])
        at = bisect_left(own, mark.begin_us - CLOCKS_DIFFER_US)
        if at < len(own) and own[at] <= mark.end_us + CLOCKS_DIFFER_US:
            del own[at]
        else:
            missing.append({"name": mark.name, "stage": mark.stage, "device": mark.device, "time_us": mark.begin_us})
    return missing


def forget_phases() -> None:
    """Drops the marks kept so far."""
    _marks.clear()
