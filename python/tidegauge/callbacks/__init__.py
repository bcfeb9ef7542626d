"""Callbacks of training libraries: figures of GPU memory per step, names of tensors, the out-of-memory hook.

    from tidegauge.callbacks import StepLogger                   # any loop
    from tidegauge.callbacks.hugging_face import MemoryCallback  # transformers.Trainer
    from tidegauge.callbacks.lightning import MemoryCallback     # lightning.Trainer

The libraries are imported by their own module alone, so this package needs none of them.
"""

from __future__ import annotations

from ._step_logger import StepLogger

__all__ = ["StepLogger"]
