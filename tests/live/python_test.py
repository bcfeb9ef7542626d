#!/usr/bin/env python3
"""The frames of CPython in recorded stacks: file, function and line of each, beside what the program
itself saw by traceback.extract_stack() at the same moment. Every CPython from 3.9 on that is here: the
system's, those of pyenv, and those that TIDEGAUGE_PYTHONS lists (paths, by colons)."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import live

COUNT = 1000
WALKED = range(9, 14)


def pythons():
    """{path: minor version} of interpreters that this machine has, each file once."""
    names = [*os.environ.get("TIDEGAUGE_PYTHONS", "").split(":"), "/usr/bin/python3", sys.executable,
             *(shutil.which(f"python3.{minor}") for minor in WALKED),
             *sorted(map(str, pathlib.Path.home().glob(".pyenv/versions/3.*/bin/python3")))]
    found = {}
    for name in filter(None, names):
        done = subprocess.run([name, "-c", "import sys; print(sys.executable, sys.version_info[1], "
                               "sys.implementation.name)"], capture_output=True, text=True, check=False) \
            if os.access(name, os.X_OK) else None
        if done is None or done.returncode != 0:
            continue
        path, minor, kind = done.stdout.split()
        if kind == "cpython":
            found[os.path.realpath(path)] = int(minor)
    return found


def walked():
    return {path: minor for path, minor in pythons().items() if minor in WALKED}


class Walk(live.LiveTest):
    """What both walks show: the kernel's, and that of the preloaded library."""
    def setUp(self):
        super().setUp()
        if not walked():
            self.skipTest("no CPython 3.9 to 3.13 here: install python3")

    def stacks(self, run):
        """{size: [(function, file, line), …]} of cudaMalloc; file None: a frame that is not Python's."""
        stacks = {}
        for row in run.twin.rows("SELECT stack_id, f.function, f.file, f.line, f.module_id FROM stack_frames "
                                 "JOIN frames f USING(frame_id) ORDER BY stack_id, place"):
            python = row["module_id"] is None and row["file"] is not None
            stacks.setdefault(row["stack_id"], []).append(
                (row["function"], row["file"], row["line"]) if python else (row["function"], None, None))
        return {row["size_bytes"]: stacks[row["stack_id"]] for row in run.twin.rows(
            "SELECT size_bytes, stack_id FROM calls JOIN functions USING(function_id) "
            "WHERE name = 'cudaMalloc' AND stack_id IS NOT NULL")}

    def truth(self, path):
        notes = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {size: [tuple(frame) for frame in frames] for size, frames in notes}

    def assert_true(self, run, truth, under_way=0):
        """`under_way`: calls that may have begun before the recorder came, so that only their return was seen."""
        losses = run.twin.losses()
        self.assertLessEqual(losses.pop("return without entry", 0), under_way)
        self.assertEqual(losses, {})
        stacks = self.stacks(run)
        self.assertEqual(stacks.keys(), truth.keys())
        wrong = {size: stacks[size] for size, frames in truth.items()
                 if [frame for frame in stacks[size] if frame[1] is not None] != frames}
        first = next(iter(wrong), None)
        self.assertEqual(len(wrong), 0, f"{len(wrong)} of {len(truth)} stacks, the first of {first} bytes:\n"
                         f"recorded {wrong.get(first)}\nin truth {truth.get(first)}")
        for size, frames in stacks.items():
            names = [frame[0] for frame in frames]
            self.assertEqual(names[0], "cudaMalloc")
            self.assertNotIn("_PyEval_EvalFrameDefault", names, size)

    def test_a_thousand_random_allocations(self):
        for path, minor in walked().items():
            with self.subTest(path, minor=minor):
                folder = self.folder()
                run = self.record(path, live.source_of("frames.py"), folder / "truth", COUNT, minor)
                truth = self.truth(folder / "truth")
                self.assertGreaterEqual(len(truth), COUNT)
                self.assert_true(run, truth)

    def test_frames_stand_where_they_were_called(self):
        """sorted() calls back: its C functions are between the lambda and the function that called it."""
        for path, minor in walked().items():
            with self.subTest(path, minor=minor):
                folder = self.folder()
                run = self.record(path, live.source_of("frames.py"), folder / "truth", 300)
                between = 0
                for frames in self.stacks(run).values():
                    for inner, outer in zip(frames, frames[1:]):
                        self.assertNotEqual(("<lambda>", "through_c"),
                                            (inner[0].split(".")[-1] if inner[1] else "", outer[0]))
                    between += any(frame[0] == "through_c" for frame in frames)
                self.assertGreater(between, 0)

    def test_without_python(self):
        run = self.record(next(iter(walked())), live.source_of("frames.py"), self.folder() / "truth", 20,
                          options=["--no-python"])
        for frames in self.stacks(run).values():
            self.assertEqual([frame for frame in frames if frame[1] is not None], [])

    def test_nothing_is_set_in_its_environment(self):
        words = "import os; print(sorted(name for name in os.environ if name.startswith('PYTHON')))"
        own = sorted(name for name in os.environ if name.startswith("PYTHON"))
        for path in walked():
            folder = self.folder()
            done = subprocess.run([*self.command(folder), "--", path, "-c", words], env=self.environment(folder),
                                  capture_output=True, text=True, timeout=live.LIMIT_S, check=True)
            self.assertEqual(done.stdout, f"{own}\n")

    def test_one_that_is_not_walked_is_named(self):
        older = next((path for path, minor in pythons().items() if minor < 9), None)
        if older is None:
            self.skipTest("no CPython before 3.9 here")
        code = "import ctypes; ctypes.CDLL('libcudart.so.13').cudaMalloc(ctypes.byref(ctypes.c_void_p()), 4096)"
        self.assertRegex(self.record(older, "-c", code).err, r"Python 3\.\d: it is older than 3\.9, so call sites")


class Python(Walk):
    def test_a_process_that_was_attached_to_late(self):
        for path, minor in walked().items():
            with self.subTest(path, minor=minor):
                folder = self.folder()
                child = subprocess.Popen([path, live.source_of("frames.py"), folder / "truth", "300", "1", "late"],
                                         env=self.environment(folder))
                self.addCleanup(child.kill)
                time.sleep(1)
                done = subprocess.run([*self.command(folder), "-p", str(child.pid)], capture_output=True,
                                      text=True, timeout=live.LIMIT_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(child.wait(), 0)
                self.assert_true(live.Run(folder, done), self.truth(folder / "truth"), under_way=1)


class Preload(Walk):
    """`record --preload`: nothing is walked in the kernel."""
    def command(self, folder, *options):
        return super().command(folder, "--preload", *options)


del Walk  # only its two kinds are tests

if __name__ == "__main__":
    live.main()
