#!/usr/bin/env python3
"""Real snapshots through `tidegauge report --json`: every file opens and adds up.

* data/snapshots: files from the wild. Every identity holds, or the file's own contradiction is named.
* data/oracle: what PyTorch's own allocator did, with its own statistics beside each file. Peaks,
  numbers of allocations, driver calls and out-of-memory events must be equal, not close.

* data/snapshots through `tidegauge export`: each page is at most 5 MB.

Needs the shared data (TIDEGAUGE_SHARED); without it the test is skipped (exit code 77).
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", "../shared")) / "data"
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
MIB = 1 << 20


def report(path):
    """The report of a file as a dict; fails the test with the program's own words."""
    run = subprocess.run([BINARY, "report", "--json", str(path)], capture_output=True, text=True,
                         timeout=300, check=False)
    if run.returncode != 0:
        raise AssertionError(f"{path.name}: exit code {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def broken(found):
    return {(device["device"], identity["name"]) for device in found["devices"]
            for identity in device["identities"] if not identity["holds"]}


def device(found, ordinal):
    return next(d for d in found["devices"] if d["device"] == ordinal)


class Snapshots(unittest.TestCase):
    def snapshot(self, name):
        return report(SHARED / "snapshots" / f"{name}.pickle.zst")

    def test_every_file_opens_and_adds_up(self):
        files = sorted((SHARED / "snapshots").glob("*.zst"))
        self.assertGreaterEqual(len(files), 14)
        for path in files:
            with self.subTest(path.name):
                found = report(path)
                if path.name.startswith("inconsistent-synthetic"):
                    self.assertEqual(broken(found), {(0, "reserved"), (0, "segments")})
                else:
                    self.assertEqual(broken(found), set())

    def test_three_gpus_out_of_memory(self):
        gpu = device(self.snapshot("three-gpus-expandable-oom"), 1)
        self.assertEqual(len(gpu["ooms"]), 1)
        oom = gpu["ooms"][0]
        self.assertAlmostEqual(oom["requested_bytes"] / MIB, 5062.8, delta=0.05)
        self.assertEqual(oom["device_free_bytes"] / MIB, 91.25)
        self.assertEqual(oom["reserved_bytes"], 80302 * MIB)

    def test_fsdp_out_of_memory(self):
        for rank in (0, 1):
            gpu = device(self.snapshot(f"fsdp-oom-rank{rank}"), rank)
            oom = gpu["ooms"][-1]
            self.assertEqual(oom["step"], gpu["events"] - 1)
            self.assertEqual(oom["requested_bytes"], 4008 * MIB)
            self.assertAlmostEqual(oom["device_free_bytes"] / MIB, 3842.1, delta=0.05)
            self.assertEqual(oom["reserved_bytes"] // MIB, 35356)
            self.assertEqual(oom["active_bytes"] // MIB, 34549)
            self.assertEqual(oom["over_bytes"] // MIB, 165)

    def test_frees_without_alloc_are_named(self):
        issues = self.snapshot("training-midrun-torch211")["issues"]
        frees = [i for i in issues if i["kind"] == "free_without_alloc"]
        self.assertEqual([i["count"] for i in frees], [438])

    def test_snapshots_inside_a_trace_agree(self):
        found = self.snapshot("snapshots-inside-trace-torch22")
        self.assertEqual([i for i in found["issues"] if i["kind"] == "snapshot_checksum"], [])


class Pages(unittest.TestCase):
    def test_every_file_fits_into_a_page_that_can_be_sent(self):
        for path in sorted((SHARED / "snapshots").glob("*.zst")):
            with self.subTest(path.name), tempfile.TemporaryDirectory() as folder:
                page = pathlib.Path(folder, "page.html")
                run = subprocess.run([BINARY, "export", str(path), "--to", "html", "-o", str(page)],
                                     capture_output=True, text=True, timeout=300, check=False)
                if run.returncode == 4:
                    self.skipTest("this build has no page: configure it with TIDEGAUGE_WEB=ON")
                self.assertEqual(run.returncode, 0, run.stderr)
                size = page.stat().st_size
                self.assertLessEqual(size, 5_000_000)
                self.assertIn(f"({size:,} bytes)", run.stdout)


class Oracle(unittest.TestCase):
    def test_peaks_and_counts_equal_pytorch(self):
        files = sorted((SHARED / "oracle").rglob("*.json"))
        self.assertGreaterEqual(len(files), 60)
        for path in files:
            with self.subTest(str(path.relative_to(SHARED))):
                stats = json.loads(path.read_text())["memory_stats"]
                found = report(path.with_suffix(".pickle.zst"))
                self.assertEqual(broken(found), set())
                gpu = device(found, 0)
                peak = gpu["peak"]
                self.assertEqual(peak["uncertain_bytes"], 0)
                for kind in ("requested", "active", "allocated", "reserved"):
                    self.assertEqual(peak[kind]["bytes"], stats[f"{kind}_bytes.all.peak"], kind)
                    self.assertEqual(gpu["final"][f"{kind}_bytes"],
                                     stats[f"{kind}_bytes.all.current"], kind)
                self.assertEqual(gpu["allocations"], stats["allocation.all.allocated"])
                self.assertEqual(gpu["device_allocations"], stats["num_device_alloc"])
                self.assertEqual(gpu["device_frees"], stats["num_device_free"])
                self.assertEqual(len(gpu["ooms"]), stats["num_ooms"])

    def test_odd_shapes_open(self):
        for path in sorted((SHARED / "oracle" / "extra").glob("*.zst")):
            with self.subTest(path.name):
                self.assertEqual(broken(report(path)), set())


if __name__ == "__main__":
    if not SHARED.is_dir():
        print(f"skipped: no real snapshots at {SHARED} (set TIDEGAUGE_SHARED)")
        sys.exit(77)
    unittest.main()
