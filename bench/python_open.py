#!/usr/bin/env python3
"""A pandas frame of all allocations: tidegauge.open against pickle.load and a loop by hand.

    bench/python_open.py --python build/dev/python FILE.pickle…

Each way runs in a process of its own: processor time, and the most memory that it held. Both frames
must have the same allocations; that is checked first."""
import argparse
import os
import resource
import subprocess
import sys
import time

import pandas


def by_pickle(path):
    """Address, size and both steps of every allocation, as one writes it in a notebook."""
    import pickle
    with open(path, "rb") as file:
        snapshot = pickle.load(file)
    rows = []
    for device, trace in enumerate(snapshot["device_traces"]):
        born = {}
        for step, event in enumerate(trace):
            if event["action"] == "alloc":
                born[event["addr"]] = len(rows)
                rows.append([device, event["addr"], event["size"], step, None])
            elif event["action"] == "free_completed" and event["addr"] in born:
                rows[born.pop(event["addr"])][4] = step
    return pandas.DataFrame(rows, columns=["device", "address", "bytes", "alloc_step", "free_step"])


def by_tidegauge(path):
    import tidegauge
    return tidegauge.open(path).allocations.to_pandas()


WAYS = {"pickle": by_pickle, "tidegauge": by_tidegauge}


def one(way, path):
    began = time.perf_counter()
    frame = WAYS[way](path)
    wall_s = time.perf_counter() - began
    used = resource.getrusage(resource.RUSAGE_SELF)
    seen = frame if way == "pickle" else frame[frame["alloc_step"].notna()]
    size = "bytes" if way == "pickle" else "requested_bytes"
    print(len(seen), int(seen[size].sum()), used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss * 1024)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--python", required=True, help="folder with the package tidegauge")
    parser.add_argument("--one", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    if options.one:
        one(options.one, options.files[0])
        return
    print(f"{'file':24} {'way':10} {'allocations':>12} {'processor s':>12} {'wall s':>8} {'memory MiB':>11}")
    for path in options.files:
        counted = set()
        for way in WAYS:
            best = None
            for _ in range(options.runs):
                words = [sys.executable, __file__, "--python", options.python, "--one", way, path]
                said = subprocess.run(words, check=True, text=True, capture_output=True,
                                      env=os.environ | {"PYTHONPATH": options.python}).stdout.split()
                figures = [float(word) for word in said]
                best = figures if best is None or figures[2] < best[2] else best
            counted.add((best[0], best[1]))
            print(f"{os.path.basename(path):24} {way:10} {best[0]:12,.0f} {best[2]:12.2f} {best[3]:8.2f} {best[4] / 2**20:11,.0f}", flush=True)
        if len(counted) > 1:
            print(f"  the two ways differ: {sorted(counted)}")


if __name__ == "__main__":
    main()
