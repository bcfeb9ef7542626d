#!/usr/bin/env python3
"""Step 2 of the ladder: the real libcudart from its wheel. Without a driver each call returns 35
(cudaErrorInsufficientDriver): size, pid, thread and code must be what the program saw.

pip fetches nvidia-cuda-runtime-cu12 into the folder of the live tests once (TIDEGAUGE_CUDART names a
libcudart.so to take instead); without a network the test is skipped."""
import os
import pathlib
import subprocess
import sys
import unittest
import zipfile

import live

PROGRAM = """
import ctypes, json, os, sys, threading
runtime = ctypes.CDLL(sys.argv[1])
said = []
def call(name, size, *words):
    out = ctypes.c_void_p()
    code = getattr(runtime, name)(ctypes.byref(out), ctypes.c_size_t(size), *words)
    said.append([name, size, code, threading.get_native_id()])
def all_of_them(first):
    call("cudaMalloc", first)
    call("cudaMallocManaged", first + 1, 1)
    call("cudaMallocHost", first + 2)
    call("cudaHostAlloc", first + 3, 0)
    call("cudaMallocAsync", first + 4, None)
all_of_them(1000)
other = threading.Thread(target=all_of_them, args=(2000,))
other.start(); other.join()
said.append(["cudaFree", 0, runtime.cudaFree(ctypes.c_void_p(0x1000)), threading.get_native_id()])
open(sys.argv[2], "w").write(json.dumps(said))
"""


def real_runtime():
    """The library's path; raises SkipTest with the reason if there is none."""
    if "TIDEGAUGE_CUDART" in os.environ:
        return pathlib.Path(os.environ["TIDEGAUGE_CUDART"])
    folder = live.FOLDER / "cudart"
    if not list(folder.rglob("libcudart.so.*")):
        folder.mkdir(parents=True, exist_ok=True)
        fetched = subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder,
                                  "nvidia-cuda-runtime-cu12"], capture_output=True, text=True, check=False)
        if fetched.returncode != 0:
            raise unittest.SkipTest("pip cannot fetch nvidia-cuda-runtime-cu12 here: give it a network, or "
                                    "set TIDEGAUGE_CUDART to a libcudart.so")
        for wheel in folder.glob("*.whl"):
            zipfile.ZipFile(wheel).extractall(folder)
    return next(folder.rglob("libcudart.so.*"))


class RealRuntime(live.LiveTest):
    def run_with(self, library_path):
        import json
        folder = self.folder()
        script = folder / "calls.py"
        script.write_text(PROGRAM)
        done = subprocess.run(
            [*self.command(folder), "--", sys.executable, str(script), str(real_runtime()),
             str(folder / "said.json")],
            env=self.environment(folder, LD_LIBRARY_PATH=library_path), capture_output=True, text=True,
            timeout=live.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return live.Run(folder, done), json.loads((folder / "said.json").read_text())

    def test_without_a_driver_every_call_fails_with_35_and_is_recorded_so(self):
        run, said = self.run_with("")
        codes = {code for _, _, code, _ in said}
        if codes != {35}:
            self.skipTest(f"there is a driver here (codes {codes}): run on a machine without one")
        calls = [[c["name"], c["size_bytes"], c["code"], c["thread"]]
                 for c in run.twin.calls if c["plane"] == "runtime"]
        self.assertEqual(calls, said)
        process = next(p for p in run.twin.processes.values() if p.failures)
        self.assertEqual((process.failures, process.total), (len(said), 0))
        self.assertEqual(run.twin.losses(), {})

    def test_on_the_stand_in_driver(self):
        """The real runtime asks the driver for private tables that the stand-in does not have; whatever
        it answers, the recording says what the program saw."""
        run, said = self.run_with(str(live.libraries()))
        calls = [[c["name"], c["size_bytes"], c["code"], c["thread"]]
                 for c in run.twin.calls if c["plane"] == "runtime"]
        self.assertEqual(calls, said)


if __name__ == "__main__":
    live.main()
