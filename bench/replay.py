#!/usr/bin/env python3
"""What a replay costs: events a second and candidate, and the whole of `tidegauge whatif` on a million events.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 bench/replay.py [--events 1000000] [--runs 5]

One run of a candidate is the difference of processor time between 1 and 12 settings, by 11: reading the file and
verifying it are in both."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
WORKLOADS = {"training": ("--workload", "train"), "100,000 live, 3 streams": ("--live", "100000", "--streams", "3"),
             "20,000 live, 20 out of memory": ("--live", "20000", "--oom", "20", "--capacity", "40GiB")}


def cost(*words):
    """Processor and wall time of one run, seconds."""
    before, began = os.times(), time.monotonic()
    subprocess.run([BINARY, *map(str, words)], check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    return (after.children_user + after.children_system - before.children_user - before.children_system,
            time.monotonic() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    print(f"{'program':32} {'verify s':>8} {'whatif s':>8} {'M events/s and candidate':>26}")
    with tempfile.TemporaryDirectory() as folder:
        for name, words in WORKLOADS.items():
            path = pathlib.Path(folder) / "program.pickle"
            subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", "--events", str(options.events), *words,
                            "-o", path], check=True, stderr=subprocess.DEVNULL)
            sets = [word for mib in range(501, 513) for word in ("--set", f"max_split_size_mb:{mib}")]
            medians = [statistics.median(of) for of in zip(*[
                (cost("whatif", path, "--verify")[1], cost("whatif", path)[1],
                 cost("whatif", path, *sets)[0] - cost("whatif", path, "--set", "max_split_size_mb:512")[0])
                for _ in range(options.runs)])]
            # 11 more settings; under the older tie-break each is replayed three times
            print(f"{name:32} {medians[0]:8.2f} {medians[1]:8.2f} {11 * options.events / medians[2] / 1e6:26.1f}")
            path.unlink()


main()
