"""Peaks of allocated memory inside nested blocks of the program.

PyTorch keeps one peak per device. Each block resets it at its start, and hands what it saw to the
blocks around it. So `torch.cuda.max_memory_allocated()` counts from the start of the newest block.
"""

from __future__ import annotations

import threading

from . import _live

_lock = threading.RLock()
_open: list[PeakWatch] = []


class PeakWatch:
    """The peaks of allocated bytes since `start()`, of each device.

    Attributes:
        start_bytes: allocated at the start, by device.
        peak_bytes: the peaks up to the last `stop()` or nested block, by device.
    """

    def __init__(self) -> None:
        self.start_bytes: dict[int, int] = {}
        self.peak_bytes: dict[int, int] = {}

    def start(self) -> None:
        """Begins. CUDA need not run yet."""
        with _lock:
            _credit()
            for device in _live.devices():
                self.start_bytes[device] = _live.stats(device).get("allocated_bytes.all.current", 0)
            self.peak_bytes = dict(self.start_bytes)
            _open.append(self)

    def stop(self) -> dict[int, int]:
        """Ends, and returns the peaks in bytes by device."""
        with _lock:
            _credit()
            if self in _open:
                _open.remove(self)
        return self.peak_bytes

    def added_bytes(self) -> dict[int, int]:
        """How far each device's peak was above what was allocated at the start."""
        return {device: peak - self.start_bytes.get(device, 0) for device, peak in self.peak_bytes.items()}


def _credit() -> None:
    """Hands PyTorch's peaks to all open watches, and resets them."""
    for device in _live.devices():
        peak = _live.stats(device).get("allocated_bytes.all.peak", 0)
        for watch in _open:
            watch.peak_bytes[device] = max(watch.peak_bytes.get(device, 0), peak)
        _live.torch_module().cuda.reset_peak_memory_stats(device)
