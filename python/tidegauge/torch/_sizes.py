"""Sizes that people write: "4GiB"."""

from __future__ import annotations

import re

_UNITS = {"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30,
          "t": 1 << 40, "tib": 1 << 40, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


def bytes_of(size: int | str) -> int:
    """Bytes of "4GiB", "1.5 GB", "512k" or a number of bytes. KiB are 1024 bytes, kB are 1000.

    Raises:
        ValueError: not a size, or negative.
    """
    if isinstance(size, int):
        found = size
    else:
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", size)
        if not match or match[2].lower() not in _UNITS:
            raise ValueError(f"{size!r} is not a size such as '4GiB'")
        found = int(float(match[1]) * _UNITS[match[2].lower()])
    if found < 0:
        raise ValueError(f"a size must not be negative: {size!r}")
    return found
