#!/usr/bin/env python3
"""Snapshots from the field whose recordings lack something, or hold something new: data/field.

The truth comes from Python's own pickle of the same file, or of the complete recording beside it. For
kinds of events that were left out, more such files are made from the complete one.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/real/field_lacks_test.py

Needs the shared data (TIDEGAUGE_SHARED); without it the test is skipped (exit code 77).
"""
import bz2
import itertools
import json
import lzma
import os
import pathlib
import pickle
import subprocess
import sys
import tempfile
import unittest

SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", "../shared")) / "data"
FIELD = SHARED / "field"
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
ACTIVE = ("active_allocated", "active_pending_free")
KINDS = ("alloc", "free_requested", "free_completed", "segment_alloc", "segment_free")


def run(*arguments, code=0):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=120,
                          check=False)
    if done.returncode != code:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done.stdout if code == 0 else done.stderr


def report(path):
    return json.loads(run("report", "--json", path))


def text(path):
    """The full report as one line of words."""
    return " ".join(run("report", "--full", path).split())


def query(path, sql):
    return [list(row.values()) for row in json.loads(run("query", path, sql, "--format", "json"))]


def load(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def issues(found):
    return {issue["kind"]: issue for issue in found["issues"]}


class Truth:
    """Totals after every event of a complete recording of device 0, by plain bookkeeping."""

    def __init__(self, snapshot):
        sizes = {}  # of blocks that the final state has
        for segment in snapshot["segments"]:
            for block in segment["blocks"]:
                sizes[block["address"]] = (block["size"], block["state"])
        self.final_active = sum(size for size, state in sizes.values() if state in ACTIVE)
        self.final_reserved = sum(s["total_size"] for s in snapshot["segments"])
        live, segments, self.requested, self.reserved = {}, {}, [], []
        for event in snapshot["device_traces"][0]:
            action, address, size = event["action"], event["addr"], event["size"]
            if action == "alloc":
                live[address] = size
            elif action == "free_completed":
                live.pop(address, None)
            elif action == "segment_alloc":
                segments[address] = size
            elif action == "segment_free":
                segments.pop(address, None)
            self.requested.append(sum(live.values()))
            self.reserved.append(sum(segments.values()))


class MissingKinds(unittest.TestCase):
    folder = FIELD / "01-skip-actions"

    def check(self, path, skipped, truth):
        found = report(path)
        device = found["devices"][0]
        lacks = device["lacks"]
        for kind in skipped:
            self.assertIn(kind, lacks["actions"])
        self.assertEqual([], [k for k in lacks["actions"] if k not in skipped])
        self.assertIn("missing_actions", issues(found))
        # The end comes from the final state; reserved is never below active.
        self.assertEqual(device["final"]["active_bytes"], truth.final_active)
        self.assertEqual(device["final"]["reserved_bytes"], truth.final_reserved)
        self.assertEqual(query(path, "SELECT count(*) FROM totals WHERE active_bytes > reserved_bytes"),
                         [[0]])
        for identity in device["identities"]:
            self.assertTrue(identity["holds"], identity["text"])
        # Bounds: what was requested at once was active at once.
        least = max(truth.requested)
        if lacks["peak_active_at_most_bytes"] is not None and lacks["peak_active_bound"] == "at_most":
            self.assertGreaterEqual(lacks["peak_active_at_most_bytes"], least)
        if lacks["peak_active_at_least_bytes"] is not None:
            self.assertLessEqual(lacks["peak_active_at_least_bytes"], max(truth.reserved))
        reserved = device["peak"]["reserved"]["bytes"]
        bound = lacks["peak_reserved_bound"]
        if bound == "exact":
            self.assertEqual(reserved, max(truth.reserved))
        elif bound == "at_least":
            self.assertLessEqual(reserved, max(truth.reserved))
        else:
            self.assertGreaterEqual(reserved, max(truth.reserved))
        words = text(path)
        self.assertIn("skip_actions", words)
        for kind in skipped:
            self.assertIn(kind, words)
        # Nor does the short report hide it, and a replay of such lives proves nothing.
        short = " ".join(run("report", path).split())
        self.assertIn("The recording lacks " + " and ".join(skipped) if len(skipped) < 3 else
                      "The recording lacks ", short)
        if lacks["peak_active_bound"] != "exact":
            self.assertIn("These figures follow from lives that are drawn, not recorded.", words)
        if lacks["peak_active_bound"] != "exact" or bound != "exact":
            self.assertNotIn("In a replay", words + short)

    def test_the_files_of_the_field(self):
        truth = Truth(load(self.folder / "full.pickle"))
        self.assertEqual(report(self.folder / "full.pickle")["devices"][0]["lacks"]["actions"], [])
        for path in sorted(self.folder.glob("skip-*.pickle")):
            with self.subTest(path.name):
                self.check(path, path.stem[len("skip-"):].split("+"), truth)

    def test_without_segment_events_the_active_peak_is_at_least(self):
        full = report(self.folder / "full.pickle")["devices"][0]["peak"]
        self.assertFalse(full["is_at_least"])
        path = self.folder / "skip-segment_alloc+segment_free.pickle"
        peak = report(path)["devices"][0]["peak"]
        self.assertTrue(peak["is_at_least"])
        self.assertLessEqual(peak["active"]["bytes"], full["active"]["bytes"])
        self.assertEqual(query(path, "SELECT peak_is_at_least FROM devices"), [[1]])
        short = " ".join(run("report", path).split())
        self.assertIn("Peak active memory was at least", short)
        self.assertIn("█ active (at least)", short)
        self.assertRegex(text(path), r" active ≥ .{1,30} ≥ [\d.]+ [KMG]iB ")
        self.assertIn("Peak active memory was at least", text(path))
        self.assertNotIn("was at least", text(self.folder / "full.pickle"))

    def test_every_combination_that_leaves_a_trace(self):
        whole = load(self.folder / "full.pickle")
        truth = Truth(whole)
        with tempfile.TemporaryDirectory() as folder:
            for count in (1, 2, 3):
                for skipped in itertools.combinations(KINDS, count):
                    if "alloc" in skipped and "segment_alloc" in skipped:
                        continue  # each range is freed once: as segments older than the recording
                    path = pathlib.Path(folder) / f"{'+'.join(skipped)}.pickle"
                    part = dict(whole)
                    part["device_traces"] = [[event for event in whole["device_traces"][0]
                                              if event["action"] not in skipped]]
                    path.write_bytes(pickle.dumps(part))
                    with self.subTest(path.name):
                        self.check(path, skipped, truth)


class ResizedRing(unittest.TestCase):
    folder = FIELD / "02-ring-resized"

    def totals(self, path):
        return query(path, "SELECT step, time_us, requested_bytes, active_bytes, allocated_bytes, "
                           "reserved_bytes FROM totals ORDER BY step")

    def test_a_ring_made_larger_is_put_in_order(self):
        grown = self.folder / "grown.pickle"
        self.assertEqual(self.totals(grown), self.totals(self.folder / "grown-sorted.pickle"))
        found = report(grown)
        self.assertIn("reordered", issues(found))
        self.assertNotIn("unordered_time", issues(found))
        self.assertEqual(found["devices"][0]["lacks"]["gap_steps"], [])

    def test_a_ring_made_smaller_has_a_gap(self):
        path = self.folder / "shrunk.pickle"
        trace = load(path)["device_traces"][0]
        ordered = sorted(trace, key=lambda event: event["time_us"])
        times = [row[0] for row in query(path, "SELECT time_us FROM events ORDER BY step")]
        self.assertEqual(times, [event["time_us"] for event in ordered])
        # The gap: where the order of the file and the order of time part, and time leaps.
        leaps = [(b["time_us"] - a["time_us"], i + 1)
                 for i, (a, b) in enumerate(zip(ordered, ordered[1:]))]
        found = report(path)
        self.assertEqual(found["devices"][0]["lacks"]["gap_steps"], [max(leaps)[1]])
        self.assertEqual({"reordered", "recording_gap", "free_without_alloc"} & set(issues(found)),
                         {"reordered", "recording_gap", "free_without_alloc"})
        self.assertEqual(set(), {"alloc_over_live", "free_again", "unordered_time"} & set(issues(found)))
        for identity in found["devices"][0]["identities"]:
            self.assertTrue(identity["holds"], identity["text"])


class Containers(unittest.TestCase):
    folder = FIELD / "06-torch-save"

    def test_each_opens_under_its_own_name_without_noise(self):
        whole = report(FIELD / "01-skip-actions" / "full.pickle")
        for path in sorted(self.folder.iterdir()):
            with self.subTest(path.name):
                found = report(path)
                self.assertEqual(found["file"]["name"], str(path))
                self.assertEqual(found["issues"], [])
                self.assertEqual(found["devices"][0]["peak"]["active"]["bytes"],
                                 whole["devices"][0]["peak"]["active"]["bytes"])

    def test_several_in_one_value_and_other_packings(self):
        one = load(FIELD / "01-skip-actions" / "full.pickle")
        two = load(FIELD / "19-accumulated" / "step10.pickle")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "run.pickle"
            path.write_bytes(pickle.dumps({"ranks": [{"mem": one}, {"mem": two}], "step": 10}))
            for index, expected in ((0, one), (1, two)):
                rows = run("report", "--json", path)
                self.assertIn(f"ranks[{index}].mem", rows)
                self.assertIn(str(len(expected["device_traces"][0])), rows)
            packed = pathlib.Path(folder) / "a.pickle"
            data = pickle.dumps(one)
            for name, content in (("bz2", bz2.compress(data)), ("xz", lzma.compress(data)),
                                  ("xz xz", lzma.compress(data[:5000]) + lzma.compress(data[5000:])),
                                  ("bz2 bz2", bz2.compress(data[:500]) + bz2.compress(data[500:]))):
                packed.write_bytes(content)
                with self.subTest(name):
                    self.assertEqual(report(packed)["issues"], [])
            for content in (lzma.compress(data)[:-40], bz2.compress(data)[:-40]):
                packed.write_bytes(content)
                self.assertIn("cut off", run("report", packed, code=3))

    def test_older_torch_save(self):
        snapshot = load(FIELD / "01-skip-actions" / "full.pickle")
        header = [0x1950A86A20F9469CFC6C, 1001,
                  {"protocol_version": 1001, "little_endian": True,
                   "type_sizes": {"short": 2, "int": 4, "long": 4}}]
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "old.pt"
            path.write_bytes(b"".join(pickle.dumps(each, protocol=2)
                                      for each in [*header, snapshot, []]))
            found = report(path)
            self.assertEqual(found["issues"], [])
            self.assertEqual(found["file"]["events"], len(snapshot["device_traces"][0]))


class Settings(unittest.TestCase):
    folder = FIELD / "07-expandable-asked"

    def test_asked_for_and_not_in_effect(self):
        path = self.folder / "asked-not-supported.pickle"
        self.assertIn("expandable_segments:True (asked for, not in effect on this platform)", text(path))
        self.assertEqual(report(path)["settings_asked"],
                         [{"key": "expandable_segments", "asked": "True", "in_effect": "False",
                           "differs": True}])
        self.assertEqual(query(path, "SELECT value, asked, in_effect FROM settings WHERE key = "
                                     "'expandable_segments'"), [["False", "True", 0]])
        self.assertNotIn("asked for", text(self.folder / "not-asked.pickle"))


class Pinned(unittest.TestCase):
    path = FIELD / "12-pinned-rounding" / "pinned.pickle"

    def test_requests_are_unknown(self):
        snapshot = load(self.path)
        sizes = sorted(segment["total_size"] for segment in snapshot["host_segments"])
        self.assertTrue(all(size & (size - 1) == 0 for size in sizes))
        host = report(self.path)["devices"][-1]
        self.assertEqual(host["device"], -1)
        self.assertIsNone(host["peak"]["requested"]["bytes"])
        self.assertIsNone(host["final"]["requested_bytes"])
        rows = query(self.path, "SELECT requested_bytes, requested_least_bytes, requested_most_bytes, "
                                "block_bytes FROM allocations WHERE device = -1 ORDER BY block_bytes")
        self.assertEqual(rows, [[None, size // 2 + 1, size, size] for size in sizes])
        self.assertIn("requested: unknown, because PyTorch rounds pinned memory", text(self.path))
        gpu = report(self.path)["devices"][0]
        self.assertIsNotNone(gpu["peak"]["requested"]["bytes"])


class ForwardFrames(unittest.TestCase):
    path = FIELD / "13-newest-fields" / "newest.pickle"

    def test_the_forward_pass_is_shown_wherever_a_stack_is(self):
        events = load(self.path)["device_traces"][0]
        steps = [i for i, event in enumerate(events) if "forward_frames" in event]
        labels = [row[0] for row in query(
            self.path, f"SELECT s.label FROM events e JOIN stacks s ON s.id = e.stack_id WHERE e.device "
                       f"= 0 AND e.step IN ({steps[0]}, {steps[1]}) ORDER BY e.step")]
        self.assertEqual(labels, ["forward of model.py:77 forward", "forward of model.py:91 forward"])
        stack = query(self.path, f"SELECT text FROM stacks WHERE id = (SELECT stack_id FROM events WHERE "
                                 f"device = 0 AND step = {steps[0]})")[0][0]
        self.assertEqual(stack.splitlines(), ["forward of /app/model.py:77 forward",
                                              "forward of /app/train.py:31 step"])
        kinds = query(self.path, "SELECT kind, count(*) FROM frames WHERE kind = 'forward' GROUP BY kind")
        self.assertEqual(kinds, [["forward", 3]])
        self.assertIn("forward of model.py:77 forward ‹ train.py:31 step", text(self.path))
        category = query(self.path, "SELECT DISTINCT category FROM allocations WHERE stack_id = (SELECT "
                                    f"stack_id FROM events WHERE device = 0 AND step = {steps[0]})")
        self.assertEqual(category, [["gradients"]])

    def test_known_keys_raise_no_issue(self):
        details = [issue["detail"] for issue in report(self.path)["issues"]
                   if issue["kind"] == "unknown_key"]
        self.assertEqual(details, ["'rank' of the top level", "'version' of the top level"])


class WhyHistoryIsMissing(unittest.TestCase):
    def write(self, snapshot):
        path = pathlib.Path(self.folder.name) / "made.pickle"
        path.write_bytes(pickle.dumps(snapshot))
        return path

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def without_stacks(self, snapshot):
        for segment in snapshot["segments"]:
            segment["frames"] = []
            for block in segment["blocks"]:
                block["frames"] = []
        return snapshot

    def test_record_cuda_false(self):
        snapshot = self.without_stacks(load(FIELD / "12-pinned-rounding" / "pinned.pickle"))
        snapshot["device_traces"] = [[]]
        path = self.write(snapshot)
        self.assertIn("no_device_history", issues(report(path)))
        words = text(path)
        self.assertIn("record_cuda=False", words)
        self.assertNotIn("before the part you want to see", words)

    def test_context_none_groups_by_compiled_region(self):
        snapshot = self.without_stacks(load(FIELD / "01-skip-actions" / "full.pickle"))
        for number, event in enumerate(snapshot["device_traces"][0]):
            del event["frames"]
            event["compile_context"] = f"Torch-Compiled Region: {number % 2}/0"
        path = self.write(snapshot)
        self.assertIn("no_stacks", issues(report(path)))
        words = text(path)
        self.assertIn("context=None", words)
        self.assertIn("Torch-Compiled Region: 0/0", words)
        rows = report(path)["devices"][0]["holders_at_peak"]["rows"]
        self.assertEqual({row["label"] for row in rows},
                         {"Torch-Compiled Region: 0/0", "Torch-Compiled Region: 1/0"})

    def test_a_list_of_segments_says_nothing_about_history(self):
        snapshot = load(FIELD / "01-skip-actions" / "full.pickle")
        for made in (snapshot["segments"], {"segments": snapshot["segments"]}):
            path = self.write(made)
            found = issues(report(path))
            self.assertIn("no_event_list", found)
            self.assertEqual(set(), {"only_state", "no_trace"} & set(found))
            words = text(path)
            self.assertIn("Memory history may have been on", words)
            self.assertNotIn("Memory history was on", words)

    def test_only_the_state(self):
        snapshot = load(FIELD / "01-skip-actions" / "full.pickle")
        snapshot["device_traces"] = [[]]
        words = text(self.write(snapshot))
        self.assertIn("Memory history was on, because blocks have stacks", words)


class Growth(unittest.TestCase):
    def test_marks_that_are_too_few_are_named(self):
        path = FIELD / "19-accumulated" / "step10.pickle"
        marks = sum(event["action"] == "snapshot" for event in load(path)["device_traces"][0])
        self.assertEqual(query(path, "SELECT marked_steps, marked_name FROM growth_basis(0)"),
                         [[marks, "snapshot"]])
        growth = report(path)["devices"][0]["growth"]
        self.assertEqual((growth["marked_steps"], growth["marked_name"]), (marks, "snapshot"))
        words = text(path)
        self.assertIn(f"{marks} steps are marked (snapshot), too few for growth: 8 are needed.", words)
        self.assertNotIn("marks no steps", words)

    def test_after_a_late_leak_the_time_is_that_of_the_leak(self):
        path = FIELD / "31-late-leak" / "late_leak.pickle"
        events = load(path)["device_traces"][0]
        live = {}
        for step, event in enumerate(events):
            if event["action"] == "alloc":
                live[event["addr"]] = (step, event["size"])
            elif event["action"] == "free_completed":
                live.pop(event["addr"], None)
        leaked = sorted(live.values())  # all that is never freed
        first, last = leaked[0][0], leaked[-1][0]
        rate = sum(size for _, size in leaked[1:]) / (last - first)
        rows = json.loads(run("report", "--json", "--capacity", "80GiB", path))["devices"][0]["wall"]["rows"]
        active = next(row for row in rows if row["what"] == "active")
        self.assertEqual(active["since_step"], first)
        self.assertAlmostEqual(active["per_event_bytes"], rate, delta=0.05 * rate)
        left = ((80 << 30) - active["now_bytes"]) / rate
        self.assertAlmostEqual(active["events_left"], left, delta=0.06 * left)
        for command in ("report", "frag"):
            words = " ".join(run(command, *(["--full"] if command == "report" else []), "--capacity",
                                 "64MiB", path).split())
            self.assertIn("already exceeds the capacity of 64.0 MiB by", words)
            self.assertNotIn("after 0 more events", words)

    def test_never_freed_says_what_the_file_shows(self):
        words = text(FIELD / "31-late-leak" / "late_leak.pickle")
        self.assertIn("the file does not show whether the program still used them", words)
        self.assertNotIn("model weights", words)


class Places(unittest.TestCase):
    path = FIELD / "19-accumulated" / "step10.pickle"

    def test_the_peak_of_a_part_includes_the_state_before_it(self):
        snapshot = load(self.path)
        active = [row[0] for row in query(self.path, "SELECT active_bytes FROM totals WHERE device = 0 "
                                                     "ORDER BY step")]
        self.assertEqual(len(active), len(snapshot["device_traces"][0]))
        falls = [step for step in range(1, len(active) - 5)
                 if active[step - 1] > max(active[step:step + 5])]
        self.assertTrue(falls)
        for step in falls[:5]:
            part = json.loads(run("report", "--json", "--from", step, "--to", step + 4,
                                  self.path))["devices"][0]["peak"]["active"]
            self.assertEqual((part["bytes"], part["step"]), (active[step - 1], step - 1))

    def test_snapshots_are_places(self):
        steps = [i for i, event in enumerate(load(self.path)["device_traces"][0])
                 if event["action"] == "snapshot"]
        part = json.loads(run("report", "--json", "--from", "snapshot#2", "--to", "snapshot#3",
                              self.path))["devices"][0]["range"]
        self.assertEqual((part["first_step"], part["last_step"]), (steps[1], steps[2]))
        self.assertIn("The last is snapshot#3.", run("report", "--from", "snapshot#9", self.path, code=2))


if __name__ == "__main__":
    if not FIELD.exists():
        print("skipped: no shared data")
        sys.exit(77)
    unittest.main()
