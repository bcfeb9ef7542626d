"""Tidegauge shows where GPU memory went.

    import tidegauge
    t = tidegauge.open("oom.pickle")           # or bytes, a file object, or torch.cuda.memory._snapshot()
    print(t.report())                          # what happened, why, what helps
    t.sql("SELECT action, count(*) FROM events GROUP BY action").to_pandas()
    t.plot.timeline()

The same engine as the command line and the page, so every figure is the same integer.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._engine import version as __version__
from .errors import Error, LimitError, MissingFeatureError, MissingFileError, UnreadableError, UnwritableError, UsageError, WrongTypeError
from .opening import diff, open, open_all
from .table import Column, Table
from .trace import Trace

if TYPE_CHECKING:
    from . import callbacks as callbacks, torch as torch
    from .programs import command
    from .recording import record
    from .working_set import wss

__all__ = ["Column", "Error", "LimitError", "MissingFeatureError", "MissingFileError", "Table", "Trace",
           "UnreadableError", "UnwritableError", "UsageError", "WrongTypeError", "__version__", "command", "diff", "open", "open_all", "record", "wss"]

# They need subprocess, which takes a while to import.
_LATER = {"command": "programs", "record": "recording", "wss": "working_set"}


_PARTS = ("callbacks", "torch")

if not TYPE_CHECKING:  # else every misspelt name would have a type
    def __getattr__(name: str) -> Any:
        if name in _LATER or name in _PARTS:
            import importlib

            found = importlib.import_module(f".{_LATER.get(name, name)}", __name__)
            return found if name in _PARTS else getattr(found, name)
        raise AttributeError(f"module 'tidegauge' has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """%load_ext tidegauge: adds the magic %%tidegauge."""
    from . import notebook

    notebook.load_ipython_extension(shell)


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS, "load_ipython_extension", "results"])
