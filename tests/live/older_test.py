#!/usr/bin/env python3
"""A process that holds memory already when it is watched (-p): what the recording says of it is a lower
bound, and no contradiction.

The case of PyTorch needs what pytorch_test.py needs; without it, it is skipped."""
import contextlib
import json
import os
import pathlib
import sqlite3
import subprocess
import time
import unittest

import live
import build_torch

PYTHON = pathlib.Path(os.environ.get("TIDEGAUGE_TORCH_PYTHON", live.FOLDER / "torch/venv/bin/python"))
HEADERS = pathlib.Path(os.environ.get("TIDEGAUGE_CUDA_INCLUDE", live.FOLDER / "torch/include"))
MIB = 1 << 20
# Segments of 20 MiB and 2 MiB exist before; blocks are allocated and freed in them, one segment is released.
TORCH = """
import sys, torch
held = [torch.empty(6 << 20, dtype=torch.uint8, device="cuda") for _ in range(3)]
small = [torch.empty(4096, dtype=torch.uint8, device="cuda") for _ in range(8)]
del held[1:]
print("ready", flush=True)
while sys.stdin.readline().startswith("p"):
    torch.empty(2048, dtype=torch.uint8, device="cuda")
for _ in range(5):
    more = torch.empty(5 << 20, dtype=torch.uint8, device="cuda")
    less = torch.empty(2048, dtype=torch.uint8, device="cuda")
    del more
large = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
print("done", flush=True)
sys.stdin.read()
"""


class Older(live.LiveTest):
    def watched(self, words, **more):
        """The report of what `words` did after its first line."""
        folder = self.folder()
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, text=True, env=self.environment(folder, **more))
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "ready\n")
        recorder = subprocess.Popen([*self.command(folder), "-p", str(process.pid)], text=True,
                                    stderr=subprocess.PIPE)
        self.addCleanup(recorder.stderr.close)
        self.addCleanup(recorder.kill)
        self.path = path = folder / "run.sqlite"
        end = time.monotonic() + live.LIMIT_S
        while not self.seen(path):
            self.assertLess(time.monotonic(), end, "the recorder never saw a call")
            process.stdin.write("p\n")
            process.stdin.flush()
            time.sleep(0.1)
        process.stdin.write("go\n")
        process.stdin.flush()
        self.assertEqual(process.stdout.readline(), "done\n")
        process.stdin.close()
        process.wait(live.LIMIT_S)
        recorder.wait(live.LIMIT_S)
        done = subprocess.run([live.BINARY, "report", "--json", path], capture_output=True, text=True,
                              check=False, timeout=live.LIMIT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        text = subprocess.run([live.BINARY, "report", "--full", path], capture_output=True, text=True, check=True,
                              timeout=live.LIMIT_S).stdout
        return json.loads(done.stdout), text

    def seen(self, path):
        """Whether calls are in the file: the probes are on."""
        try:
            with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
                return file.execute("SELECT count(*) FROM calls").fetchone()[0]
        except sqlite3.Error:
            return 0

    def assertLowerBound(self, report, text):
        device = report["devices"][0]
        self.assertTrue(device["at_least"])
        self.assertTrue(all(it["holds"] for it in device["identities"]), device["identities"])
        self.assertNotIn("contradicts itself", text)
        self.assertIn("lower bounds", text)
        self.assertIn("may be too low", text)
        self.assertRegex(text, r"At least [0-9.]+ MiB of device memory in \d+ allocation")
        self.assertNotIn("too high", text)
        self.assertIn("≥", text)
        return device

    def test_a_program_that_held_memory(self):
        report, text = self.watched([live.program("older")])
        device = self.assertLowerBound(report, text)
        self.assertEqual(device["final"]["reserved_bytes"], 2 * MIB)
        self.assertEqual(report["recording"]["refused"]["calls"], 1)
        self.assertEqual(report["recording"]["refused"]["first_bytes"], 1 << 50)
        self.assertRegex(report["recording"]["refused"]["first_label"], r"older\.c:\d+ main")
        kinds = {issue["kind"] for issue in report["issues"]}  # of a thread that chose its device before
        self.assertEqual(kinds, {"older_than_recording", "unknown_device", "incomplete_recording"})
        self.assertEqual(device["label"], "device not known")
        self.assertNotIn("cuda:", text)
        for table in ("devices", "incomplete"):
            asked = subprocess.run([live.BINARY, "query", self.path, f"SELECT DISTINCT at_least FROM {table}", "--format",
                                    "json"], capture_output=True, text=True, check=True)
            self.assertEqual(json.loads(asked.stdout), [{"at_least": 1}], table)
        process = report["recording"]["process"]
        self.assertTrue(process["ran_before"])
        self.assertLess(process["watched_from_ns"], process["watched_to_ns"])
        self.assertRegex(" ".join(text.split()),
                         r"watched for [\d.]+ s, from [\d-]+ [\d:]+ UTC on, when it was already running; it ended well")

    def test_blocks_in_segments_that_are_older(self):
        for path in (PYTHON, HEADERS / "cuda_runtime_api.h"):
            if not path.exists():
                self.skipTest(f"no {path}: see pytorch_test.py")
        where = subprocess.run([PYTHON, "-c", "import importlib.util as u; "
                                "print(u.find_spec('torch').submodule_search_locations[0])"],
                               capture_output=True, text=True, check=True).stdout.strip()
        libraries = build_torch.build_torch(pathlib.Path(where, "lib"), HEADERS, live.FOLDER / "torch" / "lib")
        report, text = self.watched([PYTHON, "-c", TORCH], LD_LIBRARY_PATH=str(libraries))
        device = self.assertLowerBound(report, text)
        # 5 MiB of an older segment, and one of 64 MiB that was seen.
        self.assertGreaterEqual(device["peak"]["reserved"]["bytes"], (64 + 5) * MIB)
        self.assertGreaterEqual(device["initial"]["reserved_bytes"], 5 * MIB)
        kinds = {issue["kind"] for issue in report["issues"]}
        self.assertEqual(kinds, {"older_than_recording", "incomplete_recording"})


if __name__ == "__main__":
    live.main()
