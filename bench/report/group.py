"""A group (cgroup) whose processes share a limit of memory, as the processes of a small machine do.

    with group.limited(8 * 2**30) as folder:
        subprocess.Popen(words, preexec_fn=lambda: group.enter(folder))

Needs root, and groups of version 1 or 2. Pages of files count, as in a machine, and the kernel drops them first.
"""
import contextlib
import os
import pathlib
import time

VERSION_1 = pathlib.Path("/sys/fs/cgroup/memory")
VERSION_2 = pathlib.Path("/sys/fs/cgroup")


def limited_folder(most_bytes):
    if (VERSION_1 / "memory.limit_in_bytes").exists():
        folder, limit = VERSION_1 / f"tidegauge_{os.getpid()}", "memory.limit_in_bytes"
        folder.mkdir()
    else:
        (VERSION_2 / "cgroup.subtree_control").write_text("+memory", encoding="ascii")
        folder, limit = VERSION_2 / f"tidegauge_{os.getpid()}", "memory.max"
        folder.mkdir()
        with contextlib.suppress(OSError):  # swap would make the machine larger
            (folder / "memory.swap.max").write_text("0", encoding="ascii")
    (folder / limit).write_text(str(most_bytes), encoding="ascii")
    return folder


def removed(folder):
    """A process that ended may be counted for a moment."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            folder.rmdir()
            return
        time.sleep(0.1)


@contextlib.contextmanager
def limited(most_bytes):
    """OSError where this process may not make one."""
    folder = limited_folder(most_bytes)
    try:
        yield folder
    finally:
        removed(folder)


def enter(folder):
    """In the child, before it becomes the program."""
    (folder / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")


def forget(path):
    """Takes the file's pages out of the cache, so that they count for whoever reads it next."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)
