"""Checks of arguments: each gives the plain value, or says which argument is wrong and what to give."""
from __future__ import annotations

import operator
import os
from typing import Any, Iterable, Optional, SupportsIndex, Union

from .errors import UsageError

Place = Union[SupportsIndex, str]
"""A step, or a text as the command's --from: "3101", "2.5s", the name of an annotation."""

_STEPS = 1 << 62  # more than any trace has


def shown(value: object) -> str:
    """The value in a message: short, and never an exception of its own."""
    try:
        text = repr(value)
    except Exception:  # a number of thousands of digits; an object whose own code fails
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 80 else text[:79] + "…"


def index_of(value: object) -> Optional[int]:
    """The whole number that a value is, also one of numpy; None: it is something else, or True or False."""
    if isinstance(value, bool):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


def whole_of(value: object, name: str, advice: str, least: Optional[int] = None, most: Optional[int] = None) -> int:
    """A whole number of any type between two limits.

    Args:
        name: Of the argument.
        advice: What to give instead.
    """
    number = index_of(value)
    if number is not None and (least is None or number >= least) and (most is None or number <= most):
        return number
    if isinstance(value, str):
        raise UsageError(f"{name} is the text {shown(value)}, but a number is needed", advice=advice)
    raise UsageError(f"{name} is {shown(value)}", advice=advice)


def seconds_of(value: Any, name: str, least: float, most: float, advice: str) -> float:
    """A number of seconds between two limits."""
    if not isinstance(value, (bool, str, bytes)):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            pass
        else:
            if least <= number <= most:
                return number
    if isinstance(value, str):
        raise UsageError(f"{name} is the text {shown(value)}, but a number is needed", advice=advice)
    raise UsageError(f"{name} is {shown(value)}", advice=advice)


def text_of(value: object, name: str, advice: str) -> str:
    """A text without zero bytes that UTF-8 can have."""
    if not isinstance(value, str):
        raise UsageError(f"{name} is {shown(value)}, but a text is needed", advice=advice)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise UsageError(f"{name} has half of a surrogate pair: {shown(value)}", advice=advice) from None
    if "\0" in value:
        raise UsageError(f"{name} has a zero byte", advice=advice)
    return value


def truth_of(value: Any, name: str) -> bool:
    """True or False, also those of numpy."""
    if isinstance(value, bool) or type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise UsageError(f"{name} is {shown(value)}", advice="Give True or False")


def path_of(path: object, name: str) -> str:
    """A path as text."""
    if not isinstance(path, (str, os.PathLike)):
        raise UsageError(f"{name} is {shown(path)}, but a path is needed", advice="Give a text or a pathlib.Path")
    text = os.fsdecode(path)
    try:
        coded = os.fsencode(text)
    except UnicodeEncodeError:
        raise UsageError(f"{name} is {shown(text)}, which no file can have", advice="Give the path of a file") from None
    if b"\0" in coded:
        raise UsageError(f"{name} has a zero byte", advice="Give the path of a file")
    return text


def place_of(place: Optional[Place], name: str) -> Optional[str]:
    """The place as text; None for None."""
    if place is None:
        return None
    number = place if isinstance(place, str) else index_of(place)
    if number is None:
        raise UsageError(f"{name} is {shown(place)}", advice="Give a step, or a text such as '2.5s'")
    if isinstance(number, int) and number >= _STEPS or isinstance(number, str) and number.isdecimal() and int(number[:25]) >= _STEPS:
        raise UsageError(f"{name}: there is no step {shown(place)}", advice="Steps are counted from 0; len(trace.events) is more than the last one")
    return str(number)


def step_of(step: object) -> int:
    """The step, which must be a whole number."""
    return whole_of(step, "step", "Give a whole number; -1 is before the first event", -_STEPS)


def texts_of(texts: Iterable[str], name: str) -> list[str]:
    """The texts as a list. One text alone is a mistake: its letters would be taken."""
    if not isinstance(texts, Iterable):
        raise UsageError(f"{name} is {shown(texts)}", advice="Give a list of texts")
    try:
        found = [texts] if isinstance(texts, str) else list(texts)
    except TypeError:  # numpy's array of no dimension
        raise UsageError(f"{name} is {shown(texts)}", advice="Give a list of texts") from None
    for one in found:
        if not isinstance(one, str):
            raise UsageError(f"{name} has {shown(one)}", advice="Give a list of texts")
    return found


def device_of(device: object, name: str) -> Optional[int]:
    """A number that a device can have; None for None."""
    if device is None:
        return None
    return whole_of(device, name, "Give 0, 1, …; -1 is pinned host memory", -1, (1 << 31) - 1)
