"""What the command does as a program of its own: recording, working sets, the page.

    with tidegauge.record("run.sqlite") as recording:      # this process, from here on
        step()
    recording.trace.report()

    tidegauge.record("run.sqlite", command=["python", "train.py"])
    tidegauge.wss(os.getpid(), 1.0).touched_bytes
"""
from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, Union

from .errors import MissingFeatureError, UsageError, of

if TYPE_CHECKING:
    from types import TracebackType

    from .trace import Trace

_KINDS = {2: "usage", 3: "usage", 4: "missing_feature"}


def command() -> str:
    """The path of the program `tidegauge`: of this installation, else the first on the PATH.

    The environment variable TIDEGAUGE_COMMAND names another one.

    Raises:
        MissingFeatureError: There is none.
    """
    given = os.environ.get("TIDEGAUGE_COMMAND")
    for path in [given] if given else _candidates():
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise MissingFeatureError(f"the program {given or 'tidegauge'} is missing", advice="Install the wheel again: pip install --force-reinstall tidegauge")


def _candidates() -> list[Optional[str]]:
    import sysconfig

    found: list[Optional[str]] = []
    try:
        from importlib.metadata import files

        found += [os.path.normpath(str(file.locate())) for file in files("tidegauge") or [] if file.name == "tidegauge"]
    except ImportError:  # not installed: a checkout on the PYTHONPATH
        pass
    found.append(os.path.join(sysconfig.get_path("scripts"), "tidegauge"))
    found.append(os.path.join(os.path.dirname(sys.executable), "tidegauge"))
    found.append(shutil.which("tidegauge"))
    return found


def _run(arguments: Sequence[str], timeout_seconds: Optional[float] = None) -> str:
    """Standard output of the command; what it says on standard error becomes the exception."""
    done = subprocess.run([command(), *arguments], capture_output=True, timeout=timeout_seconds, check=False)
    if done.returncode != 0:
        _raise(done.returncode, done.stderr)
    return done.stdout.decode()


def _raise(code: int, said: bytes) -> None:
    text = said.decode(errors="replace").strip()
    what, _, advice = text.removeprefix("tidegauge: ").partition(". ")
    raise of(_KINDS.get(code, "unreadable"), what.rstrip(".") or f"tidegauge ended with {code}", None, advice)


# ---- working sets --------------------------------------------------------------------------------


@dataclass(frozen=True)
class WorkingSet:
    """Host memory of a process, and the part that it touched within a window.

    Attributes:
        touched_bytes: Referenced within the window.
        resident_bytes: In memory at its end.
        window_seconds: How long the process was watched.
        is_at_least: True if some touches may be missing: the figure is a lower bound.
        backend: How it was measured (docs/measure/working-set.md).
    """

    pid: int
    touched_bytes: Optional[int]
    resident_bytes: Optional[int]
    window_seconds: float
    is_at_least: bool
    backend: str
    _data: Mapping[str, Any] = field(repr=False, compare=False, default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as `tidegauge wss --json` has them."""
        return dict(self._data)


def wss(pid: int, seconds: float = 0.1, *, backend: str = "auto") -> WorkingSet:
    """How much host memory a process touches within some seconds.

    Args:
        pid: Of the process; os.getpid() is this one.
        seconds: Length of the window.
        backend: "auto", or one of `tidegauge wss --probe`.

    Raises:
        UsageError: There is no such process, or the window is not a number of seconds above 0.
        MissingFeatureError: This machine, or this user, cannot measure it.
    """
    data = json.loads(_run(["wss", "--json", "--backend", backend, str(int(pid)), repr(float(seconds))]))
    if not data["rows"]:
        raise UsageError(f"process {pid} ended before it was measured")
    row = data["rows"][-1]
    return WorkingSet(data["pid"], row["bytes"]["referenced"], row["bytes"]["rss"], row["estimate_s"],
                      bool(row["error"]["at_least"]), data["backend"], data)


# ---- recordings ----------------------------------------------------------------------------------


class Recording:
    """A recording that runs, or has ended; made by `tidegauge.record`.

    Attributes:
        path: The file.
    """

    def __init__(self, path: str, arguments: Sequence[str], options: Sequence[str]) -> None:
        self.path = path
        self._arguments = ["record", "-o", path, *options, *arguments]
        self._process: Optional[subprocess.Popen[bytes]] = None
        self._trace: Optional["Trace"] = None

    def __enter__(self) -> "Recording":
        self._process = subprocess.Popen([command(), *self._arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self._wait_until_it_records(self._process)
        return self

    def _wait_until_it_records(self, process: "subprocess.Popen[bytes]") -> None:
        """The recorder says on standard error when its probes are placed."""
        said = b""
        assert process.stderr is not None
        while True:
            line = process.stderr.readline()
            said += line
            if line.startswith(b"tidegauge: recording."):
                return
            if not line:
                for pipe in (process.stdout, process.stderr):
                    if pipe is not None:
                        pipe.close()
                _raise(process.wait(), said)

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional["TracebackType"]) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
        if kind is None and process.returncode not in (0, 130):
            _raise(process.returncode, said)

    @property
    def trace(self) -> "Trace":
        """The recorded process; of several, the one that this Python is, or the first.

        Raises:
            UsageError: The recording still runs.
        """
        if self._process is not None:
            raise UsageError("the recording still runs", advice="Leave the with block first")
        if self._trace is None:
            from .opening import open_all

            traces = open_all(self.path)
            own = [one for one in traces if f"pid {os.getpid()} " in one.name + " "]
            self._trace = own[0] if own else traces[0]
        return self._trace


def record(path: Union[str, "os.PathLike[str]"], *, command: Optional[Sequence[str]] = None, pid: Optional[int] = None,
           options: Sequence[str] = ()) -> Recording:
    """Records CUDA's memory calls, launches and copies into a file; as `tidegauge record`.

    As a context manager it records this process (or `pid`) for the length of the block. With a command it runs
    that and returns when it ends.

    Args:
        path: The file to write, an SQLite recording. It must not exist, unless options has "--force".
        command: A program and its arguments.
        options: More options of `tidegauge record`, e.g. ["--preload"] (needs no privilege, with a command only).

    Raises:
        MissingFeatureError: The machine or the user cannot record; the text says what to do.
    """
    target = os.fspath(path)
    if command is None:
        return Recording(target, ["-p", str(os.getpid() if pid is None else pid)], options)
    before = _stamp(target)
    code = subprocess.run([_command(), "record", "-o", target, *options, "--", *command], check=False).returncode
    if _stamp(target) == before:  # the command's own exit code may be any
        raise of(_KINDS.get(code, "missing_feature"), f"tidegauge record wrote nothing into {target}", None, "It said why on standard error")
    return Recording(target, [], options)


_command = command  # in record(), the name is an argument's


def _stamp(path: str) -> Optional[tuple[int, int, int]]:
    try:
        file = os.stat(path)
    except FileNotFoundError:
        return None
    return file.st_ino, file.st_mtime_ns, file.st_size


# ---- the page ------------------------------------------------------------------------------------


class Server:
    """A running `tidegauge view`; ends with stop(), or with this Python."""

    def __init__(self, paths: Sequence[str], options: Sequence[str] = ()) -> None:
        self._process = subprocess.Popen([command(), "view", "--no-browser", *options, *paths], stdin=subprocess.DEVNULL,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.url = self._address()
        import atexit

        atexit.register(self.stop)

    def _address(self) -> str:
        assert self._process.stdout is not None
        for line in iter(self._process.stdout.readline, b""):
            for word in line.decode(errors="replace").split():
                if word.startswith("http://"):
                    return word
        assert self._process.stderr is not None
        said = self._process.stderr.read()
        _raise(self._process.wait(), said)
        raise AssertionError  # _raise() does not return

    @property
    def is_running(self) -> bool:
        """False after stop(), or if it ended for another reason."""
        return self._process.poll() is None

    def stop(self) -> None:
        """Ends it."""
        if self._process.poll() is None:
            self._process.terminate()
            end = time.monotonic() + 5
            while self._process.poll() is None and time.monotonic() < end:
                time.sleep(0.02)
            if self._process.poll() is None:
                self._process.kill()
            self._process.wait()
        for pipe in (self._process.stdout, self._process.stderr):
            if pipe is not None:
                pipe.close()
