"""A callback of Hugging Face's `transformers.Trainer`."""

from __future__ import annotations

import os
import sys
from types import FrameType
from typing import Any

from ..libraries import library
from ._common import Watch

library("transformers", "transformers")  # first: without it this says what to install

from transformers import TrainerCallback  # noqa: E402
from transformers.trainer_callback import CallbackHandler  # noqa: E402


class MemoryCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Logs GPU memory per step, names the tensors, and writes a snapshot when memory runs out.

        Trainer(model, arguments, callbacks=[MemoryCallback(oom_folder="oom", history=100_000)], …)

    The figures go into the trainer's log with its other figures, so to each of its `report_to`.

    Args:
        oom_folder: where snapshots of out-of-memory errors go; None for no hook.
        history: events that PyTorch records from the start; see `tidegauge.torch.on_oom()`.
        log_every: figures at each step whose number is a multiple of it. They are logged with the trainer's
            next log.
    """

    def __init__(self, oom_folder: str | os.PathLike[str] | None = None, *, history: int = 0,
                 log_every: int = 1) -> None:
        self._watch = Watch(oom_folder, history, log_every)
        self._figures: dict[str, float] = {}

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Goes before the trainer's reporters, and names the tensors of its model and optimizer."""
        _go_first(self)
        self._watch.begin(kwargs.get("model"), kwargs.get("optimizer"))

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Ends a step of the optimizer."""
        figures = self._watch.step()
        peak = max(figures.get("gpu_memory/peak_bytes", 0), self._figures.get("gpu_memory/peak_bytes", 0))
        self._figures.update(figures)
        if peak:
            self._figures["gpu_memory/peak_bytes"] = peak  # since the last log

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Adds the figures to the trainer's log, before its other callbacks report it."""
        if logs is not None and self._figures:
            logs.update(self._figures)
            if state.log_history:
                state.log_history[-1].update(self._figures)
            self._figures = {}

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Ends the measuring."""
        self._watch.end()


def _go_first(callback: MemoryCallback) -> None:
    """Moves a callback to the front of the trainer's list.

    The trainer puts its reporters (TensorBoard, W&B) before the callbacks of its user, and hands the figures of
    a log from one to the next. It does not hand out its list, but the list's owner is what calls here.
    """
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        handler = frame.f_locals.get("self")
        if isinstance(handler, CallbackHandler) and any(each is callback for each in handler.callbacks):
            # In place: the trainer is in a loop over it. Those that it has called move up by one, the rest stay.
            others = [each for each in handler.callbacks if each is not callback]
            handler.callbacks[:] = [callback, *others]
            return
        frame = frame.f_back
