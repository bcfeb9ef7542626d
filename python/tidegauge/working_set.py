"""Host memory that a process touches.

    tidegauge.wss(os.getpid(), 1.0).touched_bytes
    tidegauge.wss("mysqld.jsonl").touched_bytes       # measured before, by `tidegauge wss -o`
"""
from __future__ import annotations

import contextlib
import json
import os
import stat
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, SupportsIndex, Union

from .arguments import path_of, seconds_of, text_of, whole_of
from .errors import MissingFileError, UnreadableError, UsageError
from .programs import run

BEGINNING = b'{"tidegauge_wss":'


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


def wss(pid: Union[SupportsIndex, str, "os.PathLike[str]"], seconds: float = 0.1, *, backend: str = "auto") -> WorkingSet:
    """How much host memory a process touches within some seconds.

    Args:
        pid: Of the process; os.getpid() is this one. Or the path of a file that `tidegauge wss -o` wrote: nothing is
            measured then, the figures are those of its last window, and to_dict()["rows"] has all of them.
        seconds: Length of the window.
        backend: "auto", or one of `tidegauge wss --probe`.

    Raises:
        UsageError: There is no such process, or the window is not a number of seconds above 0.
        MissingFeatureError: This machine, or this user, cannot measure it.
        UnreadableError: The file is damaged, or something else.
    """
    if isinstance(pid, (str, os.PathLike)):
        return _saved(path_of(pid, "the path"))
    process = whole_of(pid, "pid", "Give the number of a process, such as os.getpid(), or the path of a file", 1, (1 << 31) - 1)
    window = seconds_of(seconds, "seconds", 0.0, 1e9, "Give a number of seconds above 0")
    words = ["wss", "--json", "--backend", text_of(backend, "backend", "Give 'auto', or one of `tidegauge wss --probe`")]
    data = json.loads(run([*words, str(process), repr(window)]))
    if not data["rows"]:
        raise UsageError(f"process {process} ended before it was measured")
    return _of(data)


def _of(data: Mapping[str, Any]) -> WorkingSet:
    row = data["rows"][-1]
    return WorkingSet(data["pid"], row["bytes"].get("referenced"), row["bytes"]["rss"], row["estimate_s"],
                      bool(row["error"].get("at_least")), data["backend"], data)


def _saved(path: str) -> WorkingSet:
    """A file of `tidegauge wss -o`: a head, then a row per line. A last line that is still being written is left out."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise UnreadableError("this is a folder, a pipe or a device, not a file of `tidegauge wss -o`", file=path)
        with open(path, "rb") as file:
            if not is_measurement(file.read(len(BEGINNING))):
                raise UnreadableError("this is not a file of `tidegauge wss -o`", file=path,
                                      advice="Open snapshots and recordings with tidegauge.open()")
            _raise_if_damaged(path)
            file.seek(0)
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        raise MissingFileError("no such file", file=path, advice="Check its name, or measure a process: tidegauge.wss(pid)") from None
    except OSError as error:
        raise UnreadableError(error.strerror or str(error), file=path) from None
    found = []
    with contextlib.suppress(ValueError, RecursionError):  # a last line that is still being written
        for line in lines:
            if line.strip():
                found.append(json.loads(line))
    try:
        return _of({**found[0], "rows": found[1:]})
    except (IndexError, KeyError, TypeError, AttributeError):
        raise UnreadableError("it has no whole window, or has changed meanwhile", file=path,
                              advice="Run: tidegauge wss FILE") from None


def _raise_if_damaged(path: str) -> None:
    """By the command, whose reader knows the format and bounds what it takes."""
    whole = os.path.abspath(path)
    try:
        run(["wss", whole])
    except UsageError as error:
        raise UnreadableError(error.what.removeprefix(f"{whole}: "), file=path, advice=error.advice) from None


def is_measurement(beginning: bytes) -> bool:
    """Whether a file that begins so is one of `tidegauge wss -o`."""
    return beginning.startswith(BEGINNING)
