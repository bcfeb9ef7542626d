"""Exceptions: one family, each with what went wrong, where, and what to do.

    try:
        trace = tidegauge.open("cut.pickle")
    except tidegauge.UnreadableError as error:
        print(error.what, error.byte_offset, error.advice)
"""
from __future__ import annotations

import errno
import os
from typing import Optional


class Error(Exception):
    """Any error of Tidegauge.

    Attributes:
        what: What went wrong, one sentence without a full stop.
        file: The file or other source, or "".
        byte_offset: Where in the unpacked input, if that is known.
        advice: What to do, or "".
    """

    def __init__(self, what: str, byte_offset: Optional[int] = None, advice: str = "", file: str = "") -> None:
        super().__init__(what, byte_offset, advice, file)
        self.what = what
        self.byte_offset = byte_offset
        self.advice = advice
        self.file = file

    def __str__(self) -> str:
        text = f"{self.file}: {self.what}" if self.file else self.what
        if self.byte_offset:  # byte 0 is no help
            text += f" (at byte {self.byte_offset:,})"
        text += "."
        if self.advice:
            text += " " + self.advice.rstrip(".?") + ("?" if self.advice.endswith("?") else ".")
        return text


class UnreadableError(Error, ValueError):
    """The input is damaged, or is something else."""


class UsageError(Error, ValueError):
    """An argument is wrong: SQL, a device, a step; or the trace is closed."""


class WrongTypeError(UsageError, TypeError):
    """An argument is of another type, such as no tensor."""


class UnpicklableError(UsageError, TypeError):
    """It cannot be pickled. Python's own objects raise a TypeError then, so it is one."""


class MissingFileError(UnreadableError, FileNotFoundError):
    """There is no such file."""

    def __init__(self, what: str, byte_offset: Optional[int] = None, advice: str = "", file: str = "") -> None:
        super().__init__(what, byte_offset, advice, file)
        self.errno, self.strerror, self.filename = errno.ENOENT, what, file


class UnwritableError(UsageError, OSError):
    """A file or a folder cannot be written there."""


class MissingFolderError(UnwritableError, FileNotFoundError):
    """The folder of a file to write is missing."""


def unwritable(error: OSError, path: str) -> UnwritableError:
    """The exception for a file or a folder that cannot be written."""
    folder = os.path.dirname(os.path.abspath(path))
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        made: UnwritableError = MissingFolderError(f"the folder {folder} is missing", advice="Make it first, or give another folder", file=path)
    else:
        kind = MissingFolderError if isinstance(error, FileNotFoundError) else UnwritableError
        made = kind(f"it cannot be written: {error.strerror or error}", advice="Give another place, which you may write", file=path)
    made.errno, made.strerror, made.filename = error.errno, error.strerror, path
    return made


class LimitError(Error, RuntimeError):
    """It would take more time or memory than allowed."""


class MissingFeatureError(Error, RuntimeError):
    """This machine or this installation cannot do it."""


_KINDS = {
    "unreadable": UnreadableError,
    "usage": UsageError,
    "limit": LimitError,
    "missing_feature": MissingFeatureError,
}


def of(kind: str, what: str, byte_offset: Optional[int], advice: str) -> Error:
    """The exception for an error of the engine."""
    return _KINDS[kind](what, byte_offset, advice)
