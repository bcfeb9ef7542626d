"""Files that are whole or absent, within a budget, and one writer per host."""

from __future__ import annotations

import errno
import fcntl
import os
import pathlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from tidegauge.arguments import path_of
from tidegauge.errors import UsageError, unwritable

from ._host import host_name


def checked_folder(folder: str | os.PathLike[str]) -> pathlib.Path:
    """The folder, absolute; UsageError if it is no path."""
    given = path_of(folder, "folder")
    if not given:
        raise UsageError("folder is empty", advice="Give the path of a folder; '.' is the current one")
    return pathlib.Path(given).absolute()


def made_folder(folder: str | os.PathLike[str]) -> pathlib.Path:
    """The folder, absolute; it is made, with those above it, if it is missing.

    Raises:
        UnwritableError: it cannot be made or written.
        UsageError: it is no path.
    """
    path = checked_folder(folder)
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise unwritable(error, str(path)) from None
    return path


def write_whole(path: pathlib.Path, write: Callable[[BinaryIO], object]) -> int:
    """Writes a file under a temporary name, flushes it to the disk and renames it.

    Returns:
        The size of the file in bytes.

    Raises:
        OSError: the disk is full, or the folder cannot be written. No file is left then.
    """
    # Not the process alone: each container has a process 1, and a crash leaves its file behind.
    writer = f"{os.getpid()}-{threading.get_ident():x}-{time.time_ns():x}"
    temporary = path.with_name(f".{path.name}.{writer}.tmp")
    file = open(temporary, "xb")  # outside the try: a file that is there belongs to another writer
    try:
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)
    return size


def sync_folder(folder: pathlib.Path) -> None:
    """Makes a rename durable. Some network file systems cannot, and need not."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EIO):
            raise
    finally:
        os.close(descriptor)


def size_of(folder: pathlib.Path, pattern: str) -> tuple[int, int]:
    """How many files match the pattern, and their bytes."""
    count = total = 0
    for path in folder.glob(pattern):
        try:
            total += path.stat().st_size
            count += 1
        except FileNotFoundError:  # another process removed it
            continue
    return count, total


def free_bytes(folder: pathlib.Path) -> int:
    """Free bytes of the folder's file system for this user."""
    return shutil.disk_usage(folder).free


def drop_oldest(folder: pathlib.Path, pattern: str, keep: int) -> list[pathlib.Path]:
    """Removes all but the newest `keep` files that match; returns those removed."""
    ages = []
    for path in folder.glob(pattern):
        try:
            ages.append((path.stat().st_mtime_ns, path.name, path))
        except FileNotFoundError:
            continue
    removed = [path for _, _, path in sorted(ages)[: max(0, len(ages) - keep)]]
    for path in removed:
        path.unlink(missing_ok=True)
    return removed


def lock_path(folder: pathlib.Path) -> pathlib.Path:
    """The lock file of this host in a folder that several hosts may share."""
    return folder / f".tidegauge-{host_name()}.lock"


@contextmanager
def one_writer(folder: pathlib.Path, wait_s: float) -> Iterator[bool]:
    """Yields True while this process is the only one of its host that writes into the folder.

    Yields False if another process still writes after `wait_s` seconds. The kernel drops the lock
    when its process ends, so a process that died never blocks another.
    """
    end = time.monotonic() + wait_s
    with open(lock_path(folder), "ab") as file:
        held = False
        while not held:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held = True
            except OSError as error:
                if error.errno in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
                    held = True  # a file system without locks
                elif time.monotonic() >= end:
                    break
                else:
                    time.sleep(0.02)
        yield held
