"""Host memory that a process touches.

    tidegauge.wss(os.getpid(), 1.0).touched_bytes
"""
from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Mapping, Optional

from .errors import UsageError
from .programs import run


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
    data = json.loads(run(["wss", "--json", "--backend", backend, str(int(pid)), repr(float(seconds))]))
    if not data["rows"]:
        raise UsageError(f"process {pid} ended before it was measured")
    row = data["rows"][-1]
    return WorkingSet(data["pid"], row["bytes"]["referenced"], row["bytes"]["rss"], row["estimate_s"],
                      bool(row["error"]["at_least"]), data["backend"], data)
