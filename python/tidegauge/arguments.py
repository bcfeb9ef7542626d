"""Checks of arguments that go to the engine."""
from __future__ import annotations

from typing import Iterable, Optional, Union

from .errors import UsageError

Place = Union[int, str]
"""A step, or a text as the command's --from: "3101", "2.5s", the name of an annotation."""


def place_of(place: Optional[Place], name: str) -> Optional[str]:
    """The place as text; None for None."""
    if place is None or isinstance(place, str):
        return place
    if isinstance(place, int) and not isinstance(place, bool):
        return str(place)
    raise UsageError(f"{name} is {place!r}", advice="Give a step, or a text such as '2.5s'")


def step_of(step: int) -> int:
    """The step, which must be a whole number."""
    if isinstance(step, int) and not isinstance(step, bool) and abs(step) < 1 << 62:
        return step
    raise UsageError(f"step is {step!r}", advice="Give a whole number; -1 is before the first event")


def texts_of(texts: Iterable[str], name: str) -> list[str]:
    """The texts as a list. One text alone is a mistake: its letters would be taken."""
    found = [texts] if isinstance(texts, str) else list(texts)
    for one in found:
        if not isinstance(one, str):
            raise UsageError(f"{name} has {one!r}", advice="Give a list of texts")
    return found


def device_of(device: Optional[int], name: str) -> Optional[int]:
    """A number that a device can have; None for None."""
    if device is None or (isinstance(device, int) and not isinstance(device, bool) and -1 <= device < 1 << 31):
        return device
    raise UsageError(f"{name} is {device!r}", advice="Give 0, 1, …; -1 is pinned host memory")
