"""Arms the OOM hook in processes that this one starts, and when the program imports torch.

Forked children inherit the hook. Spawned ones start empty; `multiprocessing` sends each of them a copy of
its process's settings. An object among them arms the child as soon as the child reads it.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_KEY = "tidegauge_on_oom"


class _After(importlib.abc.Loader):
    """A loader that calls `act` when the module was executed."""

    def __init__(self, loader: importlib.abc.Loader, act: Callable[[], None]) -> None:
        self.loader, self.act = loader, act

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader  # as if it had been there from the start
        module.__loader__ = self.loader
        self.loader.exec_module(module)
        self.act()


class _Watcher(importlib.abc.MetaPathFinder):
    """Waits for the import of torch, once."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    def find_spec(self, name: str, path: Sequence[str] | None,
                  target: ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _After(spec.loader, self.act)
        return spec


def when_torch_is_imported(act: Callable[[], None]) -> None:
    """Calls `act` now, or right after the program imported torch."""
    if "torch" in sys.modules:
        act()
    else:
        sys.meta_path.insert(0, _Watcher(act))


class _Arming:
    """Pickled to a spawned child, it becomes a call there."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings = settings

    def __reduce__(self) -> tuple[Callable[..., object], tuple[dict[str, Any]]]:
        return _arm, (self.settings,)


def _arm(settings: dict[str, Any]) -> _Arming:
    from ._oom import on_oom

    on_oom(**settings)
    return _Arming(settings)  # for the children of the child


def arm_spawned_children(settings: dict[str, Any] | None) -> None:
    """From now on, processes spawned by `multiprocessing` arm the hook; None ends that."""
    config = getattr(multiprocessing.current_process(), "_config", None)
    if isinstance(config, dict):
        if settings is None:
            config.pop(_KEY, None)
        else:
            config[_KEY] = _Arming(settings)
