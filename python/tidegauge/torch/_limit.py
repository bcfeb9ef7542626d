"""A limit on the memory that a block of the program allocates."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from tidegauge import Error
from tidegauge.arguments import truth_of
from tidegauge.sizes import Size, bytes_or_zero, counted, human_bytes

from . import _live
from ._decorating import held
from ._engine import open_trace
from ._peaks import PeakWatch
from ._record import RING_EVENTS
from ._snapshot import snapshot


P = ParamSpec("P")
T = TypeVar("T")


class MemoryLimitExceeded(Error):
    """More was allocated than `limit()` allows.

    Attributes:
        device: the ordinal.
        peak_bytes: the peak of allocated bytes inside the block.
        limit_bytes: what was allowed.
        holders: what held memory at the peak, the largest first, as text; empty without history.
    """

    def __init__(self, device: int, peak_bytes: int, limit_bytes: int, holders: list[str]) -> None:
        self.device, self.peak_bytes, self.limit_bytes, self.holders = device, peak_bytes, limit_bytes, holders
        over = human_bytes(peak_bytes - limit_bytes)
        text = (f"cuda:{device} had {human_bytes(peak_bytes)} allocated at the peak, {over} more than the limit of "
                f"{human_bytes(limit_bytes)}")
        super().__init__("\n  ".join([text + (". At the peak:" if holders else ""), *holders]))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.device, self.peak_bytes, self.limit_bytes, self.holders), self.__dict__


class History:
    """Records history while it is open, if the program does not do it itself."""

    def __init__(self, events: int, level: str = "all") -> None:
        self._events, self._level, self._open, self._started = events, level, False, False

    def start(self) -> None:
        """Begins now, or when the program starts CUDA."""
        self._open = True
        if _live.cuda_ready():
            self._begin()

    def begin_later(self) -> None:
        """Begins when the program starts CUDA, if that happens while this is open. Imports torch."""
        if not _live.cuda_ready():
            _live.when_cuda_starts(self._begin)

    def _begin(self) -> None:
        if self._open and not self._started and not _live.history_on():
            _live.start_history(self._events, level=self._level, context="alloc")
            self._started = True

    def stop(self) -> None:
        """Ends; PyTorch forgets the events if this object had begun the recording."""
        self._open = False
        if self._started:
            _live.stop_history()
            self._started = False


def holders_at_peak(device: int, rows: int = 3) -> list[str]:
    """What held memory at the recorded peak of a device, as lines of text."""
    if not _live.history_on():
        return []
    try:
        devices = open_trace(snapshot()).report().to_dict()["devices"]
        found = next(each for each in devices if each["device"] == device)["holders_at_peak"]["rows"]
    except (Error, OSError, LookupError, StopIteration, TypeError):
        return []  # the limit is what matters; without the engine the error has fewer lines
    return [f"{human_bytes(row['bytes'])} in {counted(row['blocks'], 'block')}  {row['label']}"
            + (f" ‹ {row['caller']}" if row.get("caller") else "") for row in found[:rows]]


class limit:
    """Raises `MemoryLimitExceeded` if more than a limit is allocated within a block. A context manager or a decorator.

        with tidegauge.torch.limit(peak="4GiB"):
            train_step()

    The block runs to its end: this is a test, not a wall. An exception of the block itself wins. What was allocated
    before the block counts, and so does what other threads allocate meanwhile; where the block itself calls
    `torch.cuda.reset_peak_memory_stats()`, only the peak after that is seen.

    Args:
        peak: the most bytes that may be allocated on a device at any time, such as "4GiB". Units are binary, as
            everywhere in Tidegauge: "4GB" is the same.
        device: the ordinal, "cuda:1" or a torch.device; None checks each device.
        explain: record history inside the block, so that the error says what held memory at the peak.
            Cost: about 1.7 µs per allocation.

    Raises:
        UsageError: `peak` is not a size, or `device` no number. It is a ValueError, too.
    """

    def __init__(self, peak: Size, *, device: Any = None, explain: bool = True) -> None:
        self._limit, self._device, self._explain = bytes_or_zero(peak, "peak"), _live.ordinal_of(device), truth_of(explain, "explain")
        self._watch, self._history = PeakWatch(), History(RING_EVENTS)

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        return held(lambda: limit(self._limit, device=self._device, explain=self._explain), function)

    def __enter__(self) -> limit:
        if self._explain:
            self._history.start()
            if _live.torch_imported():
                self._history.begin_later()
        self._watch.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        peaks = self._watch.stop()
        try:
            if kind is None:
                self.check(peaks)
        finally:
            self._history.stop()

    def check(self, peaks: dict[int, int]) -> None:
        """Raises if a device's peak, in bytes, is over the limit."""
        _live.check_ordinal(self._device)
        for device, peak in sorted(peaks.items()):
            if peak > self._limit and self._device in (None, device):
                raise MemoryLimitExceeded(device, peak, self._limit, holders_at_peak(device))
