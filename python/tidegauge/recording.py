"""Recordings of CUDA's calls, by the command `tidegauge record`.

    with tidegauge.record("run.sqlite") as recording:      # this process, from here on
        step()
    recording.trace.report()

    tidegauge.record("run.sqlite", command=["python", "train.py"]).trace
"""
from __future__ import annotations

import errno
import os
import signal
import subprocess
import tempfile
import time
from typing import IO, TYPE_CHECKING, Optional, Sequence, Union

from .arguments import path_of, texts_of
from .errors import MissingFeatureError, UsageError, unwritable
from .programs import command, raise_for, said_in

if TYPE_CHECKING:
    from types import TracebackType

    from .trace import Trace

_READY = b"tidegauge: recording."  # the command says it on standard error


class Recording:
    """A recording that runs, or has ended; made by `tidegauge.record`.

    Attributes:
        path: The file.
        exit_code: What `tidegauge record` ended with: of a command, the exit status of the program. None: it runs,
            or recorded a block.
    """

    def __init__(self, path: str, words: Sequence[str], pid: int, has_ended: bool) -> None:
        self.path = path
        self._words = words
        self._pid = pid
        self._has_ended = has_ended
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._said: Optional[IO[bytes]] = None
        self._trace: Optional["Trace"] = None
        self.exit_code: Optional[int] = None

    def __repr__(self) -> str:
        state = "has ended" if self._has_ended else "runs" if self._process is not None else "has not begun"
        code = "" if self.exit_code is None else f", exit code {self.exit_code}"
        return f"<tidegauge recording {self.path}: {state}{code}>"

    def __enter__(self) -> "Recording":
        if self._has_ended:
            return self
        self._said = tempfile.TemporaryFile()
        try:
            self._process = subprocess.Popen([command(), "record", "-o", self.path, *self._words], stdin=subprocess.DEVNULL,
                                             stdout=subprocess.DEVNULL, stderr=self._said)
            while _READY not in said_in(self._said):
                if self._process.poll() is not None:
                    raise_for(self._process.returncode, said_in(self._said))
                time.sleep(0.01)
        except BaseException:
            self._stop()
            raise
        return self

    def _stop(self) -> tuple[int, bytes]:
        """Ends the recorder; its exit code, and what it said."""
        process, said = self._process, self._said
        self._process = self._said = None
        code, words = 0, b""
        if process is not None:
            process.send_signal(signal.SIGINT)
            code = process.wait()
        if said is not None:
            words = said_in(said)
            said.close()
        return code, words

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional["TracebackType"]) -> None:
        if self._has_ended:
            return
        self._has_ended = True
        code, said = self._stop()
        if kind is None and code not in (0, 130):
            raise_for(code, said)

    @property
    def trace(self) -> "Trace":
        """The recorded process; of several, the one that was asked for, or the first.

        Raises:
            UsageError: The recording still runs, or has not begun.
        """
        if not self._has_ended:
            raise UsageError("the recording has not ended", advice="Leave the with block first")
        if self._trace is None:
            from .opening import _pid_of, open_all

            traces = open_all(self.path)
            wanted = [one for one in traces if _pid_of(one) == self._pid]
            self._trace = wanted[0] if wanted else traces[0]
        return self._trace


def record(path: Union[str, "os.PathLike[str]"], *, command: Optional[Sequence[str]] = None, pid: Optional[int] = None,
           options: Sequence[str] = ()) -> Recording:
    """Records CUDA's memory calls, launches and copies into a file; as `tidegauge record`.

    As a context manager it records this process (or `pid`) for the length of the block. With a command it runs
    that, and returns when it has ended. Ctrl-C then ends the command and the recording in order.

    Args:
        path: The file to write, an SQLite recording. It must not exist, unless options has "--force".
        command: A program and its arguments.
        options: More options of `tidegauge record`, e.g. ["--preload"] (needs no privilege, with a command only).

    Raises:
        MissingFeatureError: The machine or the user cannot record; the text says what to do.
        UsageError: The file exists, or an option is wrong.
        UnwritableError: The file cannot be written.
    """
    target = os.path.abspath(path_of(path, "path"))
    if not os.path.isdir(os.path.dirname(target)):
        raise unwritable(FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)), target)
    words = texts_of(options, "options")
    if command is None:
        recorded = os.getpid() if pid is None else pid
        return Recording(target, [*words, "-p", str(recorded)], recorded, False)
    before = _stamp(target)
    with tempfile.TemporaryFile() as said:  # standard error is the command's, and notebooks do not show it
        code, recorded = _run_to_its_end([_command(), "record", "-o", target, *words, "--", *texts_of(command, "command")], said)
        if _stamp(target) == before:  # the command's own exit code may be any
            if said_in(said):
                raise_for(code, said_in(said))
            raise MissingFeatureError(f"tidegauge record wrote nothing into {target}, and ended with {code}")
    recording = Recording(target, [], recorded, True)
    recording.exit_code = code
    return recording


_command = command  # in record(), the name is an argument's


def _run_to_its_end(words: Sequence[str], complaints: IO[bytes]) -> tuple[int, int]:
    """Exit code and PID. The terminal sends Ctrl-C to all; the recorder then finishes its file."""
    copy = complaints.fileno()
    process = subprocess.Popen(words, pass_fds=[copy], env={**os.environ, "TIDEGAUGE_COMPLAINTS_FD": str(copy)})
    interrupts = 0
    while True:
        try:
            return process.wait(), process.pid
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts > 2:
                process.kill()
        except BaseException:
            process.terminate()
            process.wait()
            raise


def _stamp(path: str) -> Optional[tuple[int, int, int]]:
    try:
        file = os.stat(path)
    except FileNotFoundError:
        return None
    return file.st_ino, file.st_mtime_ns, file.st_size
