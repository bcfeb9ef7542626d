#!/usr/bin/env python3
"""What a working set costs to measure, beside the calls of wss.pl, in one run on one process.

    sudo TIDEGAUGE_BINARY=build/dev/tidegauge python3 bench/wss/wss_bench.py [--rss-gib 16] [--hot-mib 500] [--runs 9]
                                                                             [--profile 16]

Prints, for each method, the median processor time (of all that runs: start and load of BPF too, and of the
measurement alone), the longest stall, and how far off the answer was: mean and standard deviation. "next" is the last
of the windows of a run of -s, which has the sample of those before."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
METHODS = {"wss.pl's calls": None, "smaps": ("--backend", "smaps"), "pte": ("--sample", "exact"),
           **{f"pte {rate}{', next' if next_ones else ''}": ("--sample", rate, *next_ones)
              for next_ones in ((), ("-s", "0", "-d", "0.5")) for rate in ("1/32", "1/128", "1/512")}}


def once(calls, options, pid, address, seconds, steps):
    before = os.times()
    words = [calls, pid, seconds] if options is None else [BINARY, "wss", "--json", "--by", "vma", *options, pid, seconds]
    if steps:
        words += [steps] if options is None else ["-P", steps]
    said = json.loads(subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout)
    after = os.times()
    all_ms = (after.children_user + after.children_system - before.children_user - before.children_system) * 1e3
    if options is None:
        return all_ms, said["cpu_ms"], said["stall_ms"], said["referenced"]
    row = said["rows"][-1]
    for other in said["rows"][:-1] if steps else ():
        row["cost"]["cpu_s"] += other["cost"]["cpu_s"]
        row["cost"]["stall_s"] = max(row["cost"]["stall_s"], other["cost"]["stall_s"])
    mine = next(group["bytes"]["referenced"] for group in row["groups"] if group.get("start") == address)
    return all_ms, row["cost"]["cpu_s"] * 1e3, row["cost"]["stall_s"] * 1e3, mine


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rss-gib", type=int, default=16)
    parser.add_argument("--hot-mib", type=int, default=500)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.1)
    parser.add_argument("--profile", type=int, default=0, metavar="N",
                        help="a profile of N windows, the first 1 ms, all pages: 65 s for 16 of them, a method and run")
    parser.add_argument("--way", nargs="*", default=[], help="words for tests/wss/touch.c: scattered, huge, read")
    options = parser.parse_args()
    methods = METHODS if not options.profile else {name: METHODS[name] for name in ("wss.pl's calls", "smaps", "pte")}
    seconds = 0.001 if options.profile else options.seconds
    with tempfile.TemporaryDirectory() as folder:
        touch, calls = pathlib.Path(folder, "touch"), pathlib.Path(folder, "calls")
        subprocess.run(["gcc", "-O2", "-o", touch, HERE.parents[1] / "tests/wss/touch.c"], check=True)
        subprocess.run(["gcc", "-O2", "-o", calls, HERE / "wss_pl_calls.c"], check=True)
        process = subprocess.Popen([touch, str(options.rss_gib << 10), str(options.hot_mib), *options.way],
                                   stdout=subprocess.PIPE, text=True)
        try:
            address = int(process.stdout.readline().split()[0], 16)
            results = {name: [] for name in methods}
            for _ in range(options.runs):  # in turn, so that what disturbs one disturbs all
                for name, words in methods.items():
                    results[name].append(once(calls, words, process.pid, address, seconds, options.profile))
        finally:
            process.kill()
            process.wait()
    base = statistics.median(run[1] for run in results["wss.pl's calls"])
    print(f"{'method':<16} {'CPU ms':>8} {'cheaper':>8} {'whole ms':>9} {'stall ms':>9} {'off %':>7} {'sd %':>6}")
    for name, runs in results.items():
        off = [(run[3] / (options.hot_mib << 20) - 1) * 100 for run in runs]
        cpu = statistics.median(run[1] for run in runs)
        print(f"{name:<16} {cpu:>8.2f} {base / cpu:>8.1f} {statistics.median(run[0] for run in runs):>9.1f} "
              f"{max(run[2] for run in runs):>9.1f} {statistics.mean(off):>7.2f} {statistics.pstdev(off):>6.2f}")


if __name__ == "__main__":
    main()
