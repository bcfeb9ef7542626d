#!/usr/bin/env python3
"""Measures the out-of-memory hook of `tidegauge.torch` on real PyTorch and the stand-in GPU.

    bench/python_oom.py [EVENTS…]      default: 10000 100000 200000

Prints: what recording costs per allocation; how long the first OutOfMemoryError is delayed, and one that
repeats; the host memory that the hook takes beyond what PyTorch takes to hand out its snapshot; and the
memory of the report's process. The environment is that of tests/python/torch (see its programs.py)."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests/python/torch"))
import programs  # noqa: E402  # found in the folder of the tests

PROGRAM = """
import json, os, pathlib, sys, tempfile, time
import torch
import tidegauge.torch, tidegauge.torch._live as live
torch.backends.cudnn.enabled = False
mode, events = sys.argv[1], int(sys.argv[2])
values = {}

def fill(count, depth=12):
    if depth:
        return fill(count, depth - 1)
    for _ in range(count):
        torch.empty(1000, device="cuda")

def per_allocation(count=30_000):
    fill(1000)
    begin = time.process_time()  # of the processor, so that other programs do not count
    fill(count)
    return (time.process_time() - begin) / count * 1e6

def fail():
    begin = time.perf_counter()
    try:
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    except torch.cuda.OutOfMemoryError:
        pass
    return (time.perf_counter() - begin) * 1e3

def fails(count):
    return [fail() for _ in range(count)]

def peak():
    return next(int(line.split()[1]) << 10 for line in open("/proc/self/status") if line.startswith("VmHWM"))

def reset():
    pathlib.Path("/proc/self/clear_refs").write_text("5")
    return peak()

torch.cuda.init()
values["allocation_us_off"] = per_allocation()
folder = tempfile.mkdtemp()
fails(3)
values["fail_ms_without_hook"] = min(fails(20))
if mode == "hook":
    hook = tidegauge.torch.on_oom(folder, history=events, keep_free_bytes=0, max_delay_s=60)
else:
    torch.cuda.memory._record_memory_history(context="alloc", stacks="python", max_entries=events)
values["allocation_us_on"] = per_allocation()
fill(events // 3 + 10)
before = reset()
if mode == "hook":
    delays = fails(21)
    values["first_ms"], values["repeated_ms"] = delays[0], max(delays[1:])
    values["files"] = {path.suffix: path.stat().st_size for path in hook.files}
    values["problem"] = json.loads(next(pathlib.Path(folder).glob("*.json")).read_text())["missing"]
else:
    begin = time.perf_counter()
    snapshot = live.take()
    values["snapshot_ms"] = (time.perf_counter() - begin) * 1e3
values["peak_bytes"] = peak() - before
print(json.dumps(values))
"""


def measure(mode, events):
    """The values of one process."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "measured.py")
        program.write_text(PROGRAM)
        path = os.pathsep.join([str(programs.PACKAGE), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path,
                       "LD_LIBRARY_PATH": str(programs.libraries()), "FAKE_GPU_BYTES": "256m", "TMPDIR": folder,
                       "TIDEGAUGE_COMMAND": str(programs.BINARY)}
        done = subprocess.run([programs.PYTHON, program, mode, str(events)], env=environment, capture_output=True,
                              text=True, timeout=300, check=True)
        values = json.loads(done.stdout.splitlines()[-1])
        for path in pathlib.Path(folder).glob("*/oom-*-1.pickle"):
            report = subprocess.Popen([programs.BINARY, "report", path], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(report.pid, 0)
            report.returncode = os.waitstatus_to_exitcode(status)
            values["report_peak_bytes"] = used.ru_maxrss << 10
    return values


def main():
    if programs.why_not():
        sys.exit(programs.why_not())
    print("events   first ms  PyTorch's ms  repeated ms  (without hook)  beyond PyTorch   per event  file MB  report MB"
          "  µs per allocation off, on")
    for events in [int(word) for word in sys.argv[1:]] or [10_000, 100_000, 200_000]:
        hook, bare = measure("hook", events), measure("bare", events)
        beyond = hook["peak_bytes"] - bare["peak_bytes"]
        print(f"{events:>7,}  {hook['first_ms']:>8.0f}  {bare['snapshot_ms']:>12.0f}  {hook['repeated_ms']:>11.2f}  "
              f"{hook['fail_ms_without_hook']:>14.2f}  {beyond / 2**20:>10.1f} MiB  {beyond / events:>8.0f} B  "
              f"{hook['files'].get('.pickle', 0) / 1e6:>7.1f}  {hook['report_peak_bytes'] / 1e6:>9.0f}  "
              f"{hook['allocation_us_off']:.2f}, {hook['allocation_us_on']:.2f}", *hook["problem"])


if __name__ == "__main__":
    main()
