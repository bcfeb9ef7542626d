"""Figures of GPU memory per step, as a dictionary for TensorBoard, W&B, MLflow and others."""

from __future__ import annotations

from typing import Any

from tidegauge.arguments import text_of, whole_of
from tidegauge.torch import _live
from tidegauge.torch._holders import LiveHolder, holders
from tidegauge.torch._peaks import PeakWatch
from tidegauge.torch._phase import step
from tidegauge.torch._snapshot import snapshot


class StepLogger:
    """Measures GPU memory from step to step.

        log = StepLogger()
        for batch in batches:
            train_step(batch)
            wandb.log(log.step())

    Args:
        prefix: put before each key.
        holder_every: the number of steps between look-ups of the largest holder, from the first; 0 for never. One
            takes a snapshot of the state: about 1 µs per block with PyTorch 2.11 and newer. Older ones
            also hand out the events, so there it is looked up only while no history is recorded.
        device: the ordinal, "cuda:1" or a torch.device; None takes the device that is current at the first step.

    Attributes:
        holder: the largest holder at its last look-up, or None.
    """

    def __init__(self, prefix: str = "gpu_memory/", *, holder_every: int = 10, device: Any = None) -> None:
        self.holder: LiveHolder | None = None
        self._prefix = text_of(prefix, "prefix", "Give a text, such as 'gpu/'")
        self._holder_every = whole_of(holder_every, "holder_every", "Give 0 or more", 0)
        self._device = _live.ordinal_of(device)
        self._count = 0
        self._watch = PeakWatch()
        self._watch.start()

    def step(self) -> dict[str, float]:
        """Ends a step, as `tidegauge.torch.step()` does, and returns its figures.

        Returns:
            With the prefix before each key:
            peak_bytes: the highest number of bytes allocated within the step.
            allocated_bytes, reserved_bytes: at its end.
            fragmentation: the share of reserved bytes that is free and cannot return to the driver, because its
                segment has a block in use, 0 to 1. Segments that are wholly free do not count.
            largest_holder_bytes: of the holder with most active memory; at steps that look it up.
            retries, ooms: since the start of the program.
            The dictionary is empty while the program has not started CUDA.
        """
        step()
        if not _live.cuda_ready():
            return {}
        if self._device is None:
            self._device = int(_live.torch_module().cuda.current_device())
        _live.check_ordinal(self._device)
        peak = self._watch.stop().get(self._device, 0)
        stats = _live.stats(self._device)
        reserved = stats.get("reserved_bytes.all.current", 0)
        pinned = stats.get("inactive_split_bytes.all.current", 0)
        figures: dict[str, float] = {
            "peak_bytes": peak, "allocated_bytes": stats.get("allocated_bytes.all.current", 0),
            "reserved_bytes": reserved, "fragmentation": pinned / reserved if reserved else 0.0,
            "retries": stats.get("num_alloc_retries", 0), "ooms": stats.get("num_ooms", 0),
        }
        if self._holder_every and self._count % self._holder_every == 0:
            figures.update(self._largest())
        self._count += 1
        self._watch = PeakWatch()
        self._watch.start()
        return {self._prefix + key: value for key, value in figures.items()}

    def _largest(self) -> dict[str, float]:
        if self._device is None or (_live.history_on() and not _live.can_skip_events()):
            return {}
        found = holders(snapshot(events=False), self._device)
        self.holder = found[0] if found else None
        return {"largest_holder_bytes": found[0].bytes if found else 0}

    def close(self) -> None:
        """Ends the measuring."""
        self._watch.stop()
