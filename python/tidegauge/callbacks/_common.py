"""What the callbacks of both libraries do: hook, names, figures."""

from __future__ import annotations

import os
from typing import Any

from tidegauge.arguments import whole_of
from tidegauge.torch import names, on_oom

from ._step_logger import StepLogger


class Watch:
    """The parts of a callback that know no training library.

    Args:
        oom_folder: where snapshots of out-of-memory errors go; None for no hook.
        history: events that PyTorch records from the start of the training; see `on_oom()`.
        log_every: the number of steps between figures.
    """

    def __init__(self, oom_folder: str | os.PathLike[str] | None, history: int, log_every: int) -> None:
        self._log_every, self._steps = whole_of(log_every, "log_every", "Give 1 or more", 1), 0
        self._logger: StepLogger | None = None
        if oom_folder is not None:
            on_oom(oom_folder, history=history)

    def begin(self, model: Any, *optimizers: Any) -> None:
        """Names the tensors of a model, and begins to measure."""
        self.name(model, *optimizers)
        self.end()
        self._logger, self._steps = StepLogger(), 0

    def name(self, model: Any, *optimizers: Any) -> None:
        """Names the tensors again, when an optimizer was made or wrapped since."""
        names(model, *[_plain(each) for each in optimizers if each is not None])

    def step(self) -> dict[str, float]:
        """Ends a step; its figures, or nothing at steps between."""
        if self._logger is None:
            return {}
        figures = self._logger.step()
        self._steps += 1
        return figures if self._steps % self._log_every == 0 else {}

    def end(self) -> None:
        """Ends the measuring."""
        if self._logger is not None:
            self._logger.close()
            self._logger = None


def _plain(optimizer: Any) -> Any:
    """The optimizer inside wrappers such as those of accelerate and Lightning."""
    for _ in range(3):
        inner = getattr(optimizer, "optimizer", None)
        if inner is None or not hasattr(inner, "param_groups"):
            break
        optimizer = inner
    return optimizer
