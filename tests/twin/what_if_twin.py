#!/usr/bin/env python3
"""`tidegauge whatif` against PyTorch's own statistics and against a slow simulator in Python.

    tests/twin/what_if_twin.py --binary build/dev/tidegauge

Pairs: a recording of a serving program under one setting, asked about another, as a user asks on the
command line, equals what PyTorch measured there. Factors: how much smaller a batch fits equals a search
with the simulator of shared/lab/replay, which was written from a description of PyTorch's allocator
alone. Both need TIDEGAUGE_SHARED (or ../shared); without it the tests skip.
"""
import argparse
import itertools
import json
import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared"))
ORACLE = SHARED / "data" / "oracle"
REFERENCE = SHARED / "lab" / "replay"
BINARY = "build/dev/tidegauge"
OF_ACTIVATIONS = {"activations", "attention", "norm", "logits"}


def run(*words):
    done = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, timeout=600, check=True)
    return json.loads(done.stdout)


def device_of(*words):
    return run("whatif", *words, "--json")["devices"][0]


def query(path, sql):
    answer = run("query", path, "--format", "json", sql)
    return answer["rows"] if isinstance(answer, dict) else answer


class Pairs(unittest.TestCase):
    """The program was C_llm_serving, under seven settings."""

    KEYS = {"peak_reserved_bytes": "reserved_bytes.all.peak", "peak_active_bytes": "active_bytes.all.peak",
            "peak_split_bytes": "inactive_split_bytes.all.peak", "peak_segments": "segment.all.peak",
            "retries": "num_alloc_retries", "ooms": "num_ooms", "driver_allocs": "num_device_alloc",
            "driver_frees": "num_device_free"}

    @classmethod
    def setUpClass(cls):
        cls.infos = {path.stem.split("__")[1]: json.loads(path.read_text())
                     for path in sorted(ORACLE.glob("C_llm_serving__*.json"))}
        if not cls.infos:
            raise unittest.SkipTest("no recordings of C_llm_serving in shared/data/oracle")

    def path(self, setting):
        return ORACLE / f"C_llm_serving__{setting}.pickle.zst"

    def recorded(self, setting):
        info = self.infos[setting]
        words = ["--recorded-capacity", f"{info['capacity'] >> 20}MiB"]
        if info["memory_fraction"] is not None:
            words += ["--recorded-fraction", repr(info["memory_fraction"])]
        return words

    def asked(self, setting):
        info = self.infos[setting]
        words = ["--set", info["alloc_conf"], "--capacity", f"{info['capacity'] >> 20}MiB"]
        if info["memory_fraction"] is not None:
            words += ["--fraction", repr(info["memory_fraction"])]
        return words

    def expect(self, replayed, setting):
        stats = self.infos[setting]["memory_stats"]
        self.assertEqual({key: replayed[key] for key in self.KEYS},
                         {key: stats.get(name, 0) for key, name in self.KEYS.items()})

    def test_every_event_of_each_recording_is_explained(self):
        for setting in self.infos:
            for words in ([], self.recorded(setting)):
                with self.subTest(setting=setting, words=words):
                    verify = device_of(self.path(setting), "--verify", *words)["verify"]
                    self.assertEqual(verify["events_exact"], self.infos[setting]["events"])
                    self.assertEqual(verify["final_segments_differing"], 0)

    def test_as_it_was_recorded_it_is_what_was_recorded(self):
        for setting in self.infos:
            with self.subTest(setting=setting):
                device = device_of(self.path(setting), *self.recorded(setting))
                self.expect(device["own"], setting)
                self.assertTrue(device["recorded"]["own_is_as_recorded"])
                self.assertEqual(device["capacity_source"], "recorded")

    def test_each_pair_is_what_pytorch_measured(self):
        pairs = list(itertools.permutations(self.infos, 2))
        self.assertEqual(len(pairs), 42)
        for recorded, asked in pairs:
            for given in (self.recorded(recorded), []):  # the limit is known, or inferred
                with self.subTest(recorded=recorded, asked=asked, given=given):
                    device = device_of(self.path(recorded), *given, *self.asked(asked))
                    self.expect(device["candidates"][0], asked)


class Factors(unittest.TestCase):
    """The program was F_oom_train: it grows until memory runs out, catches it and continues."""

    @classmethod
    def setUpClass(cls):
        if not (REFERENCE / "replay.py").exists() or not ORACLE.exists():
            raise unittest.SkipTest("no simulator in shared/lab/replay")
        sys.path.insert(0, str(REFERENCE))
        sys.setrecursionlimit(1_000_000)

    def slow(self, path):
        import replay  # pylint: disable=import-outside-toplevel,import-error
        recording = replay.Recording(path)
        verified = recording.verify()
        self.assertIsNone(verified.failure)
        trace = recording.snapshot["device_traces"][0]
        requests = [step for step, event in enumerate(trace) if event["action"] in ("alloc", "oom")]
        rows = query(path, "SELECT * FROM allocations WHERE device = 0")
        kinds = classes(rows, requests[-1] + 1)
        of_step = {row["alloc_step"]: kind for row, kind in zip(rows, kinds)}
        of_stack = {}
        for row, kind in zip(rows, kinds):
            if row["stack_id"] is not None and of_stack.get(row["stack_id"]) != "scales":
                of_stack[row["stack_id"]] = kind
        failed = {row["step"]: row["stack_id"] for row in query(
            path, "SELECT step, stack_id FROM events WHERE device = 0 AND action = 'oom'")}
        scaling = {name for name, step in enumerate(requests) if "scales" == (
            of_stack.get(failed[step], "scales") if step in failed else of_step[step])}

        def fits(parts, of):
            asked = [scaled(request, parts, of) if request[0] == "malloc" and request[1] in scaling else request
                     for request in verified.requests]
            return not replay.what_if(asked, recording.settings, recording.capacity)[1]

        step = min(failed)
        live = {}
        for row, kind in zip(rows, kinds):
            if row["first_step"] <= step - 1 < row["last_step"]:
                live[kind] = live.get(kind, 0) + row["block_bytes"]
        return {"step": step, "live": live, "fits": fits}

    def test_the_factor_is_that_of_a_slow_search(self):
        for setting in ("default", "expandable", "gc80", "combo", "roundup8"):
            with self.subTest(setting=setting):
                path = ORACLE / f"F_oom_train__{setting}.pickle.zst"
                info = json.loads((ORACLE / f"F_oom_train__{setting}.json").read_text())
                words = ["--recorded-capacity", f"{info['capacity'] >> 20}MiB"]
                if info["memory_fraction"] is not None:
                    words += ["--recorded-fraction", repr(info["memory_fraction"])]
                fit = device_of(path, *words)["fit"]
                slow = self.slow(path)
                self.assertTrue(fit["proven"])
                self.assertEqual(fit["step"], slow["step"])
                self.assertEqual(fit["scaling_bytes"], slow["live"].pop("scales"))
                self.assertEqual(fit["constant_bytes"], sum(slow["live"].values()))
                self.assertEqual(fit["constant"]["parameter_bytes"], slow["live"]["parameters"])
                self.assertEqual(fit["constant"]["optimizer_bytes"], slow["live"]["optimizer"])
                percent = round(100 * fit["factor"])
                self.assertTrue(slow["fits"](percent, 100))
                self.assertFalse(slow["fits"](percent + 1, 100))
                less = 1
                while less < percent:
                    self.assertTrue(slow["fits"](percent - less, 100), less)
                    less *= 4
                self.assertTrue(slow["fits"](fit["batch"], fit["batch_of"]))
                more = fit["batch"] + 1
                self.assertTrue(more * 100 > (percent + 1) * 32 or not slow["fits"](more, 32))


def scaled(request, parts, of):
    action, name, size, *others = request
    return (action, name, -(-size * parts // of), *others)


def classes(rows, last):
    """What scales with the batch, by the rules of docs/explain/replay.md."""
    def is_older(row):
        return row["provenance"] in ("before_recording", "ghost")

    def is_freed(row):
        return row["last_step"] < last

    sizes = {row["requested_bytes"] for row in rows
             if (not is_freed(row) if is_older(row) else row["category"] == "parameters")}
    frees = {row["stack_id"] for row in rows if is_freed(row) and row["stack_id"] is not None}
    kinds = []
    for row in rows:
        if is_older(row):
            kinds.append("older")
        elif row["category"] in ("parameters", "optimizer", "communication"):
            kinds.append(row["category"])
        elif row["category"] in OF_ACTIVATIONS:
            kinds.append("scales")
        elif row["requested_bytes"] in sizes:
            kinds.append("gradient")
        else:
            kinds.append("scales" if is_freed(row) or row["stack_id"] in frees else "never")
    return kinds


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=BINARY)
    arguments, rest = parser.parse_known_args()
    BINARY = str(pathlib.Path(arguments.binary).resolve())
    unittest.main(argv=[sys.argv[0], *rest])
