"""Watches the GPU memory of a PyTorch program.

    import tidegauge.torch

    tidegauge.torch.on_oom("oom")            # a snapshot and its report when memory runs out
    with tidegauge.torch.record() as r:      # or: record a block, and ask
        train()
    print(r.trace.report())

Works with PyTorch 2.1 and newer. Importing this module does not import torch, and nothing here starts CUDA
before the program does, but for `record()`.
"""

from __future__ import annotations

from ._growth import MemoryGrowth, assert_no_growth
from ._holders import LiveHolder, holders
from ._limit import MemoryLimitExceeded, limit
from ._names import forget, name, names, refresh
from ._oom import OomHook, on_oom
from ._periodic import Periodic, periodic
from ._phase import phase, step
from ._record import Recording, record
from ._snapshot import save, snapshot

__all__ = [
    "LiveHolder", "MemoryGrowth", "MemoryLimitExceeded", "OomHook", "Periodic", "Recording", "assert_no_growth",
    "forget", "holders", "limit", "name", "names", "on_oom", "periodic", "phase", "record", "refresh", "save", "snapshot", "step",
]
