"""A callback of Lightning's Trainer: package `lightning`, or `pytorch_lightning`."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from typing import TYPE_CHECKING, Any

from ..libraries import library
from ._common import Watch


def _library() -> Any:
    """The library that the program uses; `lightning` if it uses none yet and has both."""
    for name in ("lightning.pytorch", "pytorch_lightning"):
        if name in sys.modules:
            return sys.modules[name]
    name = "lightning.pytorch" if importlib.util.find_spec("lightning") else "pytorch_lightning"
    return library(name, "lightning", called="Lightning")


if TYPE_CHECKING:
    Callback = object
else:
    Callback = _library().Callback


class MemoryCallback(Callback):
    """Logs GPU memory per batch, names the tensors, and writes a snapshot when memory runs out.

        Trainer(callbacks=[MemoryCallback(oom_folder="oom", history=100_000)], …)

    Args:
        oom_folder: where snapshots of out-of-memory errors go; None for no hook.
        history: events that PyTorch records from the start; see `tidegauge.torch.on_oom()`.
        log_every: figures at each batch whose number is a multiple of it.
    """

    def __init__(self, oom_folder: str | os.PathLike[str] | None = None, *, history: int = 0,
                 log_every: int = 1) -> None:
        self._watch = Watch(oom_folder, history, log_every)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Names the tensors of the module and its optimizers."""
        self._watch.begin(pl_module, *trainer.optimizers)

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Ends a step, and logs its figures by each logger of the trainer."""
        figures = self._watch.step()
        if figures:
            for logger in trainer.loggers:
                logger.log_metrics(figures, step=trainer.global_step)
            trainer.callback_metrics.update({key: _tensor(value) for key, value in figures.items()})

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        """Ends the measuring."""
        self._watch.end()


def _tensor(value: float) -> Any:
    return importlib.import_module("torch").tensor(float(value))
