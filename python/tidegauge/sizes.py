"""Sizes as people write and read them. Units are binary, as on the command line: "80GB" is 80 GiB."""
from __future__ import annotations

import re
from typing import Optional, SupportsIndex, Union

from .arguments import index_of, shown, whole_of
from .errors import UsageError

Size = Union[SupportsIndex, str]
"""Bytes, or a text with a unit: 85899345920, "80GiB", "1.5g"."""

_UNITS = "bkmgtp"
_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(?:([kmgtp])(?:i?b)?|b)?\s*", re.IGNORECASE)
_MOST = 1 << 50


def bytes_of(size: Optional[Size], name: str = "size") -> Optional[int]:
    """The bytes of a size; None for None.

    Raises:
        UsageError: It is not a size between 1 byte and 1 PiB.
    """
    if size is None:
        return None
    found = index_of(size)
    if isinstance(size, str) and (match := _TEXT.fullmatch(size)):
        number, unit = match.groups()
        if unit or "." not in number:
            found = round(float(number) * 1024 ** _UNITS.index(unit.lower())) if unit else int(number)
    if found is None or not 1 <= found <= _MOST:
        raise UsageError(f"{name} is {shown(size)}", advice="Give 1 byte to 1 PiB: a number of bytes, or a text like '80GiB'")
    return found


def bytes_or_zero(size: Size, name: str) -> int:
    """The bytes of a limit that may also be 0, as in "nothing may be allocated", or larger than any memory.

    Raises:
        UsageError: It is not a size.
    """
    if size in ("0", "0B"):
        return 0
    found = bytes_of(size, name) if isinstance(size, str) else None
    return found if found is not None else whole_of(size, name, "Give a number of bytes, or a text like '80GiB'", 0)


def capacity_of(size: Optional[Size], name: str = "capacity") -> Optional[int]:
    """The bytes of a device's memory. A number below 1 MiB without a unit is a slip: 80 was meant as "80GiB"."""
    found = bytes_of(size, name)
    if found is not None and found < 1 << 20 and not (isinstance(size, str) and size.strip()[-1].isalpha()):
        raise UsageError(f"{name} is {shown(size)}, which is {human_bytes(found)}", advice=f'Give a text with a unit, such as "{found}GiB"')
    return found


def counted(number: int, noun: str) -> str:
    """ "1 block", "2,000 blocks"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def with_article(noun: str) -> str:
    """ "an int", "a str"."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def human_bytes(size: Optional[int]) -> str:
    """The size for people, with four digits: 34,53 GiB is "34.53 GiB"; "unknown" for None."""
    if size is None:
        return "unknown"
    if abs(size) < 1024:
        return f"{size:,} B"
    value = float(size)
    for unit in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        value /= 1024
        if abs(value) < 999.5 or unit == "PiB":
            break
    digits = 2 if abs(value) < 9.995 or unit in ("GiB", "TiB", "PiB") and abs(value) < 99.995 else 1 if abs(value) < 99.95 else 0
    return f"{value:,.{digits}f} {unit}"
