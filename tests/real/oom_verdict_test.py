#!/usr/bin/env python3
"""Every out-of-memory event of the real files against what ideal packing could do.

data/oracle holds runs of PyTorch's own allocator whose limit is known (capacity, memory fraction).
For each event this reads the pickle itself, adds up what the program held, and asks whether a heap
without any gap could have held the request too:

  blocks    live blocks as the allocator cut them + request <= limit: only the gaps were in the way
  ideal     live requests in whole 512 bytes + the least request that was rounded to this one
            <= limit < blocks: the waste inside of blocks was in the way
  neither   capacity

Needs the shared data (TIDEGAUGE_SHARED) and zstd; without them the test is skipped (exit code 77).
"""
import json
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import unittest

SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", "../shared")) / "data"
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
MIB = 1 << 20


def report(path):
    run = subprocess.run([BINARY, "report", "--json", str(path)], capture_output=True, text=True,
                         timeout=300, check=False)
    if run.returncode != 0:
        raise AssertionError(f"{path.name}: exit code {run.returncode}: {run.stderr}")
    return json.loads(run.stdout)


def snapshot(path):
    """The pickle of Tidegauge's own runs, by Python's own unpickler."""
    run = subprocess.run(["zstd", "-dcq", str(path)], capture_output=True, check=True)
    return pickle.loads(run.stdout)


def whole(size):
    return max(512, -(-size // 512) * 512)


class Rounding:
    """roundup_power2_divisions, slow and obvious."""

    def __init__(self, settings):
        table = settings.get("roundup_power2_divisions") or {}
        self.divisions = [table.get(str(1 << i), 0) for i in range(16)]

    def up(self, size):
        if size < 512:
            return 512
        log2 = size.bit_length() - 1
        d = self.divisions[min(15, max(0, log2 - 20))]
        if d > 1 and size > 512 * d:
            floor = 1 << log2
            if size == floor:
                return size
            step = floor // d
            return -(-size // step) * step if step else 2 * floor
        return whole(size)

    def least(self, rounded):
        """The least size that is rounded to this one."""
        low, high = 1, rounded
        while low < high:
            middle = (low + high) // 2
            if self.up(middle) >= rounded:
                high = middle
            else:
                low = middle + 1
        return low


def ooms_of(trace, rounding):
    """What the program held at each event: (index, requests in whole 512 B, rounded, reserved)."""
    live, reserved = {}, 0
    for index, event in enumerate(trace):
        action, size = event["action"], event["size"]
        if action == "alloc":
            live[event["addr"]] = size
        elif action == "free_completed":
            live.pop(event["addr"])
        elif action in ("segment_alloc", "segment_map"):
            reserved += size
        elif action in ("segment_free", "segment_unmap"):
            reserved -= size
        elif action == "oom":
            yield (index, event, sum(map(whole, live.values())),
                   sum(map(rounding.up, live.values())), reserved)


def names(verdict):
    return [row["verdict"] for row in verdict["rows"]]


class Oracle(unittest.TestCase):
    def check(self, oom, event, ideal, rounded, reserved, truth, rounding):
        verdict, total = oom["verdict"], oom["verdict"]["sum"]
        request, driver = event["size"], event["device_free"]
        limit = capacity = truth.get("capacity", 512 * MIB)  # extra/oom_observer: 512 MiB
        if truth.get("memory_fraction"):
            limit = int(capacity * truth["memory_fraction"])
        # the sum, against numbers that are not the program's
        self.assertEqual(total["difference_bytes"], 0)
        self.assertEqual(total["reserved_bytes"], reserved)
        self.assertEqual(total["live_bytes"] + total["free_bytes"], reserved)
        self.assertEqual(total["driver_bytes"], driver)
        self.assertEqual(total["ceiling_bytes"], capacity)
        self.assertEqual(total["live_bytes"] - verdict["rounding_bytes"], ideal)
        self.assertGreaterEqual(total["live_bytes"], rounded)
        self.assertEqual(verdict["uncertain_bytes"], 0)

        blocks_fit = total["live_bytes"] + request <= capacity
        ideal_fits = ideal + whole(rounding.least(request)) <= capacity
        self.assertEqual(verdict["lacking_bytes"],
                         max(0, total["live_bytes"] + request - capacity))
        if driver >= verdict["wanted_bytes"]:
            self.assertEqual(names(verdict), ["cap"])
            cap = verdict["cap"]
            self.assertLessEqual(cap["least_bytes"], limit)
            self.assertLess(limit, cap["below_bytes"])
            self.assertIn(cap["would_fit"], (None, total["live_bytes"] + request <= limit))
        else:
            expected = ("fragmentation" if blocks_fit else
                        "internal_waste" if ideal_fits else "capacity")
            self.assertEqual(names(verdict), [expected])
            self.assertEqual(verdict["missing_bytes"], verdict["wanted_bytes"] - driver)
            if expected == "capacity":  # and so it is under the lower limit of a fraction
                self.assertGreater(ideal + whole(rounding.least(request)), limit)
        return names(verdict)[0]

    def test_every_event_gets_the_verdict_of_ideal_packing(self):
        met = {}
        for path in sorted((SHARED / "oracle").rglob("*.zst")):
            held = snapshot(path)
            trace = held["device_traces"][0] if held["device_traces"] else []
            if not any(event["action"] == "oom" for event in trace):
                continue
            beside = path.with_name(path.name.replace(".pickle.zst", ".json"))
            truth = json.loads(beside.read_text()) if beside.exists() else {}
            rounding = Rounding(held["allocator_settings"])
            found = {oom["step"]: oom for oom in report(path)["devices"][0]["ooms"]}
            for index, event, ideal, rounded, reserved in ooms_of(trace, rounding):
                with self.subTest(str(path.relative_to(SHARED)), step=index):
                    name = self.check(found[index], event, ideal, rounded, reserved, truth,
                                      rounding)
                    met[name] = met.get(name, 0) + 1
        self.assertEqual(sum(met.values()), 39)
        for name in ("fragmentation", "internal_waste", "capacity", "cap"):
            self.assertGreaterEqual(met.get(name, 0), 2, name)

    def test_advice_never_repeats_what_is_set(self):
        for path in sorted((SHARED / "oracle").rglob("*.zst")):
            found = report(path)
            conf = found["file"]["conf"]
            for device in found["devices"]:
                with self.subTest(str(path.relative_to(SHARED))):
                    for advice in device["advice"]:
                        self.assertTrue(advice["evidence"])
                        for item in (advice["setting"] or "").split(","):
                            self.assertNotIn(item or ",", conf.split(","))
                            if advice["kind"] != "replayed_setting" and item:
                                self.assertNotIn(item.split(":")[0] + ":", conf)


class Snapshots(unittest.TestCase):
    def oom(self, name, ordinal):
        found = report(SHARED / "snapshots" / f"{name}.pickle.zst")
        gpu = next(d for d in found["devices"] if d["device"] == ordinal)
        return gpu["ooms"][-1], gpu["advice"]

    def test_fsdp_is_fragmentation(self):
        for rank in (0, 1):
            oom, advice = self.oom(f"fsdp-oom-rank{rank}", rank)
            verdict, total = oom["verdict"], oom["verdict"]["sum"]
            self.assertEqual(names(verdict), ["fragmentation"])
            self.assertEqual(round(verdict["missing_bytes"] / MIB), 166)
            self.assertEqual(round(total["free_bytes"] / MIB), 807)
            self.assertEqual(oom["holes"], 27)
            self.assertEqual(total["live_bytes"] + total["free_bytes"] + total["driver_bytes"],
                             total["ceiling_bytes"])
            self.assertEqual(total["difference_bytes"], 0)
            self.assertEqual(verdict["lacking_bytes"], 0)
            self.assertIn("expandable_segments", [one["kind"] for one in advice])

    def test_three_gpus_is_capacity(self):
        oom, advice = self.oom("three-gpus-expandable-oom", 1)
        verdict, total = oom["verdict"], oom["verdict"]["sum"]
        self.assertEqual(names(verdict), ["capacity"])
        self.assertEqual(total["live_bytes"] + total["free_bytes"] + total["driver_bytes"],
                         total["ceiling_bytes"])
        self.assertEqual(total["difference_bytes"], 0)
        self.assertEqual(verdict["lacking_bytes"],
                         oom["requested_bytes"] - total["free_bytes"] - total["driver_bytes"])
        kinds = [one["kind"] for one in advice]
        self.assertEqual(kinds[0], "no_setting_helps")
        self.assertNotIn("expandable_segments", kinds)


if __name__ == "__main__":
    if not SHARED.is_dir() or not shutil.which("zstd"):
        print(f"skipped: needs real snapshots at {SHARED} (set TIDEGAUGE_SHARED) and zstd")
        sys.exit(77)
    unittest.main()
