#!/usr/bin/env python3
"""What a window costs of a process that has 60,000 mappings of a page each: side by side, every other one read-only,
or apart, each followed by a hole of 15 pages.

    sudo TIDEGAUGE_BINARY=build/dev/tidegauge python3 bench/wss/mappings.py [--runs 5]

Prints milliseconds of processor time of each run (`cost.cpu_s` of `wss --json`), and the worst stall."""
import argparse
import json
import os
import subprocess
import sys

BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
COUNT = 60_000  # the kernel allows a process 65,530
PAGE = 4096
PROGRAM = f"""
import ctypes, mmap, sys, time
apart = sys.argv[1] == "apart"
step = {PAGE} * (16 if apart else 1)
memory = mmap.mmap(-1, {COUNT} * step, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, len(memory), step): memory[at] = 1
begin = ctypes.addressof(ctypes.c_char.from_buffer(memory))
libc = ctypes.CDLL(None)
for i in range({COUNT}):
    if apart: libc.munmap(ctypes.c_void_p(begin + i * step + {PAGE}), ctypes.c_size_t(step - {PAGE}))
    elif i % 2: libc.mprotect(ctypes.c_void_p(begin + i * step), ctypes.c_size_t(step), 1)
print(len(open("/proc/self/maps").readlines()), flush=True)
while True:
    for at in range(0, {COUNT} * step, step): memory[at]
    time.sleep(0.01)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    for layout in ("side by side", "apart"):
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, layout], stdout=subprocess.PIPE, text=True)
        try:
            mappings = int(process.stdout.readline())
            costs = [json.loads(subprocess.run([BINARY, "wss", "--json", "--backend", "pte", "--sample", "exact",
                                                str(process.pid), "0.1"], check=True, capture_output=True,
                                               text=True).stdout)["rows"][0]["cost"] for _ in range(options.runs)]
        finally:
            process.kill()
            process.wait()
        print(f"{mappings:,} mappings, {layout}: " + " ".join(f"{cost['cpu_s'] * 1e3:.1f}" for cost in costs)
              + f" ms, stall {max(cost['stall_s'] for cost in costs) * 1e3:.1f} ms")


main()
