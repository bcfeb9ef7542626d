"""Snapshots now and then, the newest of which are kept."""

from __future__ import annotations

import atexit
import os
import pathlib
import sys
import threading
from types import TracebackType

from tidegauge.arguments import seconds_of, truth_of, whole_of
from tidegauge.errors import UsageError
from tidegauge.sizes import Size, bytes_or_zero

from . import _files, _host, _live, _plan
from ._files import made_folder
from ._names import now_us
from ._phase import after_step
from ._snapshot import with_names
from ._stream import write_snapshot


class Periodic:
    """What `periodic()` returns; `close()` ends it, as does the end of a with block.

    Attributes:
        files: snapshots that were written and not removed since.
        problem: why the last snapshot was not written, or not whole; empty if it was.
    """

    def __init__(self, folder: pathlib.Path, every_s: float, every_steps: int, keep: int, events: bool,
                 max_bytes: int, keep_free_bytes: int) -> None:
        self.files: list[pathlib.Path] = []
        self.problem = ""
        self._folder, self._keep, self._events = folder, keep, events
        self._max_bytes, self._keep_free_bytes = max_bytes, keep_free_bytes
        self._every_s, self._every_steps = every_s, every_steps
        self._count = 0
        # In the files' names: the files of an earlier run stay, also where each container has a process 1.
        self._start_us = now_us()
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._end_steps = after_step(self._after_step) if every_steps else lambda: None
        self._thread = threading.Thread(target=self._watch, name="tidegauge periodic", daemon=True)
        if every_s:
            self._thread.start()
        # PyTorch must not be asked while the interpreter ends.
        atexit.register(self.close)

    def _stem(self) -> str:
        return f"every-{_host.host_name()}-r{_host.rank()}-p{os.getpid()}-t{self._start_us}"

    def _after_step(self, number: int) -> None:
        if (number + 1) % self._every_steps == 0:
            self.write()

    def _watch(self) -> None:
        while not self._stop.wait(self._every_s):
            self.write()

    def write(self) -> pathlib.Path | None:
        """Writes a snapshot now; returns its file, or None with the reason in `problem`."""
        if not _live.cuda_ready():
            self.problem = "the program has not started CUDA"
            return None
        with self._lock:
            try:
                return self._write()
            except Exception as error:  # a snapshot that fails must not end the training
                self.problem = f"{type(error).__name__}: {error}"
                print(f"tidegauge: no periodic snapshot: {self.problem}", file=sys.stderr)
                return None

    def _write(self) -> pathlib.Path | None:
        pattern = f"{self._stem()}-*.pickle"
        plan = _plan.plan_now(self._folder, pattern, self._max_bytes, self._keep_free_bytes, float("inf"))
        self.problem = plan.reason
        if plan.take == _plan.COUNTERS:
            return None
        self._count += 1
        path = self._folder / f"{self._stem()}-{self._count:06d}.pickle"
        taken = with_names(_live.take(self._events and plan.take == _plan.EVENTS), lazily=True)
        _files.write_whole(path, lambda file: write_snapshot(file, taken))
        self.files.append(path)
        removed = _files.drop_oldest(self._folder, pattern, self._keep)
        self.files = [each for each in self.files if each not in removed]
        return path

    def close(self) -> None:
        """Ends the snapshots. Those on the disk stay."""
        self._stop.set()
        self._end_steps()
        atexit.unregister(self.close)
        if self._thread.is_alive() and self._thread is not threading.current_thread():
            self._thread.join(timeout=60)

    def __enter__(self) -> Periodic:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()


def periodic(folder: str | os.PathLike[str], *, every_s: float = 0.0, every_steps: int = 0, keep: int = 5,
             events: bool = True, max_bytes: Size = 4 << 30, keep_free_bytes: Size = 1 << 30) -> Periodic:
    """Writes snapshots at intervals, and keeps the newest.

        with tidegauge.torch.periodic("memory", every_s=600):
            train()

    Files are `every-HOST-rRANK-pPID-tSTART-NNNNNN.pickle`; START is the time of this call, in microseconds
    since the epoch. Files of other calls and of earlier runs stay. Events are in them only if PyTorch records; see
    `record()`. Memory and disk are bounded as in `on_oom()`.

    Args:
        folder: made if it is missing.
        every_s: seconds between snapshots, taken by a thread; 0 for none.
        every_steps: a snapshot after this number of calls of `step()`, in the caller's thread; 0 for none.
        keep: how many snapshots of this call stay.
        events: False leaves the events out where PyTorch can (2.11).
        max_bytes: of this call's snapshots together.
        keep_free_bytes: what stays free of the disk.

    Raises:
        UnwritableError: the folder cannot be made or written; an OSError, too.
        UsageError: neither `every_s` nor `every_steps`, or an argument out of its range.
    """
    advice = "Give every_s or every_steps, above 0"
    seconds = seconds_of(every_s, "every_s", 0, threading.TIMEOUT_MAX, advice)
    steps = whole_of(every_steps, "every_steps", advice, 0)
    if not seconds and not steps:
        raise UsageError("every_s and every_steps are 0", advice=advice)
    kept = whole_of(keep, "keep", "Give 1 or more", 1)
    budget = bytes_or_zero(max_bytes, "max_bytes"), bytes_or_zero(keep_free_bytes, "keep_free_bytes")
    return Periodic(made_folder(folder), seconds, steps, kept, truth_of(events, "events"), *budget)
