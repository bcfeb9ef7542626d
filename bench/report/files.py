"""The generated files: one per number of events, made once and kept in a folder.

    path_of(folder, 100_000)  →  FOLDER/100k.pickle
"""
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def name_of(events):
    """10k, 1m, 50m."""
    for unit, letter in ((1_000_000, "m"), (1000, "k")):
        if events >= unit and events % unit == 0:
            return f"{events // unit}{letter}"
    return str(events)


def words_of(events):
    """The arguments of make_snapshot: the live blocks and stacks grow with the file, up to those of the 10 M file."""
    return ["--events", str(events), "--live", str(max(20, min(20_000, events // 50))),
            "--stacks", str(max(50, min(100_000, events // 100))), "--depth", "10-40"]


def path_of(folder, events):
    path = pathlib.Path(folder) / f"{name_of(events)}.pickle"
    if not path.exists():
        part = path.with_suffix(".part")
        subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", *words_of(events), "-o", part], check=True,
                       stderr=subprocess.DEVNULL)
        part.rename(path)
    with open(path, "rb", buffering=0) as file:  # into the page cache
        while file.read(1 << 24):
            pass
    return path
