#!/usr/bin/env python3
"""What the walk of Python's frames adds to a recorded call: python_frames.py STANDIN [PYTHON…]

For each interpreter and depth, nanoseconds of a pair of cudaMalloc and cudaFree (two stacks, both known
after the first) with and without --no-python, the best of 150 rounds of 100 pairs. As root, with
TIDEGAUGE_BINARY; tests/standin/build.py makes STANDIN."""
import os
import subprocess
import sys
import tempfile

PROGRAM = """
import ctypes, sys, time
runtime = ctypes.CDLL("libcudart.so.13")
held = ctypes.c_void_p()
at, size, take, give = ctypes.byref(held), ctypes.c_size_t(4096), runtime.cudaMalloc, runtime.cudaFree
def deep(left):
    if left:
        return deep(left - 1)
    best = 1e9
    for _ in range(150):
        begin = time.perf_counter()
        for _ in range(100):
            take(at, size); give(held)
        best = min(best, time.perf_counter() - begin)
    return best / 100
print(round(deep(int(sys.argv[1])) * 1e9))
"""


def pair_ns(python, standin, depth, *options):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([os.environ["TIDEGAUGE_BINARY"], "record", "-o", f"{folder}/run.sqlite", "--no-summary",
                               *options, "--", python, "-c", PROGRAM, str(depth)], check=True, capture_output=True,
                              text=True, env={**os.environ, "LD_LIBRARY_PATH": standin})
    return int(done.stdout)


def main():
    standin, *pythons = sys.argv[1:]
    print("| interpreter | depth | pair, walked | not walked | more per stack |\n|---|---|---|---|---|")
    for python in pythons or [sys.executable]:
        for depth in (0, 20):
            walked, plain = pair_ns(python, standin, depth), pair_ns(python, standin, depth, "--no-python")
            print(f"| {python} | {depth} | {walked:,} ns | {plain:,} ns | {(walked - plain) / 2:,.0f} ns |", flush=True)


main()
