"""Where and when it was measured: date, commit, processor, kernel."""
import os
import pathlib
import platform
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def commit():
    done = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty", "--abbrev=8"], capture_output=True,
                          text=True, check=False)
    return done.stdout.strip() or "unknown"


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory_gib():
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30


def stamp():
    return f"{time.strftime('%Y-%m-%d')} at commit {commit()}"


def sentence():
    count = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    return (f"Measured on {stamp()}: {processor()}, "
            f"{count} processor{'s' if count != 1 else ''}, {memory_gib():.0f} GiB, Linux {platform.release()}; "
            f"load before: {load:.1f}. The files are generated. Of several runs, the one with the least processor time "
            "counts.")
