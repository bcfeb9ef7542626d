"""Checks that memory does not grow from step to step."""

from __future__ import annotations

import atexit
import gc
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from tidegauge import Error
from tidegauge.arguments import whole_of
from tidegauge.sizes import bytes_or_zero, counted, human_bytes

from . import _live
from ._decorating import held
from ._holders import LiveHolder, holders
from ._limit import History
from ._phase import after_step
from ._snapshot import snapshot

P = ParamSpec("P")
T = TypeVar("T")

LEAST_STEPS = 6


class MemoryGrowth(Error):
    """Memory grew from step to step.

    Attributes:
        device: the ordinal.
        bytes_per_step: the median growth, in bytes.
        steps: how many steps were compared.
        holders: what grew, the largest first, as text; without stacks if history was off.
    """

    def __init__(self, device: int, bytes_per_step: float, steps: int, holders: list[str]) -> None:
        self.device, self.bytes_per_step, self.steps, self.holders = device, bytes_per_step, steps, holders
        text = f"memory of cuda:{device} grew by {human_bytes(round(bytes_per_step))} a step over {steps} steps"
        super().__init__("\n  ".join([text + (". What grew:" if holders else ""), *holders]))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.device, self.bytes_per_step, self.steps, self.holders), self.__dict__


def growth_of(values: Sequence[int]) -> float:
    """Bytes per step by which the values grow; 0 if they do not grow steadily.

    They grow if the smallest of the last third is above the largest of the first third. So memory that
    swings, or that grew once, does not count. The rate is the median of all slopes (Theil-Sen).
    """
    third = max(1, len(values) // 3)
    if len(values) < 2 or min(values[-third:]) <= max(values[:third]):
        return 0.0
    slopes = [(values[later] - values[early]) / (later - early)
              for later in range(len(values)) for early in range(later)]
    return max(0.0, median(slopes))


def grown(before: list[LiveHolder], after: list[LiveHolder], rows: int = 3) -> list[str]:
    """What holds more than before, as lines of text."""
    held = {each.label: each.bytes for each in before}
    more = sorted(((each.bytes - held.get(each.label, 0), each.label) for each in after), reverse=True)
    return [f"+{human_bytes(size)}  {label}" for size, label in more[:rows] if size > 0]


class assert_no_growth:
    """Raises `MemoryGrowth` if allocated memory grows from step to step.

        for _ in tidegauge.torch.assert_no_growth(steps=20):   # an iterator
            train_step()

        with tidegauge.torch.assert_no_growth(steps=20):       # or a block; step() ends each step
            for batch in batches:
                train_step(batch)
                tidegauge.torch.step()

        @tidegauge.torch.assert_no_growth(steps=20)            # or a function; each call is a step
        def train_step(batch): ...

    Reference cycles are collected at the end of each step. Stacks of live blocks are recorded meanwhile, so
    that the error says which line grew. The decorator records them inside the calls alone.

    Args:
        steps: how many steps are compared, 6 or more. Later ones are not.
        warmup: steps before them that may allocate what stays, such as optimizer state.
        allowed_bytes_per_step: growth that is accepted.

    Raises:
        UsageError: fewer than 6 steps, or a negative argument.
        Error: a block ended before its steps did. (A loop or a decorated function that did warns.)
    """

    def __init__(self, steps: int, *, warmup: int = 3, allowed_bytes_per_step: int = 0) -> None:
        self._steps = whole_of(steps, "steps", f"Give {LEAST_STEPS} or more: fewer do not show growth", LEAST_STEPS)
        self._warmup = whole_of(warmup, "warmup", "Give 0 or more", 0)
        self._allowed = bytes_or_zero(allowed_bytes_per_step, "allowed_bytes_per_step")
        self._end: Callable[[], None] = lambda: None
        self._seen = 0
        self._values: dict[int, list[int]] = {}
        self._before: dict[int, list[LiveHolder]] = {}
        self._history = History(1, level="state")

    def _begin(self) -> None:
        self._seen = 0
        self._values.clear()
        self._before.clear()
        self._record()

    def _record(self) -> None:
        self._history.start()
        if _live.torch_imported():
            self._history.begin_later()

    def _holders(self) -> dict[int, list[LiveHolder]]:
        taken = snapshot(events=False)
        return {device: holders(taken, device) for device in _live.devices()}

    def step(self) -> None:
        """Ends a step. Needed only where `tidegauge.torch.step()` is not called."""
        self._seen += 1
        if self._seen < self._warmup or self._seen > self._warmup + self._steps:
            return
        gc.collect()
        if self._seen == self._warmup or (self._warmup == 0 and self._seen == 1):
            self._before = self._holders()
        if self._seen > self._warmup:
            for device in _live.devices():
                now = _live.stats(device).get("allocated_bytes.all.current", 0)
                self._values.setdefault(device, []).append(now)
        if self._seen == self._warmup + self._steps:
            self._judge()

    def _judge(self) -> None:
        try:
            for device, values in self._values.items():
                growth = growth_of(values)
                if growth > self._allowed:
                    raise MemoryGrowth(device, growth, len(values),
                                       grown(self._before.get(device, []), self._holders().get(device, [])))
        finally:
            self._history.stop()

    def __enter__(self) -> assert_no_growth:
        self._begin()
        self._end = after_step(lambda number: self.step())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._end()
        self._history.stop()
        if kind is None and self._seen < self._wanted:
            raise Error(self._unjudged(), advice="Call tidegauge.torch.step() after each step")

    def __iter__(self) -> Iterator[int]:
        self._begin()
        try:
            for number in range(self._wanted):
                yield number
                self.step()
        except GeneratorExit:
            self._say_if_unjudged("the loop ended early")
            raise
        finally:
            self._history.stop()

    @contextmanager
    def _one_call(self) -> Iterator[None]:
        if self._seen == 0:
            self._begin()
            atexit.register(self._say_if_unjudged, "the decorated function was called too seldom")
        elif self._seen < self._wanted:
            self._record()
        try:
            yield
            self.step()
        finally:
            self._history.stop()  # nobody says which call is the last

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        return held(self._one_call, function)

    @property
    def _wanted(self) -> int:
        return self._warmup + self._steps

    def _unjudged(self) -> str:
        return (f"assert_no_growth() saw {counted(self._seen, 'step')} of {self._wanted}, "
                f"{self._warmup} to warm up and {self._steps} to compare")

    def _say_if_unjudged(self, why: str) -> None:
        """A test that judges nothing must not look like one that passed."""
        if 0 < self._seen < self._wanted:
            warnings.warn(f"{self._unjudged()}, so nothing was judged: {why}", RuntimeWarning, stacklevel=3)
