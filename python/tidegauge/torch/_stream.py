"""Writes a snapshot as a pickle, piece by piece.

`pickle.dump()` keeps a memo of every object and the whole output of one call in memory: some 240
bytes per event of a recording. Here the outer dictionary and the long lists are written by hand, and
one pickler writes short runs of their items. Its memo is emptied now and then. So the memory needed is
bounded, whatever the number of events. Any unpickler, and PyTorch's own viewer, reads the result.

Cost: 1 µs per event; at most about 24 MiB of memory.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO

# One APPENDS of the pickler holds at most 1,000 items; a run must be one APPENDS.
RUN_ITEMS = 1000
# After this many items the memo is emptied. Stacks are then written once more: a few percent of the file.
MEMO_ITEMS = 16_000
# The protocol must have explicit memo indices, and no frames: both stop at 3.
PROTOCOL = 2


class _Pieces:
    """Pickles values one after another and returns their opcodes without header and STOP."""

    def __init__(self) -> None:
        self._out = b""
        self._items = 0
        self._pickler = pickle.Pickler(self, PROTOCOL)

    def write(self, data: bytes, /) -> int:
        self._out += data
        return len(data)

    def value(self, item: object) -> bytes:
        self._out = b""
        self._pickler.dump(item)
        return self._out[2:-1]

    def run(self, items: list[Any]) -> bytes:
        """The opcodes that append the items (1 to RUN_ITEMS) to the list on top of the stack."""
        self._items += len(items)
        if self._items > MEMO_ITEMS:
            self._pickler.clear_memo()
            self._items = len(items)
        opcodes = self.value(items)
        put = {b"q": 2, b"r": 5}[opcodes[1:2]]  # EMPTY_LIST, then the list's own place in the memo
        return opcodes[1 + put :]


def _runs(items: Iterable[Any]) -> Iterator[list[Any]]:
    iterator = iter(items)
    while run := list(islice(iterator, RUN_ITEMS)):
        yield run


class Items:
    """An iterable that is written as a list, so that the list itself is never made."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = items


def _opcodes(pieces: _Pieces, value: object, depth: int) -> Iterator[bytes]:
    """Lists and dictionaries near the top piece by piece; all else in one piece."""
    if isinstance(value, Items) or (depth < 2 and isinstance(value, list)):
        yield b"]"
        nested = depth == 0 and isinstance(value, list) and all(isinstance(each, list) for each in value)
        if nested and isinstance(value, list):
            for each in value:
                yield from _opcodes(pieces, each, depth + 1)
                yield b"a"
            return
        for run in _runs(value.items if isinstance(value, Items) else value):
            yield pieces.run(run)
    elif depth < 1 and isinstance(value, Mapping):
        yield b"}"
        for key, each in value.items():
            yield pieces.value(key)
            yield from _opcodes(pieces, each, depth + 1)
            yield b"s"
    else:
        yield pieces.value(value)


def write_snapshot(file: BinaryIO, snapshot: Mapping[str, Any]) -> int:
    """Writes the snapshot to an open file.

    Args:
        file: opened for writing, in binary mode.
        snapshot: what `torch.cuda.memory._snapshot()` returns, perhaps with more keys. A value may
            hold `Items`, which are written as a list.

    Returns:
        The number of bytes written.

    Raises:
        OSError: the file could not be written.
    """
    pieces = _Pieces()
    written = file.write(b"\x80\x02}")
    for key, value in snapshot.items():
        written += file.write(pieces.value(key))
        for opcodes in _opcodes(pieces, value, 0):
            written += file.write(opcodes)
        written += file.write(b"s")
    return written + file.write(b".")
