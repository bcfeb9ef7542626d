"""The hook's second way: errors that nothing caught.

An error that ends the program is written in any case: an earlier one that was caught, and was as bad, may have been
written before. What the program's frames hold is still there then, because the traceback keeps them.

PyTorch before 2.4 gives its observer to the first device alone, and an empty function to the others. There
an OutOfMemoryError would become "bad_function_call". So with several devices and such a version no observer
is attached, and the hook sees only the errors that end the program or a thread.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable
from traceback import walk_tb
from types import TracebackType
from typing import Any

from tidegauge.errors import UsageError
from tidegauge.sizes import bytes_of

from . import _live
from ._write_oom import Stack

# The first release that attaches an observer to each device.
EACH_DEVICE = (2, 4)

_ASKED = re.compile(r"Tried to allocate ([\d.]+) (bytes|[KMGT]iB)")
# PyTorch 2.3 writes the number of the device as the character of that code; the text ends at that of device 0.
_DEVICE = re.compile(r"GPU (?:(\d+)|([\x01-\x2f])) has")


def observers_work() -> bool:
    """Whether PyTorch's observers see every device of this process."""
    torch = _live.torch_module()
    version = tuple(int(part) for part in re.findall(r"\d+", str(torch.__version__))[:2])
    # Asked while CUDA starts, when torch.cuda.is_initialized() is still False.
    return bool(version >= EACH_DEVICE or torch.cuda.device_count() < 2)


def figures_of(message: str) -> tuple[int, int]:
    """Device and requested bytes, as the text of an OutOfMemoryError has them; the size is rounded."""
    device, asked = _DEVICE.search(message), _ASKED.search(message)
    size = f"{asked[1]} {asked[2].replace('bytes', 'B')}" if asked else None
    try:
        requested = bytes_of(size) or 0
    except UsageError:  # an absurd request, above 1 PiB
        requested = 0
    if not device:
        return 0, requested
    return int(device[1]) if device[1] else ord(device[2]), requested


def stack_of(trace: TracebackType | None) -> Stack:
    """The frames of a traceback, innermost first."""
    frames = [(frame.f_code.co_filename, line, frame.f_code.co_name) for frame, line in walk_tb(trace)]
    return tuple(reversed(frames))


def watch_uncaught(observe: Callable[[int, int, int, int, Stack], None]) -> None:
    """Calls `observe` with device, requested, total and free bytes, and stack, of uncaught OutOfMemoryErrors."""
    before, before_in_threads = sys.excepthook, threading.excepthook

    def seen(error: object) -> None:
        cuda = _live.torch_module().cuda
        if isinstance(error, cuda.OutOfMemoryError):
            device, asked = figures_of(str(error))
            free, total = cuda.mem_get_info(device)
            observe(device, asked, total, free, stack_of(error.__traceback__))

    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        try:
            seen(error)
        finally:
            before(kind, error, trace)

    def hook_in_threads(arguments: Any) -> None:
        try:
            seen(arguments.exc_value)
        finally:
            before_in_threads(arguments)

    sys.excepthook, threading.excepthook = hook, hook_in_threads
