#!/usr/bin/env python3
"""Tests of tools/make_snapshot: real unpicklers read it, the events lead to the final state, and the
truth it prints is what a slow count finds.

    python3 tests/tools/make_snapshot_test.py
"""

import base64
import gzip
import io
import json
import pathlib
import pickle
import pickletools
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATOR = ROOT / "tools" / "make_snapshot"
sys.path.insert(0, str(GENERATOR))

from options import parse  # noqa: E402
from schema import Fresh, Schema, Shared  # noqa: E402
from stacks import Stacks  # noqa: E402
from workload import Program  # noqa: E402

PLAIN = ["--events", "3000", "--stacks", "40"]
RICH = ["--events", "4000", "--live", "150", "--streams", "3", "--pools", "3", "--devices", "2",
        "--annotations", "--oom", "2", "--dumps", "2", "--stacks", "400", "--depth", "1-30",
        "--cpp-frames"]


def make(*arguments):
    """(bytes of the snapshot, truth)."""
    with tempfile.TemporaryDirectory() as folder:
        out, truth = pathlib.Path(folder, "out"), pathlib.Path(folder, "truth.json")
        subprocess.run([sys.executable, GENERATOR, "-o", out, "--truth", truth, *arguments],
                       check=True)
        return out.read_bytes(), json.loads(truth.read_text())


def as_objects(arguments):
    """The snapshot as Python objects with the sharing that torch's own serialiser makes."""
    options = parse(arguments)
    schema = Schema(Program(options).run(),
                    Stacks(options.seed, options.stacks, *options.depth, options.cpp_frames))
    shared, interned = {}, {}

    def real(value):
        if isinstance(value, Shared):
            if value.key not in shared:
                shared[value.key] = real(value.make())
            return shared[value.key]
        if isinstance(value, Fresh):
            return bytes(value, "utf-8").decode()  # a new object, unlike str(value)
        if isinstance(value, str):
            return interned.setdefault(value, value)
        if isinstance(value, dict):
            return {real(key): real(item) for key, item in value.items()}
        if isinstance(value, list):
            return [real(item) for item in value]
        return tuple([*value]) if isinstance(value, tuple) else value

    snapshot = {"segments": list(schema.segments()), "device_traces": []}
    for device in schema.program.devices:
        snapshot["device_traces"].append([
            schema.event(schema.kind(record), *record[6:9],
                         schema.frames(record[4]) if record[4] != 0xFFFFFFFF else None)
            for record in device.log.written(options.skip_actions)])
        device.log.file.close()
    snapshot.update(schema.extra_keys())
    return real(snapshot)


class Dialects(unittest.TestCase):
    def test_python_dialect_is_what_pickle_dump_writes(self):
        for protocol in (2, 3, 4, 5):
            for arguments in (PLAIN, RICH, ["--events", "1001", "--stacks", "0", "--live", "1"],
                              ["--events", "1", "--torch", "2.0"], RICH + ["--high-addresses"],
                              RICH + ["--names"],
                              ["--events", "2500", "--torch", "2.9", "--live", "1200"]):
                with self.subTest(protocol=protocol, arguments=arguments):
                    data, _ = make(*arguments, "--protocol", str(protocol))
                    self.assertEqual(data, pickle.dumps(as_objects(arguments), protocol))

    def test_torch_dialect_loads_to_the_same_objects(self):
        for arguments in (PLAIN, RICH, ["--events", "2500", "--torch", "2.1"]):
            with self.subTest(arguments=arguments):
                data, _ = make(*arguments, "--dialect", "torch")
                self.assertEqual(pickle.loads(data), as_objects(arguments))

    def test_torch_dialect_has_the_opcodes_of_the_cpp_pickler(self):
        data, truth = make(*PLAIN, "--events", "5000", "--dialect", "torch")
        names = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "SETITEMS", "APPENDS", "TUPLE2",
                 "BINUNICODE", "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "BININT1",
                 "BININT2", "BININT", "LONG1", "NEWTRUE", "NEWFALSE", "BINFLOAT", "STOP"}
        strings, appends, lists = [], 0, 0
        for opcode, value, at in pickletools.genops(data):
            self.assertIn(opcode.name, names)
            if opcode.name == "LONG1":
                self.assertEqual(data[at + 1], 8)
            strings += [value] if opcode.name == "BINUNICODE" else []
            appends += opcode.name == "APPENDS"
            lists += opcode.name == "EMPTY_LIST"
        self.assertEqual(len(strings), len(set(strings)))  # memoised by value
        self.assertEqual(appends, lists)  # one giant batch each
        self.assertGreaterEqual(truth["devices"][0]["events"], 5000)

    def test_torch_dialect_writes_high_addresses_as_negative_numbers(self):
        data, _ = make(*PLAIN, "--dialect", "torch", "--high-addresses")
        snapshot = pickle.loads(data)
        self.assertTrue(all(segment["address"] < 0 for segment in snapshot["segments"]))
        snapshot = pickle.loads(make(*PLAIN, "--high-addresses")[0])
        self.assertTrue(all(segment["address"] >= 1 << 63 for segment in snapshot["segments"]))

    def test_same_options_same_bytes(self):
        self.assertEqual(make(*RICH)[0], make(*RICH)[0])
        self.assertNotEqual(make(*RICH)[0], make(*RICH, "--seed", "2")[0])


class Containers(unittest.TestCase):
    def setUp(self):
        self.data, _ = make(*PLAIN)
        self.snapshot = pickle.loads(self.data)

    def test_json(self):
        loaded = json.loads(make(*PLAIN, "--format", "json")[0])
        self.assertEqual(loaded, json.loads(json.dumps(self.snapshot)))

    def test_list(self):
        self.assertEqual(pickle.loads(make(*PLAIN, "--format", "list")[0]),
                         self.snapshot["segments"])

    def test_html(self):
        page = make(*PLAIN, "--format", "html")[0].decode()
        decoded = base64.b64decode(re.search(r'"base64": "([^"]*)"', page)[1])
        self.assertEqual(decoded.rstrip(b"\0"), self.data)
        self.assertTrue(decoded.endswith(b"\0"))

    def test_gzip_and_zip(self):
        self.assertEqual(gzip.decompress(make(*PLAIN, "--compress", "gzip")[0]), self.data)
        with zipfile.ZipFile(io.BytesIO(make(*PLAIN, "--compress", "zip")[0])) as archive:
            self.assertEqual(archive.read("snapshot.pickle"), self.data)

    @unittest.skipUnless(shutil.which("zstd"), "needs the zstd program (package zstd)")
    def test_zstd(self):
        packed = make(*PLAIN, "--compress", "zstd")[0]
        unpacked = subprocess.run(["zstd", "-dc"], input=packed, capture_output=True, check=True)
        self.assertEqual(unpacked.stdout, self.data)


class Allocator:
    """Slow and obvious: what the events of a complete trace leave behind. Checks each of them."""

    def __init__(self, test):
        self.test, self.live, self.mapped, self.peaks = test, {}, [], [0, 0]

    def event(self, event):
        action, size = event["action"], event["size"]
        address = event.get("addr")
        if action == "alloc":
            self.test.assertNotIn(address, self.live)
            self.live[address] = size
        elif action == "free_requested":
            self.test.assertEqual(self.live[address], size)
        elif action == "free_completed":
            self.test.assertEqual(self.live.pop(address), size)
        elif action in ("segment_alloc", "segment_map"):
            self.mapped.append((address, address + size))
            self.mapped.sort()
        elif action in ("segment_free", "segment_unmap"):
            self.unmap(address, address + size)
        self.peaks = [max(self.peaks[0], sum(self.live.values())),
                      max(self.peaks[1], sum(end - begin for begin, end in self.mapped))]

    def unmap(self, begin, end):
        rest = []
        for low, high in self.mapped:
            if low < end and begin < high:
                rest += [(low, begin)] * (low < begin) + [(end, high)] * (end < high)
            else:
                rest.append((low, high))
        gone = sum(h - l for l, h in self.mapped) - sum(h - l for l, h in rest)
        self.test.assertEqual(gone, end - begin)
        self.mapped = sorted(rest)


def merged(ranges):
    result = []
    for begin, end in sorted(ranges):
        if result and result[-1][1] == begin:
            result[-1] = (result[-1][0], end)
        else:
            result.append((begin, end))
    return result


class Consistency(unittest.TestCase):
    def check(self, *arguments):
        data, truth = make(*arguments)
        snapshot = pickle.loads(data)
        for ordinal, trace in enumerate(snapshot["device_traces"]):
            known = truth["devices"][ordinal]
            slow = Allocator(self)
            for event in trace:
                slow.event(event)
            segments = [s for s in snapshot["segments"] if s["device"] == ordinal]
            live = {b["address"]: b["requested_size"] for s in segments for b in s["blocks"]
                    if b["state"] != "inactive"}
            self.assertEqual(live, slow.live)
            for segment in segments:
                at = segment["address"]
                for block in segment["blocks"]:
                    self.assertEqual(block["address"], at)
                    at += block["size"]
                self.assertEqual(at - segment["address"], segment["total_size"])
                active = sum(b["size"] for b in segment["blocks"] if b["state"] != "inactive")
                self.assertEqual(active, segment["active_size"])
            self.assertEqual(
                merged((s["address"], s["address"] + s["total_size"]) for s in segments),
                merged(slow.mapped))
            self.assertEqual(known["peak_requested"]["bytes"], slow.peaks[0])
            self.assertEqual(known["peak_reserved"]["bytes"], slow.peaks[1])
            self.assertEqual(known["live_at_end"]["count"], len(live))
            self.assertEqual(known["events"], len(trace))
            self.assertEqual(known["frees_without_alloc"], 0)
        return snapshot, truth

    def test_ordinary(self):
        self.check(*PLAIN)
        snapshot, truth = self.check(*RICH)
        self.assertEqual(sum(d["actions"]["oom"] for d in truth["devices"]), 2)
        self.assertEqual({s["segment_pool_id"] for s in snapshot["segments"]},
                         {(0, 0), (1, 0), (0, 2)})
        self.assertEqual(len({s["stream"] for s in snapshot["segments"]}), 3)

    def test_expandable(self):
        snapshot, truth = self.check(*RICH, "--expandable", "--capacity", "8GiB")
        self.assertTrue(all(segment["is_expandable"] for segment in snapshot["segments"]))
        self.assertIn("segment_unmap", truth["devices"][0]["actions"])

    def test_small_device_runs_out_of_memory(self):
        _, truth = self.check(*PLAIN, "--live", "400", "--capacity", "300MiB", "--segments", "20")
        self.assertGreater(truth["devices"][0]["actions"]["oom"], 0)

    def test_asked_counts(self):
        snapshot, truth = self.check("--events", "9000", "--live", "700", "--stacks", "300",
                                     "--segments", "90")
        self.assertGreaterEqual(len(snapshot["segments"]), 90)
        self.assertAlmostEqual(truth["devices"][0]["live_at_end"]["count"], 700 + 90, delta=40)
        stacks = {tuple((f["name"], f["filename"], f["line"]) for f in e["frames"])
                  for e in snapshot["device_traces"][0] if "frames" in e}
        self.assertEqual(len(stacks), 300)


class Shapes(unittest.TestCase):
    def test_overflow_keeps_the_last_entries_only(self):
        data, truth = make("--events", "1000", "--shape", "overflow")
        self.assertEqual(len(pickle.loads(data)["device_traces"][0]), 1000)
        self.assertGreater(truth["devices"][0]["frees_without_alloc"], 0)

    def test_midrun_has_frees_without_alloc_and_blocks_without_stack(self):
        data, truth = make("--events", "1000", "--shape", "midrun")
        snapshot, known = pickle.loads(data), truth["devices"][0]
        born, orphans = set(), 0
        for event in snapshot["device_traces"][0]:
            if event["action"] == "alloc":
                born.add(event["addr"])
            elif event["action"] == "free_completed":
                orphans += event["addr"] not in born
                born.discard(event["addr"])
        self.assertEqual(known["frees_without_alloc"], orphans)
        self.assertGreater(orphans, 0)
        old = [b for s in snapshot["segments"] for b in s["blocks"]
               if b["state"] != "inactive" and not b["frames"]]
        self.assertEqual(known["live_without_alloc"], len(old))
        self.assertGreater(len(old), 0)

    def test_skipped_actions_are_absent(self):
        data, _ = make(*PLAIN, "--skip-actions", "free_requested,segment_alloc")
        actions = {event["action"] for event in pickle.loads(data)["device_traces"][0]}
        self.assertEqual(actions, {"alloc", "free_completed"} | actions)
        self.assertFalse(actions & {"free_requested", "segment_alloc"})

    def test_keys_of_each_release(self):
        def keys(release):
            snapshot = pickle.loads(make(*PLAIN, "--torch", release)[0])
            segment = snapshot["segments"][0]
            return (set(snapshot), set(segment), {k for b in segment["blocks"] for k in b},
                    {k for event in snapshot["device_traces"][0] for k in event})

        top, segment, block, event = keys("2.0")
        self.assertEqual(top, {"segments", "device_traces"})
        self.assertEqual(event, {"action", "addr", "size", "stream", "frames"})
        self.assertFalse({"is_expandable", "frames"} & segment)
        self.assertIn("history", block)
        self.assertNotIn("address", block)
        top, segment, block, event = keys("2.1")
        self.assertIn("frames", block)
        self.assertNotIn("time_us", event)
        self.assertIn("time_us", keys("2.2")[3])
        self.assertIn("allocator_settings", keys("2.3")[0])
        self.assertIn("external_annotations", keys("2.5")[0])
        self.assertIn("compile_context", keys("2.9")[3])
        self.assertIn("user_metadata", keys("2.10")[3])
        self.assertIn("pool_id", keys("2.12")[3])
        self.assertIn("host_traces", keys("2.13")[0])


if __name__ == "__main__":
    unittest.main()
