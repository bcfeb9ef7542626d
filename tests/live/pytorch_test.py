#!/usr/bin/env python3
"""Step 3 of the ladder: real PyTorch from its wheel, on the stand-in GPU, under the recorder.

Driver plane: what the recording says is held is PyTorch's reserved_bytes and what the program took
beside it, now and at the peak. Framework plane: block by block what PyTorch's own snapshot says.

Needs a Python with torch (TIDEGAUGE_TORCH_PYTHON) and CUDA's headers (TIDEGAUGE_CUDA_INCLUDE), which
tests/standin/get_torch.sh fetches into the folder of the live tests; without them it is skipped."""
import json
import os
import pathlib
import pickle
import subprocess
import unittest

import live
import build_torch
from twin import driver_calls, logged_calls

PYTHON = pathlib.Path(os.environ.get("TIDEGAUGE_TORCH_PYTHON", live.FOLDER / "torch/venv/bin/python"))
HEADERS = pathlib.Path(os.environ.get("TIDEGAUGE_CUDA_INCLUDE", live.FOLDER / "torch/include"))
SETTINGS = {"default": "", "expandable": "expandable_segments:True"}


class PyTorch(live.LiveTest):
    def setUp(self):
        super().setUp()
        for path in (PYTHON, HEADERS / "cuda_runtime_api.h"):
            if not path.exists():
                self.skipTest(f"no {path}: run tests/standin/get_torch.sh {live.FOLDER / 'torch'} "
                              "(1.4 GB), or set TIDEGAUGE_TORCH_PYTHON and TIDEGAUGE_CUDA_INCLUDE")
        where = subprocess.run([PYTHON, "-c", "import importlib.util as u; "
                                "print(u.find_spec('torch').submodule_search_locations[0])"],
                               capture_output=True, text=True, check=True).stdout.strip()
        self.libraries = build_torch.build_torch(pathlib.Path(where, "lib"), HEADERS,
                                                 live.FOLDER / "torch" / "lib")

    def train(self, setting):
        folder = self.folder()
        done = subprocess.run(
            [*self.command(folder), "--", str(PYTHON), str(live.source_of("train.py")),
             str(folder)],
            env=self.environment(folder, LD_LIBRARY_PATH=str(self.libraries),
                                 PYTORCH_CUDA_ALLOC_CONF=SETTINGS[setting], FAKE_GPU_EVENT_LAG="25"),
            capture_output=True, text=True, timeout=live.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder, live.Run(folder, done)

    def test_the_recording_is_what_pytorch_says_of_itself(self):
        for setting in SETTINGS:
            with self.subTest(setting):
                folder, run = self.train(setting)
                twin = run.twin
                self.assertEqual(twin.losses(), {})
                self.assertEqual(twin.unwatched(), [])
                process = next(p for p in twin.processes.values() if p.framework_allocations)
                said = json.loads((folder / "stats.json").read_text())
                stats, others = said["stats"], said["others"]
                device = json.loads((folder / "device.json").read_text())["devices"][0]
                snapshot = pickle.loads((folder / "snapshot.pickle").read_bytes())

                held = sum(process.live[kind] for kind in ("device", "pool", "physical"))
                self.assertEqual(held, stats["reserved_bytes.all.current"] + others)
                self.assertEqual(process.peak_bytes, stats["reserved_bytes.all.peak"] + others)
                self.assertEqual(held, device["asked_bytes"])
                self.assertEqual(process.peak_bytes, device["asked_peak_bytes"])
                self.assertGreater(process.peak_bytes, held)  # something was freed
                if setting == "default":  # expandable segments see by cudaMemGetInfo() that it cannot be
                    self.assertGreater(process.failures, 0)
                self.assertEqual(driver_calls(twin), logged_calls(folder / "calls.txt"))

                blocks = {block["address"]: block["requested_size"]
                          for segment in snapshot["segments"] for block in segment["blocks"]
                          if block["state"] == "active_allocated"}
                self.assertEqual(process.framework, blocks)
                self.assertEqual(process.framework_allocations, stats["allocation.all.allocated"])
                self.assert_segments(process, snapshot)
                self.assert_stacks(twin, snapshot)

    def assert_stacks(self, twin, snapshot):
        """Each stack reaches the program's or the thread's start. Where CPython names its functions
        (3.12 and newer), those of each block are what PyTorch's own snapshot says of it."""
        frames = {}
        for row in twin.rows("SELECT stack_id, function, file FROM stack_frames JOIN frames USING(frame_id) "
                             "ORDER BY stack_id, place"):
            frames.setdefault(row["stack_id"], []).append((row["function"], row["file"]))
        calls = twin.rows("SELECT calls.*, name, verb FROM calls JOIN functions USING(function_id) ORDER BY call_id")
        first = min(call["thread"] for call in calls)
        for call in calls:
            if call["verb"] == "allocate":
                stack = frames[call["stack_id"]]
                if call["thread"] == first:
                    self.assertEqual(stack[-1][0], "_start")
                    self.assertIn("Py_BytesMain", [function for function, _ in stack])
                else:  # of autograd: threads begin in C++
                    self.assertIn("thread_init", " ".join(function or "" for function, _ in stack))
        version = subprocess.run([PYTHON, "-c", "import sys; print(sys.version_info >= (3, 12))"],
                                 capture_output=True, text=True, check=True).stdout.strip()
        if version != "True":
            return
        said = [entry for entry in snapshot["device_traces"][0] if entry["action"] == "alloc"]
        ours = [call for call in calls if call["name"] == "pytorch_malloc"]
        self.assertEqual(len(ours), len(said))
        compared = 0
        for call, entry in zip(ours, said):
            self.assertEqual((call["address"], call["size_bytes"]), (entry["addr"], entry["size"]))
            mine = [(function.rpartition(".")[2], file) for function, file in frames[call["stack_id"]]
                    if file and file.endswith(".py")]
            theirs = [(frame["name"], frame["filename"]) for frame in entry["frames"]
                      if frame["filename"].endswith(".py")]
            self.assertEqual(mine, theirs)
            compared += bool(theirs)
        self.assertGreater(compared, 500)

    def assert_segments(self, process, snapshot):
        """Each segment of the snapshot is memory that the recording knows at that place."""
        for segment in snapshot["segments"]:
            begin, end = segment["address"], segment["address"] + segment["total_size"]
            if begin in process.blocks:
                self.assertEqual(process.blocks[begin][1], segment["total_size"])
            else:  # expandable: mappings side by side
                mapped = sum(size for at, (size, _) in process.maps.items() if begin <= at < end)
                self.assertEqual(mapped, segment["total_size"])


if __name__ == "__main__":
    live.main()
