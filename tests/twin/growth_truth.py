#!/usr/bin/env python3
"""Growth against programs whose growth is known (tools/make_snapshot --workload).

A leak of k bytes per step at one stack is found among noise, with its slope within 5 %, and no other
stack is; in healthy programs none is. Also: what real files say, if they are there.

    tests/twin/growth_truth.py --binary build/dev/tidegauge
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared")) / "data"
BINARY = "build/dev/tidegauge"
WORKLOADS = ("train", "weights", "warmup", "sawtooth", "evaluation", "second", "stairs", "plateau")
EVENTS = {"sawtooth": 40000}  # its steps are long


def make(folder, *options):
    """(path, truth of the program)"""
    path = pathlib.Path(folder, "file.pickle")
    truth = pathlib.Path(folder, "truth.json")
    subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", "-o", path, "--truth", truth,
                    "--events", str(EVENTS.get(options[1], 12000)), *map(str, options)], check=True)
    known = json.loads(truth.read_text())
    return path, known["program"] | {"events": known["devices"][0]["events"]}


def growth(path):
    """{device: growth} of the report."""
    run = subprocess.run([BINARY, "report", "--json", path], capture_output=True, text=True,
                         timeout=600, check=True)
    return {device["device"]: device["growth"] for device in json.loads(run.stdout)["devices"]}


def stack_text(path, stack_id):
    run = subprocess.run([BINARY, "query", path, f"SELECT stack_text({stack_id})", "--format", "json"],
                         capture_output=True, text=True, timeout=60, check=True)
    return [*json.loads(run.stdout)[0].values()][0]


class Truth(unittest.TestCase):
    def test_healthy_programs_do_not_grow(self):
        for workload in WORKLOADS:
            for seed in (1, 2, 3, 4):
                for marked in ([], ["--annotations"]):
                    with self.subTest(workload=workload, seed=seed, marked=bool(marked)), \
                            tempfile.TemporaryDirectory() as folder:
                        path, _ = make(folder, "--workload", workload, "--seed", seed, *marked)
                        found = growth(path)[0]
                        self.assertEqual([(r["label"], r["per_step_bytes"]) for r in found["rows"]], [])
                        self.assertEqual(found["verdict"], "told")

    def test_leaks_are_found_with_their_slope(self):
        for workload in ("train", "warmup", "sawtooth"):
            for seed, size in ((1, "1"), (2, "3000"), (3, "64KiB"), (4, "5MiB")):
                for marked in ([], ["--annotations"]):
                    with self.subTest(workload=workload, leak=size, marked=bool(marked)), \
                            tempfile.TemporaryDirectory() as folder:
                        path, truth = make(folder, "--workload", workload, "--seed", seed, "--leak",
                                           size, *marked)
                        self.check_leak(path, truth, bool(marked))

    def test_late_leaks_are_found_with_their_slope_and_first_step(self):
        for workload in ("train", "warmup", "sawtooth"):
            for seed, size, share in ((5, "1", 0.6), (6, "3000", 0.7), (7, "64KiB", 0.8),
                                      (8, "1MiB", 0.4), (9, "64KiB", 0.55)):
                for marked in ([], ["--annotations"]):
                    with self.subTest(workload=workload, leak=size, share=share, marked=bool(marked)), \
                            tempfile.TemporaryDirectory() as folder:
                        path, truth = make(folder, "--workload", workload, "--seed", seed, "--leak",
                                           size, "--leak-from", share, *marked)
                        after = truth["events"] - truth["first_leak_step"]
                        self.check_leak(path, truth, bool(marked), after / truth["events"])

    def check_leak(self, path, truth, step_by_step, share=1):
        found = growth(path)[0]
        self.assertEqual(len(found["rows"]), 1, [r["label"] for r in found["rows"]])
        row = found["rows"][0]
        # Without marked steps the slope is per 1,000 events: over all of them.
        leaked = truth["leak_bytes_per_step"] * (1 if step_by_step else truth["leaks"])
        slope = row["per_step_bytes"] * (1 if step_by_step else found["program_steps"] * share)
        # If leaks are few, one at each end makes a difference. Requests also vary in length.
        bound = 0.05 if share == 1 or step_by_step else max(0.1, 2 / truth["leaks"])
        self.assertAlmostEqual(slope, leaked, delta=max(bound * leaked, self.rounding(found)))
        if share < 0.55:  # else, it may show in 80 % of the intervals
            self.assertTrue(row["is_late"])
        if row["is_late"]:
            self.assertLess(share, 1)
            self.assertEqual(row["since_step"], truth["first_leak_step"])
        expected = "\n".join(f"{file}:{line} {name}" for name, file, line in truth["leak_frames"])
        self.assertEqual(stack_text(path, row["stack_id"]), expected)
        self.assertEqual(row["kind"], "accumulates")
        self.assertEqual(row["blocks"], truth["leaks"])
        self.assertEqual(row["retained_bytes"], truth["leak_retained_bytes"])

    @staticmethod
    def rounding(found):
        """per_step_bytes is a whole number."""
        return found["program_steps"] / 2

    def test_real_files_hold_nothing_that_grows_step_by_step(self):
        if not SHARED.is_dir():
            self.skipTest(f"no real snapshots at {SHARED} (set TIDEGAUGE_SHARED)")
        for path in sorted([*(SHARED / "snapshots").glob("*.zst"), *(SHARED / "oracle").rglob("*.zst")]):
            with self.subTest(path.name):
                for device, found in growth(path).items():
                    self.assertEqual([r["label"] for r in found["rows"]], [], device)

    def test_a_real_late_leak(self):
        path = SHARED / "field" / "31-late-leak" / "late_leak.pickle"
        if not path.exists():
            self.skipTest(f"no {path} (set TIDEGAUGE_SHARED)")
        (row,) = growth(path)[0]["rows"]
        # 400 times 512 KiB, from the 600th of 1,000 rounds on; the rounds from there on have 2,902
        # events.
        self.assertEqual((row["label"], row["caller"]), ("cases.py:4 T", "cases.py:26 late_leak"))
        self.assertEqual((row["is_late"], row["since_step"]), (True, 3615))
        self.assertEqual((row["blocks"], row["retained_bytes"]), (400, 400 << 19))
        self.assertAlmostEqual(row["per_step_bytes"], (400 << 19) / 2.902, delta=0.05 * (400 << 19) / 2.902)

    def test_a_real_leak_too_short_to_test_is_under_never_freed(self):
        path = SHARED / "snapshots" / "npu-expandable-empty-cache.pickle.zst"
        if not path.exists():
            self.skipTest(f"no {path} (set TIDEGAUGE_SHARED)")
        run = subprocess.run([BINARY, "report", "--json", path], capture_output=True, text=True,
                             timeout=60, check=True)
        rows = json.loads(run.stdout)["devices"][0]["never_freed"]["rows"]
        row = next(r for r in rows if r["label"] == "memory_leaks_demo.py:11 train_one_step")
        self.assertEqual((row["blocks"], row["bytes"]), (3, 3 * 41943552))
        quarters = [row[f"quarter{q}_bytes"] // 41943552 for q in (1, 2, 3, 4)]
        self.assertEqual(quarters, [1, 1, 1, 0])  # one more in each of its three steps


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", default=os.environ.get("TIDEGAUGE_BINARY", BINARY))
    options, rest = parser.parse_known_args()
    BINARY = options.binary
    unittest.main(argv=[sys.argv[0], *rest])
