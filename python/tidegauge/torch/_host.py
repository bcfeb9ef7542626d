"""What the host has left: memory (cgroup, machine, process limit) and who this process is."""

from __future__ import annotations

import os
import pathlib
import resource
import socket
from dataclasses import dataclass

_UNLIMITED = 1 << 60


@dataclass(frozen=True)
class Headroom:
    """Bytes that this process can take before something kills it, and the limit that is nearest."""

    bytes: int
    limit: str


def _number(path: pathlib.Path) -> int | None:
    try:
        text = path.read_text().strip()
        return None if text == "max" else int(text)
    except (OSError, ValueError):
        return None


def _field(path: pathlib.Path, name: str) -> int:
    """A field of memory.stat or meminfo; 0 if there is none."""
    try:
        for line in path.read_text().splitlines():
            words = line.replace(":", " ").split()
            if words and words[0] == name:
                return int(words[1]) * (1024 if words[-1] == "kB" else 1)
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _folders(mount: pathlib.Path, path: str) -> list[pathlib.Path]:
    """The group's folder and those above it. Within a container only the mount itself may exist."""
    parts = [part for part in path.split("/") if part and part != ".."]
    return [mount.joinpath(*parts[:count]) for count in range(len(parts), -1, -1)]


def _cgroup_headrooms(proc: pathlib.Path, mount: pathlib.Path) -> list[Headroom]:
    found: list[Headroom] = []
    limits: tuple[str, ...]
    try:
        lines = (proc / "self/cgroup").read_text().splitlines()
    except OSError:
        return []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            limits, usage, cache, folders = ("memory.max", "memory.high"), "memory.current", "inactive_file", mount
        elif "memory" in controllers.split(","):
            limits, usage, cache = ("memory.limit_in_bytes",), "memory.usage_in_bytes", "total_inactive_file"
            folders = mount / "memory"
        else:
            continue
        for folder in _folders(folders, path):
            used = _number(folder / usage)
            for name in limits:
                limit = _number(folder / name)
                if limit is not None and used is not None and limit < _UNLIMITED:
                    # The kernel drops clean pages of files before it kills a process.
                    kept = used - _field(folder / "memory.stat", cache)
                    found.append(Headroom(max(0, limit - max(0, kept)), f"{name} of the cgroup"))
    return found


def headroom(proc: str = "/proc", cgroup: str = "/sys/fs/cgroup") -> Headroom:
    """The smallest of the limits on this process's host memory, less what is in use.

    Read are memory.max and memory.high of the cgroup and of each group above it (cgroup v1 as well),
    MemAvailable of the machine, and RLIMIT_AS.
    """
    root = pathlib.Path(proc)
    found = _cgroup_headrooms(root, pathlib.Path(cgroup))
    available = _field(root / "meminfo", "MemAvailable")
    if available:
        found.append(Headroom(available, "MemAvailable of the machine"))
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    size = _field(root / "self/status", "VmSize")
    if soft != resource.RLIM_INFINITY and size:
        found.append(Headroom(max(0, soft - size), "RLIMIT_AS of the process"))
    return min(found, key=lambda each: each.bytes, default=Headroom(_UNLIMITED, "unknown"))


def rank() -> int:
    """The rank of this process as its launcher set it (torchrun, Slurm, MPI); 0 without one."""
    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        value = os.environ.get(name, "")
        if value.isdigit():
            return int(value)
    return 0


def host_name() -> str:
    """The host's name, with characters that are safe in the name of a file."""
    name = socket.gethostname().split(".")[0] or "host"
    return "".join(letter if letter.isalnum() or letter == "-" else "-" for letter in name)
