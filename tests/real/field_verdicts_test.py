#!/usr/bin/env python3
"""Inputs after public reports that went wrong once (../shared/data/field): their verdicts and advice,
and what one change to the file does to them.

A row of a table: a change of the pickle, options of `report`, the verdicts that must follow, best
first. The changes move one out-of-memory event, one pool or one setting.

Needs the shared data (TIDEGAUGE_SHARED); without it the tests are skipped.
"""
import copy
import json
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from report_sql_test import sentences  # noqa: E402  # found beside this file

ROOT = pathlib.Path(__file__).resolve().parents[2]
FIELD = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared")) / "data" / "field"
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
MIB, GIB = 1 << 20, 1 << 30


def oom_of(snapshot):
    return next(e for trace in snapshot["device_traces"] for e in trace if e["action"] == "oom")


# ---- changes ------------------------------------------------------------------------------------

def same(_):
    pass


def oom(**fields):
    return lambda snapshot: oom_of(snapshot).update(fields)


def without(*fields):
    def change(snapshot):
        for field in fields:
            oom_of(snapshot).pop(field)
    return change


def live_block_in_the_pool(snapshot):
    """One segment of 600 MiB in graph pool 3, of which the first 2 MiB are live."""
    trace = next(trace for trace in snapshot["device_traces"] if trace)
    kept, other = (s for s in snapshot["segments"] if s["segment_pool_id"] == (3, 0))
    address = kept["address"]
    events = [event for event in trace if event.get("addr") != other["address"]]
    for event in events:
        if event.get("addr") == address:
            event["size"] = 600 * MIB
    of_it = [event for event in events if event.get("addr") == address]
    alloc = next(event for event in of_it if event["action"] == "alloc")
    events.insert(events.index(of_it[-1]) + 1, {**alloc, "size": 2 * MIB})
    for place, event in enumerate(events):
        event["time_us"] = events[0]["time_us"] + 7 * place
    trace[:] = events
    snapshot["segments"].remove(other)
    free = {**kept["blocks"][0], "size": 598 * MIB}
    live = {**free, "size": 2 * MIB, "requested_size": 2 * MIB, "state": "active_allocated"}
    if "address" in free:
        free["address"] = address + 2 * MIB
    kept.update(blocks=[live, free], total_size=600 * MIB, allocated_size=2 * MIB,
                active_size=2 * MIB, requested_size=2 * MIB)


def second_stack_in_the_pool(snapshot):
    """Two of five blocks of MemPool 1 come from model.py:99 layer1b."""
    moved = set()

    def move(holder):
        if holder.get("frames"):
            holder["frames"] = [{**holder["frames"][0], "line": 99, "name": "layer1b"}, *holder["frames"][1:]]

    for trace in snapshot["device_traces"]:
        of_pool = [e for e in trace if e["action"] == "alloc" and tuple(e["pool_id"]) == (0, 1)]
        for event in of_pool[::5] + of_pool[1::5]:
            move(event)
            moved.add(event["addr"])
    for segment in snapshot["segments"]:
        for block in segment["blocks"]:
            if block.get("address", segment["address"]) in moved:
                move(block)


def pool(new, old=None):
    """Moves a private pool, or only `old`, to another pool."""
    def change(snapshot):
        for segment in snapshot["segments"]:
            if segment["segment_pool_id"] != (0, 0) and old in (None, segment["segment_pool_id"]):
                segment["segment_pool_id"] = new
        for trace in snapshot["device_traces"]:
            for event in trace:
                if event["pool_id"] != (0, 0) and old in (None, event["pool_id"]):
                    event["pool_id"] = new
    return change


def conf(text, **fields):
    def change(snapshot):
        snapshot["allocator_settings"]["PYTORCH_CUDA_ALLOC_CONF"] = text
        snapshot["allocator_settings"].update(fields)
    return change


def both(*changes):
    def change(snapshot):
        for each in changes:
            each(snapshot)
    return change


TABLE = {
    "05-leaked-graph-pool/leaked.pickle": [
        # request 560 MiB, driver 448 MiB, two whole free segments of graph pool 3: 600 MiB
        ("as recorded", same, [], ["held_in_pool"]),
        ("a MemPool", pool((0, 7)), [], ["held_in_pool"]),
        ("the default pool: no flush took place", pool((0, 0)), [], ["no_flush"]),
        ("the request is of that pool", oom(pool_id=(3, 0)), [], ["fragmentation"]),
        ("the driver had nothing", oom(device_free=0), [], ["held_in_pool"]),
        ("even the pool would not do", oom(device_free=0, size=602 * MIB), [], ["capacity"]),
        ("larger than all memory", oom(size=3 * GIB), [], ["never_fits"]),
        ("the driver had enough", oom(device_free=560 * MIB), [], ["cap"]),
        ("on a large device", same, ["--capacity", "80GiB"], ["others", "held_in_pool"]),
    ],
    "30-mempool/mempool.pickle": [
        # request 500 MiB, driver 196 MiB, 40 free segments of 30 MiB in MemPool 1
        ("as recorded", same, [], ["held_in_pool"]),
        ("the pool of a graph", pool((5, 0)), [], ["held_in_pool"]),
        ("the default pool: no flush took place", pool((0, 0)), [], ["no_flush"]),
        ("larger than all memory", oom(size=5 * GIB), [], ["never_fits"]),
    ],
    "30-mempool/rounding.pickle": [
        # requests of 10.01 MiB in segments of 12 MiB; the rests are in pieces
        ("as recorded", same, [], ["fragmentation"]),
        ("the driver had enough", oom(device_free=12 * MIB), [], ["cap"]),
    ],
    "09-larger-than-card/larger.pickle": [
        ("as recorded", same, [], ["never_fits"]),
        ("it could fit an empty device", oom(size=60_000_000_000), [], ["capacity"]),
        ("it could fit this device", same, ["--capacity", "128GiB"], ["capacity"]),
        ("it cannot fit this device", same, ["--capacity", "80GiB"], ["never_fits"]),
        ("nor if the driver's bytes are unknown", without("device_free"), ["--capacity", "80GiB"],
         ["never_fits"]),
        ("it could fit an empty device, and those bytes are unknown",
         both(oom(size=60_000_000_000), without("device_free")), ["--capacity", "80GiB"], ["capacity"]),
    ],
    "11-sleep-mode/asleep.pickle": [
        ("as recorded", same, [], ["capacity"]),
        ("the size of the device is known", same, ["--capacity", "80GiB"], ["capacity"]),
        ("larger than the device", oom(size=82 * GIB), ["--capacity", "80GiB"], ["never_fits"]),
    ],
    "18-policy-and-fraction/fraction.pickle": [
        ("as recorded", same, [], ["cap"]),
        ("no fraction in the settings", conf(""), [], ["cap"]),
        ("a fraction that does not explain it", conf("per_process_memory_fraction:0.9"), [], ["cap"]),
    ],
    "07-expandable-asked/not-asked.pickle": [
        ("as recorded", same, [], ["fragmentation"]),
        ("the driver had enough", oom(device_free=100 * MIB), [], ["cap"]),
    ],
}


# Advice that no setting replaces (causes.h).
CAUSES = {"empty_cache", "pool", "stream", "memory_fraction", "try_again", "other_processes",
          "release_pool", "flush_before_capture", "check_request"}


class Field(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not FIELD.is_dir():
            raise unittest.SkipTest(f"no files at {FIELD} (set TIDEGAUGE_SHARED)")
        cls.folder = tempfile.TemporaryDirectory()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_command(self, command, path, *options, env=None):
        run = subprocess.run([BINARY, command, str(path), *options], capture_output=True, text=True,
                             timeout=300, check=False, env=env)
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def run_report(self, path, *options):
        return self.run_command("report", path, *options)

    def changed(self, name, change):
        snapshot = copy.deepcopy(pickle.loads((FIELD / name).read_bytes()))
        change(snapshot)
        path = pathlib.Path(self.folder.name, "changed.pickle")
        path.write_bytes(pickle.dumps(snapshot, protocol=4))
        return path

    def device(self, path, *options):
        return json.loads(self.run_report(path, "--json", *options))["devices"][0]

    def text(self, name, *options, change=same):
        return " ".join(self.run_report(self.changed(name, change), *options).split())

    def test_one_change_moves_the_verdict(self):
        for name, rows in TABLE.items():
            for what, change, options, wanted in rows:
                with self.subTest(f"{name}: {what}"):
                    device = self.device(self.changed(name, change), *options)
                    verdict = device["ooms"][-1]["verdict"]
                    self.assertEqual([row["verdict"] for row in verdict["rows"]], wanted)

    def test_each_number_of_a_changed_file_has_its_sql(self):
        for name, rows in TABLE.items():
            for what, change, options, _ in rows:
                with self.subTest(f"{name}: {what}"), \
                        sentences.Database(BINARY, self.changed(name, change)) as database:
                    sentences.check_text(database, *options)
                    sentences.check_json(database, *options)

    def test_what_was_refused_twice_has_one_limit_or_none(self):
        # Refused at 3,640 MiB reserved, and before that at 122 MiB: no limit does both.
        def refused_early(snapshot):
            conf("")(snapshot)
            trace = next(trace for trace in snapshot["device_traces"] if trace)
            trace.insert(20, {**oom_of(snapshot), "time_us": trace[20]["time_us"]})
        path = self.changed("18-policy-and-fraction/fraction.pickle", refused_early)
        text = " ".join(self.run_report(path).split())
        self.assertIn("Refused although memory was free.", text)
        self.assertIn("no fixed limit explains it: the process had 3,640 MiB reserved at some time", text)
        self.assertNotIn("memory_fraction", [one["kind"] for one in self.device(path)["advice"]])

    def test_what_the_driver_had_at_most_is_counted(self):
        path = self.changed("09-larger-than-card/larger.pickle",
                            both(oom(size=60_000_000_000), without("device_free")))
        device = self.device(path, "--capacity", "80GiB")
        most = 80 * GIB - device["ooms"][0]["reserved_bytes"]
        self.assertEqual(device["ooms"][0]["verdict"]["lacking_bytes"], 60_000_000_000 - most)
        text = " ".join(self.run_report(path, "--capacity", "80GiB").split())
        self.assertIn("Even if all free memory were one range, 1.29 GiB would be missing.", text)

    def test_advice_that_a_replay_disproves_is_not_given(self):
        for name in TABLE:
            with self.subTest(name):
                for one in self.device(FIELD / name)["advice"]:
                    if one["setting"]:
                        self.assertIsNotNone(one["replayed"], one)
                brief = self.text(name).split("What helps", 1)[1].split("Who holds it", 1)[0]
                before = brief.split("a replay: ", 1)[0]  # "Does not help in a replay: …" ends it
                for one in self.device(FIELD / name)["advice"]:
                    if one["replayed"] and not one["replayed"]["helps"] and one["setting"]:
                        self.assertNotIn(one["setting"], before)

    def test_each_report_is_one_page(self):
        paths = [*FIELD.rglob("*.pickle"), *(FIELD.parent / "snapshots").glob("*.zst")]
        self.assertGreater(len(paths), 30)
        for path in paths:
            with self.subTest(path.name):
                lines = self.run_report(path).splitlines()
                self.assertLessEqual(len(lines), 40)
                for line in lines:
                    self.assertLessEqual(len(line), 100, line)

    def test_a_pool_with_a_live_block_is_released_with_it(self):
        device = self.device(self.changed("05-leaked-graph-pool/leaked.pickle", live_block_in_the_pool))
        advice = next(one for one in device["advice"] if one["kind"] == "release_pool")
        self.assertEqual({e["name"]: e["value"] for e in advice["evidence"]}["pool_live_bytes"], 2 * MIB)
        self.assertTrue(advice["replayed"]["helps"])
        self.assertEqual(advice["replayed"]["ooms"], 0)

    def test_a_limit_that_explains_nothing_is_not_raised(self):
        name = "18-policy-and-fraction/fraction.pickle"
        kinds = {}
        for fraction in ("0.5", "0.547", "0.9"):
            path = self.changed(name, conf(f"per_process_memory_fraction:{fraction}"))
            kinds[fraction] = {one["kind"]: one["setting"] for one in self.device(path)["advice"]}
        self.assertEqual(kinds["0.5"]["memory_fraction"], "per_process_memory_fraction:0.55")
        self.assertEqual(kinds["0.547"]["memory_fraction"], "per_process_memory_fraction:0.56")
        self.assertNotIn("memory_fraction", kinds["0.9"])
        text = self.text(name, change=conf("per_process_memory_fraction:0.9"))
        self.assertIn("no fixed limit explains it: the settings allow 6,962 MiB", text)
        self.assertNotIn("reserved earlier", text)

    def test_no_stack_of_an_unmapped_pool_is_the_largest_holder(self):
        path = self.changed("11-sleep-mode/asleep.pickle", second_stack_in_the_pool)
        text = " ".join(self.run_report(path, "--capacity", "80GiB").split())
        self.assertIn("model.py:99 layer1b ‹ train.py:30 step (unmapped)", text)
        self.assertNotIn("The largest holder is model.py:99", text)
        self.assertNotIn("the memory available to this process", text)

    def test_of_several_failures_the_report_says_which_it_describes(self):
        """A smaller request fails twice just before the recorded one."""
        def earlier(snapshot):
            trace = next(t for t in snapshot["device_traces"] if any(e["action"] == "oom" for e in t))
            at = next(i for i, e in enumerate(trace) if e["action"] == "oom")
            for size in (490 * MIB, 500 * MIB):
                trace.insert(at, {**trace[at], "size": size})

        name = "05-leaked-graph-pool/leaked.pickle"
        path = self.changed(name, earlier)
        steps = [oom["step"] for oom in self.device(path)["ooms"]]
        self.assertEqual(len(steps), 3)
        text = " ".join(self.run_report(path).split())
        self.assertIn(f"Out of memory, the worst of 3 failed requests, at step {steps[2]:,}", text)
        self.assertIn(f"2 other requests failed, the largest for 500 MiB at step {steps[0]:,}.", text)
        full = " ".join(self.run_report(path, "--full").split())
        self.assertIn("Out of memory, the worst of 3 failed requests, at step", full)
        self.assertNotIn("the worst of", self.text(name))

    def test_a_capacity_that_may_be_unmapped_is_an_upper_bound(self):
        path = FIELD / "11-sleep-mode/asleep.pickle"
        text = " ".join(self.run_report(path).split())
        self.assertIn("≤ ", text)
        self.assertIn("┄ capacity (at most)", text)
        self.assertIn("the most that this process could have had", text)
        self.assertNotIn("the memory available to this process", text)
        full = " ".join(self.run_report(path, "--full").split())
        self.assertIn("When memory is full is not stated, because", full)
        self.assertNotIn("more events", full.split("Time until memory is full", 1)[1])
        self.assertIn("(MemPool)", full.split("Holders of", 1)[1])
        holders = " ".join(self.run_report(path, "--full", "--capacity", "80GiB").split())
        self.assertIn("(unmapped)", holders.split("Holders of", 1)[1])
        pools = self.device(path)["wall"]["rows"]
        for row in pools:
            self.assertGreater(row["unmapped_bytes"], 0)
            self.assertIsNone(row["events_left"])
        self.assertNotIn("(at most)", self.text("30-mempool/rounding.pickle"))

    def test_a_line_to_copy_keeps_the_other_settings_without_a_replay(self):
        path = self.changed("07-expandable-asked/not-asked.pickle", conf("garbage_collection_threshold:0.6"))
        self.assertIn("PYTORCH_CUDA_ALLOC_CONF=garbage_collection_threshold:0.6,expandable_segments:True",
                      self.run_report(path, "--no-replay"))

    def test_a_rule_of_the_device_is_not_one_of_pinned_memory(self):
        path = self.changed("12-pinned-rounding/pinned.pickle", conf("throw_on_cudamalloc_oom:True"))
        for device in json.loads(self.run_report(path, "--json"))["devices"]:
            kinds = [one["kind"] for one in device["story"]["findings"]]
            self.assertEqual("silent_refusals" in kinds, device["device"] >= 0, device["device"])

    # ---- what if --------------------------------------------------------------------------------

    def what_if(self, path, *options):
        return json.loads(self.run_command("whatif", path, "--json", *options))["devices"][0]

    def test_what_if_has_the_causes_of_the_report(self):
        for name, rows in TABLE.items():
            for what, change, options, _ in rows:
                if options:  # --capacity is the recorded device in one, and another one in the other
                    continue
                with self.subTest(f"{name}: {what}"):
                    path = self.changed(name, change)
                    advice = [one for one in self.device(path)["advice"] if one["kind"] in CAUSES]
                    for one in advice:
                        del one["text"]
                    self.assertEqual(self.what_if(path)["causes"], advice)

    def test_what_if_begins_with_the_pool_that_should_go(self):
        for name, pool_name in (("05-leaked-graph-pool/leaked.pickle", "the CUDA graph of graph pool 3"),
                                ("30-mempool/mempool.pickle", "MemPool 1")):
            with self.subTest(name):
                device = self.what_if(FIELD / name)
                self.assertEqual([one["kind"] for one in device["causes"]], ["release_pool"])
                replayed = device["causes"][0]["replayed"]
                self.assertEqual((replayed["helps"], replayed["ooms_before"], replayed["ooms"]),
                                 (True, 1, 0))
                self.assertTrue(device["sentences"][0].startswith(f"Let {pool_name} go"))

    def test_what_if_begins_with_the_flush_that_a_capture_prevented(self):
        device = self.what_if(self.changed("05-leaked-graph-pool/leaked.pickle", pool((0, 0))))
        self.assertEqual([one["kind"] for one in device["causes"]], ["flush_before_capture"])
        self.assertEqual(device["causes"][0]["copy"], "torch.cuda.empty_cache()")
        self.assertTrue(device["sentences"][0].startswith(
            "Call torch.cuda.empty_cache() before the capture begins. 600 MiB in whole free segments"))

    def test_a_larger_fraction_is_tried(self):
        name = "18-policy-and-fraction/fraction.pickle"
        for device in (self.what_if(FIELD / name)["causes"], self.device(FIELD / name)["advice"]):
            cause = next(one for one in device if one["kind"] == "memory_fraction")
            self.assertEqual(cause["setting"], "per_process_memory_fraction:0.55")
            replayed = cause["replayed"]
            self.assertEqual((replayed["helps"], replayed["ooms_before"], replayed["ooms"]), (True, 1, 0))
            self.assertEqual(replayed["peak_reserved_bytes"], 4_240 * MIB)
        self.assertEqual(self.what_if(FIELD / name)["sentences"][1],
                         "To set it: PYTORCH_CUDA_ALLOC_CONF=per_process_memory_fraction:0.55")

    def test_a_limit_that_the_replay_does_not_find_proves_nothing(self):
        # The file has no flush before the refusal, so no limit explains it in a replay.
        device = self.what_if(self.changed("18-policy-and-fraction/fraction.pickle", conf("")))
        cause = next(one for one in device["causes"] if one["kind"] == "memory_fraction")
        self.assertEqual((cause["setting"], cause["replayed"], device["limit_bytes"]), (None, None, None))
        self.assertIn("4.14 GiB must be allowed", device["sentences"][0])

    def test_what_if_says_that_memory_may_be_unmapped(self):
        path = FIELD / "11-sleep-mode/asleep.pickle"
        self.assertTrue(self.what_if(path)["may_be_unmapped"])
        self.assertFalse(self.what_if(FIELD / "09-larger-than-card/larger.pickle")["may_be_unmapped"])
        text = " ".join(self.run_command("whatif", path).split())
        self.assertIn("Memory of a MemPool may be unmapped", text)
        self.assertNotIn("available", text)

    def test_memory_beyond_the_device_is_counted_in_replays_but_not_needed(self):
        # 54.36 GiB are beyond the 80 GiB of the device: S 68.36 + D 66 − T 80 GiB. The request is 2 GiB
        # too large, 3 % of it, whether or not that memory is on the device.
        path = FIELD / "11-sleep-mode/asleep.pickle"
        known = self.what_if(path, "--recorded-capacity", "80GiB", "--min-capacity")
        self.assertEqual(known["fit"]["factor"], self.what_if(path)["fit"]["factor"])
        self.assertEqual(known["fit"]["factor"], 0.97)
        self.assertEqual(known["unmapped_bytes"], 58_367_934_464)
        self.assertEqual(known["own"]["ooms"], 1)
        self.assertEqual(known["own"]["min_capacity_bytes"], 82 * GIB)
        text = " ".join(self.run_command("whatif", path, "--recorded-capacity", "80GiB").split())
        self.assertIn("The recorded device has 80.00 GiB. PyTorch counted 54.36 GiB beyond that", text)
        self.assertNotIn("may be unmapped", text)
        report = json.loads(self.run_report(path, "--json", "--capacity", "80GiB"))["devices"][0]
        self.assertEqual(report["replay"]["fit"]["factor"], 0.97)

    def test_a_device_smaller_than_what_was_reserved_is_refused(self):
        path = FIELD / "18-policy-and-fraction/fraction.pickle"
        said = "too small for this recording: cuda:0 had 3.55 GiB (3,816,816,640 B) reserved"
        for command in (["whatif", path, "--recorded-capacity", "3GiB"],
                        ["whatif", path, "--recorded-fraction", "0"],
                        ["whatif", path, "--recorded-capacity", "8GiB", "--recorded-fraction", "0.4"]):
            result = subprocess.run([BINARY, *map(str, command)], capture_output=True, text=True)
            self.assertEqual(result.returncode, 2, command)
            self.assertIn(said, result.stderr)
        result = subprocess.run([BINARY, "report", str(path), "--json", "--capacity", "3GiB"],
                                capture_output=True, text=True, check=True)
        self.assertIn(said, result.stderr)
        verdict = json.loads(result.stdout)["devices"][0]["ooms"][0]["verdict"]
        self.assertEqual(verdict["not_on_device_bytes"], 0)
        self.run_command("whatif", path, "--capacity", "1GiB")  # asks about any card
        # A MemPool may have unmapped what PyTorch counts.
        self.run_command("report", FIELD / "11-sleep-mode/asleep.pickle", "--capacity", "60GiB")

    def test_a_request_that_is_tried_again_is_explained_where_it_was_first_refused(self):
        def again(snapshot):
            trace = snapshot["device_traces"][0]
            place = max(i for i, event in enumerate(trace) if event["action"] == "oom")
            trace[place + 1:place + 1] = [dict(trace[place]), dict(trace[place])]

        name = "30-mempool/rounding.pickle"
        once = json.loads(self.run_report(FIELD / name, "--json"))["devices"][0]["ooms"]
        tried = json.loads(self.run_report(self.changed(name, again), "--json"))["devices"][0]["ooms"]
        self.assertEqual((len(once), len(tried)), (1, 3))
        self.assertEqual([one["step"] for one in tried if one.get("verdict")][:1], [once[0]["step"]])

    def test_diff_names_a_setting_that_is_not_in_effect(self):
        text = " ".join(self.run_command("diff", FIELD / "07-expandable-asked/not-asked.pickle",
                                         FIELD / "07-expandable-asked/asked-not-supported.pickle").split())
        self.assertIn("expandable_segments:True (expandable_segments is not in effect) in B", text)

    def test_what_if_fits_a_narrow_page(self):
        for path in FIELD.rglob("*.pickle"):
            for columns in (60, 79):
                with self.subTest(f"{path.name}: {columns}"):
                    text = self.run_command("whatif", path, env={**os.environ, "COLUMNS": str(columns)})
                    for line in text.splitlines()[1:]:  # after the name of the file
                        self.assertLessEqual(len(line), columns, line)
                    self.assertNotRegex(text, r"\d…")

    # ---- each report ----------------------------------------------------------------------------

    def test_a_pool_is_named_with_what_it_holds(self):
        text = self.text("05-leaked-graph-pool/leaked.pickle")
        for part in ("Held in a pool. 600 MiB", "graph pool 3 keeps 600 MiB free and has no active",
                     "Let the CUDA graph of graph pool 3 go"):
            self.assertIn(part, text)
        self.assertNotIn("Fragmentation", text)
        text = self.text("30-mempool/mempool.pickle")
        self.assertIn("MemPool 1 keeps 1.17 GiB free and has 1.17 GiB active in 40 blocks", text)
        advice = self.device(FIELD / "30-mempool/mempool.pickle")["advice"]
        self.assertNotIn("empty_cache", [one["kind"] for one in advice])

    def test_frag_does_not_call_a_pool_releasable(self):
        path = FIELD / "05-leaked-graph-pool/leaked.pickle"
        run = subprocess.run([BINARY, "frag", "--json", str(path)], capture_output=True, text=True,
                             timeout=300, check=True)
        now = json.loads(run.stdout)["devices"][0]["now"]
        self.assertEqual((now["releasable_bytes"], now["held_in_pools_bytes"]), (0, 600 * MIB))

    def test_the_rests_of_segments_are_the_cause(self):
        text = self.text("30-mempool/rounding.pickle")
        self.assertIn("a request of 10.0 MiB (10,496,245 B) takes a segment of 12.0 MiB for itself", text)
        self.assertNotIn("split the request", text)

    def test_a_setting_that_is_not_in_effect_is_not_advised(self):
        name = "07-expandable-asked/asked-not-supported.pickle"
        kinds = [one["kind"] for one in self.device(FIELD / name)["advice"]]
        self.assertNotIn("expandable_segments", kinds)
        self.assertIn("setting_not_in_effect", kinds)
        self.assertIn("expandable_segments", [
            one["kind"] for one in self.device(FIELD / "07-expandable-asked/not-asked.pickle")["advice"]])

    def test_a_request_that_could_never_fit_is_the_suspect(self):
        text = self.text("09-larger-than-card/larger.pickle")
        self.assertIn("The request could never fit", text)
        self.assertNotIn("must hold at least", text)
        self.assertNotIn("smaller batch", text)

    def test_the_fraction_of_the_settings_is_used(self):
        name = "18-policy-and-fraction/fraction.pickle"
        self.assertIn("limit this process to 0.5 of the device", self.text(name))
        cap = self.device(FIELD / name)["ooms"][0]["verdict"]["cap"]
        self.assertEqual(cap["fraction"], 0.5)
        text = self.text(name, change=conf("per_process_memory_fraction:0.9"))
        self.assertIn("Memory was probably freed after the refusal", text)
        self.assertIn("Refused requests may be missing", self.text(
            "18-policy-and-fraction/policy.pickle"))

    def test_memory_that_is_not_on_the_device(self):
        name = "11-sleep-mode/asleep.pickle"
        text = self.text(name, "--capacity", "80GiB")
        self.assertIn("54.36 GiB of the reserved memory are not on the device", text)
        advice = self.device(FIELD / name)["advice"]
        holder = next(one for one in advice if one["kind"] == "hold_less")
        self.assertIn("model.py:12 layer2", holder["text"])
        self.assertIn("unmaps its memory", self.text(name))


if __name__ == "__main__":
    unittest.main()
