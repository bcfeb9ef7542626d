#!/usr/bin/env python3
"""The reader against Python's pickle.load, on the same files, in one run.

    bench/compare_pickle.py --bench build/release/bench/reader_bench FILE.pickle …

The files must be unpacked pickles. Each side runs in processes of its own, one after the other, with
the file in the page cache; of several runs the fastest counts. Times are of the processor (wall clock
in brackets); memory is the peak resident size, the file's mapped pages included for the reader.
pickle.load is measured as people call it and with Python's garbage collector switched off, which
would otherwise look at millions of new dicts again and again.
"""

import argparse
import json
import os
import subprocess
import sys
import time

READER_RUNS = 3
LOADER = """
import gc, pickle, resource, sys, time
data = open(sys.argv[1], "rb")
if sys.argv[2] == "off":
    gc.disable()
wall, cpu = time.perf_counter(), time.process_time()
top = pickle.load(data)
print(time.process_time() - cpu, time.perf_counter() - wall,
      resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


def warm(path):
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass


def measure_reader(bench, path):
    return min((run_reader(bench, path) for _ in range(READER_RUNS)), key=lambda r: r["cpu_time"])


def run_reader(bench, path):
    result = subprocess.run(
        [bench, "--benchmark_filter=File", "--benchmark_format=json"],
        env={**os.environ, "TIDEGAUGE_BENCH_FILE": path},
        capture_output=True,
        check=True,
    )
    run = json.loads(result.stdout)["benchmarks"][0]
    if run.get("error_occurred"):
        sys.exit(f"{path}: {run['error_message']}")
    return run


def measure_pickle(path, collector):
    command = [sys.executable, "-c", LOADER, path, collector]
    return map(float, subprocess.run(command, capture_output=True, check=True).stdout.split())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bench", required=True, help="the reader_bench program")
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    print(f"measured {time.strftime('%Y-%m-%d')}, Python {sys.version.split()[0]}")
    for path in arguments.files:
        warm(path)
        run = measure_reader(arguments.bench, path)
        size, events = run["input_bytes"], run["events"]
        cpu, wall, rss = run["cpu_time"] / 1e3, run["real_time"] / 1e3, run["peak_rss_bytes"]
        extra = (rss - size) / events if events else 0
        print(f"{os.path.basename(path)}: {size / 1e6:,.0f} MB, {events:,.0f} events")
        print(
            f"  reader       {cpu:7.3f} s ({wall:.3f} s wall), {size / cpu / 1e6:,.0f} MB/s,"
            f" {cpu / max(events, 1) * 1e9:.0f} ns/event,"
            f" peak {rss / 1e6:,.0f} MB = file + {extra:.0f} bytes/event"
        )
        for collector in ("on", "off"):
            pickle_cpu, pickle_wall, pickle_rss = measure_pickle(path, collector)
            print(
                f"  pickle.load  {pickle_cpu:7.3f} s ({pickle_wall:.3f} s wall),"
                f" {size / pickle_cpu / 1e6:,.0f} MB/s, peak {pickle_rss / 1e6:,.0f} MB,"
                f" gc {collector}: the reader is {pickle_cpu / cpu:.1f} times as fast"
            )


if __name__ == "__main__":
    main()
