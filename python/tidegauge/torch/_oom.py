"""The hook that runs when PyTorch's allocator is out of memory.

    PyTorch: malloc fails -> frees its cache, tries again, fails
               -> observer (here; the allocator's lock is not held) -> OutOfMemoryError

The first failure writes; later ones only count, except those that are worse than all before and come from
another stack, and the one that ends the program. An exception in an observer would replace the OutOfMemoryError, so none leaves it.
"""

from __future__ import annotations

import math
import os
import pathlib
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from types import FrameType

from tidegauge.arguments import seconds_of, truth_of, whole_of
from tidegauge.sizes import Size, bytes_or_zero, counted

from . import _children, _live, _uncaught
from ._files import checked_folder, made_folder
from ._request import least_request
from ._write_oom import Failure, Stack, write_oom

SEEN_STACKS = 4096
FRAMES_OF_A_STACK = 64


@dataclass(frozen=True)
class Settings:
    """The arguments of `on_oom()`."""

    folder: str
    history: int = 0
    max_files: int = 3
    max_folder_bytes: int = 4 << 30
    keep_free_bytes: int = 1 << 30
    max_delay_s: float = 10.0
    report: bool = True
    spawned: bool = True


class OomHook:
    """What `on_oom()` returns: counts, files written, and `close()`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._reset()

    def _reset(self) -> None:
        self.ooms = 0
        self.files: list[pathlib.Path] = []
        self.closed = False
        self._worst_bytes = -1
        self._writes = 0
        self._seen: set[int] = set()
        self._busy = threading.Lock()
        self._written_ooms = 0  # `ooms` when the newest was written
        self._newest: dict[int, tuple[int, int, int]] = {}  # by device: its newest failure's segment, total and free bytes

    def close(self) -> None:
        """Ends the hook. History that it switched on stays on."""
        self.closed = True
        if _current is self:
            _children.arm_spawned_children(None)

    def __repr__(self) -> str:
        state = "closed" if self.closed else "armed"
        return f"<OomHook {state}: {self.ooms} out of memory, {counted(len(self.files), 'file')} in {self.settings.folder}>"

    def observe(self, device: int, segment: int, total: int, free: int, stack: Stack = ()) -> None:
        """PyTorch's observer. Returns at once unless this failure is the first or a worse one.

        Args:
            segment: what the allocator asked of the driver, in bytes; the program may have requested less.
            stack: of the request, innermost frame first; () takes that of the caller.
        """
        self._guarded(lambda start: self._note(device, segment, total, free, stack, start))

    def observe_uncaught(self, device: int, requested: int, total: int, free: int, stack: Stack) -> None:
        """Writes the error that ends the program or a thread, unless it was written: one more than `max_files`."""
        segment, total, free = self._newest.get(device, (requested, total, free))

        def write(start: float) -> None:
            if self.closed or self._writes > self.settings.max_files or 0 < self.ooms == self._written_ooms:
                return
            with self._busy:
                self._write(device, segment, total, free, stack, start)

        self._guarded(write)

    def _guarded(self, act: Callable[[float], None]) -> None:
        """Nothing may replace the program's OutOfMemoryError."""
        try:
            act(time.monotonic())
        except KeyboardInterrupt:
            # Ctrl-C ends the writing. The program gets it after its OutOfMemoryError is under way.
            threading.Timer(0.05, _interrupt).start()
        except BaseException as error:
            _say(f"tidegauge: the out-of-memory hook failed: {type(error).__name__}: {error}")

    def _note(self, device: int, segment: int, total: int, free: int, stack: Stack, start: float) -> None:
        self.ooms += 1
        self._newest[device] = (segment, total, free)
        if self.closed or self._writes >= self.settings.max_files:
            return
        stack = stack or _stack()
        key = hash(stack) if stack else hash((device, segment))
        if key in self._seen or len(self._seen) >= SEEN_STACKS:
            return
        self._seen.add(key)
        held = _live.stats(device).get("allocated_bytes.all.current", 0)
        # At least: the allocator may have asked for more than the program.
        wanted = held + least_request(segment)
        # Another thread that writes now must not wait, nor be waited for.
        if wanted <= self._worst_bytes or not self._busy.acquire(blocking=False):
            return
        try:
            self._worst_bytes = wanted
            requested = self._write(device, segment, total, free, stack, start)
            self._worst_bytes = max(wanted, held + (requested or 0))
        finally:
            self._busy.release()

    def _write(self, device: int, segment: int, total: int, free: int, stack: Stack, start: float) -> int | None:
        """Writes one failure; the bytes that the program requested."""
        self._writes, self._written_ooms = self._writes + 1, self.ooms
        failure = Failure(device, segment, total, free, self._writes, self.ooms, stack, start)
        files, requested = write_oom(failure, self.settings)
        self.files += files
        return requested


def _interrupt() -> None:
    """Sends Ctrl-C once more: a real signal, since it must end a call that waits, too."""
    main = threading.main_thread().ident
    if main is not None:
        signal.pthread_kill(main, signal.SIGINT)


def _say(text: str) -> None:
    try:
        print(text, file=sys.stderr, flush=True)
    except (OSError, ValueError, AttributeError):  # stderr is closed, or None
        pass


def _stack() -> Stack:
    """File, line and function of the program's frames, innermost first.

    A backward pass runs in a thread without Python frames; then the main thread's, which waits for it.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    if frame is None:
        main = threading.main_thread().ident
        frame = sys._current_frames().get(main) if main is not None else None
    found: list[tuple[str, int, str]] = []
    while frame is not None and len(found) < FRAMES_OF_A_STACK:
        found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return tuple(found)


_current: OomHook | None = None
_attached = False


def _observer(device: int, segment: int, total: int, free: int, stack: Stack = ()) -> None:
    """The one observer of the process: PyTorch cannot detach any."""
    if _current is not None:
        _current.observe(device, segment, total, free, stack)


def _uncaught_observer(device: int, requested: int, total: int, free: int, stack: Stack) -> None:
    if _current is not None:
        _current.observe_uncaught(device, requested, total, free, stack)


def _attach() -> None:
    global _attached
    if not _attached:
        if _uncaught.observers_work():
            _live.torch_module()._C._cuda_attach_out_of_memory_observer(_observer)
            _uncaught.watch_uncaught(_uncaught_observer)
        else:
            _uncaught.watch_uncaught(_observer)
        _attached = True
    if _current is not None and _current.settings.history and not _live.history_on():
        _live.start_history(_current.settings.history, context="alloc")


def _after_fork() -> None:
    """A child counts and names its files for itself."""
    if _current is not None:
        closed = _current.closed
        _current._reset()
        _current.closed = closed


os.register_at_fork(after_in_child=_after_fork)


def on_oom(folder: str | os.PathLike[str], *, history: int = 0, max_files: int = 3,
           max_folder_bytes: Size = 4 << 30, keep_free_bytes: Size = 1 << 30, max_delay_s: float = 10.0,
           report: bool = True, spawned: bool = True) -> OomHook:
    """Writes a snapshot and its report when memory runs out, and says so in five lines on stderr.

        tidegauge.torch.on_oom("oom", history=100_000)

    One line near the start of the program. Torch need not be imported yet, and CUDA is not started. The
    program's OutOfMemoryError is raised as without the hook. A second call replaces the settings.

    Files are `oom-HOST-rRANK-pPID-N.pickle` (snapshot), `.txt` (report) and `.json` (figures, and what
    helps). Written are the first failure, each that is worse than all before and comes from another stack, and
    the one that ends the program. The report is about that failure, not about the worst. If memory, disk
    or time are short, events are left out, then the snapshot; the lines say so.

    Args:
        folder: made if it is missing.
        history: the number of events of each device to record from the start, the newest, with Python stacks;
            0 leaves the recording as the program has it. Cost: about 1.7 µs per allocation, 400 bytes of
            host memory per event.
        max_files: snapshots of this process, 1 or more; one beyond them for the error that ends the program.
        max_folder_bytes: of all snapshots in the folder, in bytes or as "4GiB".
        keep_free_bytes: what stays free of the disk, in bytes or as "1GiB".
        max_delay_s: the longest delay of one OutOfMemoryError, in seconds. An error that was seen at the
            same stack before is delayed by less than a millisecond.
        report: run `tidegauge report`, in a process of low priority.
        spawned: arm processes that `multiprocessing` spawns as well. Forked ones always are.

    Returns:
        The hook: `ooms`, `files`, `close()`.

    Raises:
        UnwritableError: the folder cannot be made or written; an OSError, too.
        UsageError: an argument is negative.
    """
    global _current
    least = "Give 0 or more"
    settings = Settings(
        str(checked_folder(folder)), whole_of(history, "history", least, 0), whole_of(max_files, "max_files", "Give 1 or more", 1),
        bytes_or_zero(max_folder_bytes, "max_folder_bytes"), bytes_or_zero(keep_free_bytes, "keep_free_bytes"),
        seconds_of(max_delay_s, "max_delay_s", 0, math.inf, least), truth_of(report, "report"), truth_of(spawned, "spawned"))
    made_folder(settings.folder)
    _current = OomHook(settings)
    _children.arm_spawned_children(asdict(settings) if spawned else None)
    _children.when_torch_is_imported(lambda: _live.when_cuda_starts(_attach))
    return _current
