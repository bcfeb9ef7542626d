#!/usr/bin/env python3
"""Peaks of real snapshots, counted with Python's unpickler from the last state back to the first.

    peak_twin.py --binary build/dev/tidegauge [FILE…]

The final blocks and segments are known, so the totals before each event follow by undoing it, down
to the state before the first event. Requested and reserved peaks must be equal, with their step (−1:
before the first event); no peak is below the start or the end. Files that contradict themselves, and
devices where an alloc or a free is missing, are compared with the bound only.
Without FILE: the shared snapshots (TIDEGAUGE_SHARED; skipped, exit code 77, if absent).
"""

import argparse
import gzip
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import slow_reader

SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", "../shared")) / "data"
MAX_BYTES = 60 << 20  # unpacked: larger ones take minutes in Python
GAINS = {"alloc": ("requested", 1), "free_completed": ("requested", -1),
         "segment_alloc": ("reserved", 1), "segment_map": ("reserved", 1),
         "segment_free": ("reserved", -1), "segment_unmap": ("reserved", -1)}


def unpacked(path):
    if path.suffix == ".zst":
        return subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout
    data = path.read_bytes()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def truth(snapshot, device):
    """{"requested": (start, peak, step), "reserved": …}"""
    segments = [s for s in snapshot["segments"] if s["device"] == device]
    now = {"requested": sum(block.get("requested_size", block["size"])
                            for segment in segments for block in segment["blocks"]
                            if block["state"].startswith("active")),
           "reserved": sum(segment["total_size"] for segment in segments)}
    events = snapshot["device_traces"][device]
    peaks = {kind: (-1, None) for kind in now}
    for step in range(len(events) - 1, -1, -1):
        for kind, total in now.items():
            if total >= peaks[kind][0]:
                peaks[kind] = (total, step)
        kind, sign = GAINS.get(events[step]["action"], (None, 0))
        if kind:
            now[kind] -= sign * events[step]["size"]
    for kind, total in now.items():
        if total > peaks[kind][0]:
            peaks[kind] = (total, -1)
    return {kind: (now[kind], *peaks[kind]) for kind in now}


def differences(path, binary):
    run = subprocess.run([binary, "report", "--json", path], capture_output=True, text=True)
    if run.returncode != 0:
        return
    shown = json.loads(run.stdout)
    snapshot = slow_reader.load(unpacked(path))
    if not isinstance(snapshot, dict) or not snapshot.get("device_traces"):
        return
    for of in shown["devices"]:
        device = of["device"]
        for kind in ("requested", "active", "allocated", "reserved"):
            most = of["peak"][kind]["bytes"]
            ends = [of[end][f"{kind}_bytes"] for end in ("initial", "final")]
            if most is not None and any(end is not None and most < end for end in ends):
                yield f"device {device}: {kind}: the peak is below the start or the end"
        whole = all(i["holds"] for i in of["identities"]) and not of["allocations_by_provenance"]["lost"]
        odd = {i["kind"] for i in shown["issues"]} - {"free_without_alloc", "unknown_key", "no_stacks"}
        if device < 0 or of["events"] == 0 or not whole or odd:
            continue
        for kind, (start, most, step) in truth(snapshot, device).items():
            came = (of["initial"][f"{kind}_bytes"], of["peak"][kind]["bytes"], of["peak"][kind]["step"])
            if came != (start, most, step):
                yield f"device {device}: {kind}: start, peak, step: reported {came}, true {start, most, step}"
            else:
                yield None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge"))
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    if not options.files and not SHARED.is_dir():
        print(f"no real snapshots at {SHARED} (set TIDEGAUGE_SHARED)")
        return 77
    files = options.files or sorted(
        [*(SHARED / "snapshots").glob("*.zst"), *(SHARED / "oracle" / "extra").glob("*.zst"),
         *(SHARED / "oracle").glob("*__default.pickle.zst"), *(SHARED / "field").rglob("*.pickle")])
    failed = equal = 0
    for path in files:
        if path.stat().st_size > MAX_BYTES:
            continue
        for found in differences(path, options.binary):
            if found is None:
                equal += 1
            else:
                failed += 1
                print(f"FAILED {path.name}: {found}")
    print(f"{equal} peaks equal, {failed} failed")
    return 1 if failed or (not options.files and equal < 40) else 0


if __name__ == "__main__":
    sys.exit(main())
