#!/usr/bin/env python3
"""Single launches: their arguments by the parameters that the kernels' code shows, whole structs,
names of kernels that were registered before they were watched, and names that found no room."""
import os
import signal
import sqlite3
import subprocess
import time

from live import FOLDER, HERE, LiveTest, Run, libraries, main, program
from twin import has_expectation

LAYOUTS = {"axpy(int, float, float*)": "0:4 4:4 8:8", "bigone": "0:1 8:600 608:2 624:3000", "none": "",
           "elsewhere": None}
AXPY = bytes.fromhex("0a000000" "0000803f" "00100000007f0000")
BIG = bytes([0xab]) + bytes(i % 256 for i in range(600)) + bytes([0xef, 0xbe]) + bytes(i * 7 % 256 for i in range(3000))
BIG_WORDS = bytes([0xab]) + bytes(range(8)) + bytes([0xef, 0xbe]) + bytes(i * 7 for i in range(8))


CUBINS = HERE.parent.parent / "build" / "cubins"  # made by ../fixtures/cubin/make_cubins.sh


def parameters(*names):
    """The program whose file has a fat binary, with names of functions for the recorder."""
    fatbin = CUBINS / names[0]
    return program(f"parameters_{fatbin.stem}", "-rdynamic", f'-DFATBIN="{fatbin}"', "-l:libcudart.so.13",
                   "-l:libcuda.so.1", f"-Wl,-rpath,{libraries()}", source="parameters")


def events(run):
    return run.twin.rows("SELECT k.name, k.parameters AS layout, l.parameters, l.arguments FROM launch_events l "
                         "JOIN kernels k USING(kernel_id) ORDER BY l.time_ns")


class Arguments(LiveTest):
    def setUp(self):
        super().setUp()
        if not (CUBINS / "made").exists():
            self.skipTest("no cubins: tests/fixtures/cubin/make_cubins.sh build/cubins makes them (x86-64)")

    def test_each_parameter_has_its_size_however_the_code_is_packed(self):
        for name in ("plain.fatbin", "lz4.fatbin", "zstd.fatbin", "several.fatbin"):
            with self.subTest(name):
                run = self.record(parameters(name), 5, options=("--launch-events", "--args", "16"))
                self.assertAsExpected(run)
                rows = events(run)
                self.assertEqual(len(rows), 20)
                self.assertEqual({row["name"]: row["layout"] for row in rows}, LAYOUTS)
                for row in rows:
                    if row["name"].startswith("axpy"):
                        self.assertEqual((row["parameters"], row["arguments"]), (3, AXPY))
                    elif row["name"] == "bigone":
                        self.assertEqual((row["parameters"], row["arguments"]), (4, BIG_WORDS))
                    elif row["name"] == "none":
                        self.assertEqual((row["parameters"], row["arguments"]), (0, None))
                    else:  # not known: words, as far as they can be read
                        self.assertIsNone(row["parameters"])
                        self.assertEqual(row["arguments"][16:24], AXPY[8:])

    def test_structs_are_whole_if_asked_for(self):
        run = self.record(parameters("zstd.fatbin"), 50, 1000,
                          options=("--launch-events", "--args", "4", "--args-whole"))
        self.assertAsExpected(run)
        rows = events(run)
        self.assertEqual(len(rows), 200)
        self.assertEqual({row["arguments"] for row in rows if row["name"] == "bigone"}, {BIG})
        self.assertEqual({(row["parameters"], row["arguments"]) for row in rows
                          if row["name"].startswith("axpy")}, {(3, AXPY)})


class Names(LiveTest):
    def test_names_that_find_no_room_are_read_from_the_program(self):
        folder = self.folder()
        recorder = subprocess.Popen([*self.command(folder), "--", program("many_names"), "30000", folder / "go"],
                                    env=self.environment(folder), stderr=subprocess.PIPE, text=True)
        for _ in range(600):
            time.sleep(0.1)
            if launches_in(folder / "run.sqlite") == 30000:
                break
        (folder / "go").touch()
        _, err = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, err)
        run = Run(folder, recorder)
        self.assertEqual(run.twin.losses(), {})
        named = run.twin.rows("SELECT k.name, sum(l.count) AS count FROM launches l JOIN kernels k "
                              "USING(kernel_id) GROUP BY 1")
        self.assertEqual({row["name"]: row["count"] for row in named},
                         {f"kernel_{i}": 1 for i in range(30000)})

    def late(self, path):
        folder = self.folder()
        target = subprocess.Popen([path], env=self.environment(folder))
        while not has_expectation(folder / "expected.json"):
            time.sleep(0.01)
        recorder = subprocess.Popen(self.command(folder, "-p", str(target.pid)), stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(600):  # until the probes are there and launches were written
                os.kill(target.pid, signal.SIGUSR1)
                time.sleep(0.1)
                if launches_in(folder / "run.sqlite") > 5:
                    break
            target.kill()
            target.wait()
            _, err = recorder.communicate(timeout=60)
        finally:
            for process in (recorder, target):
                if process.poll() is None:
                    process.kill()
        self.assertEqual(recorder.returncode, 0, err)
        return Run(folder, recorder)

    def test_kernels_that_were_registered_before_have_their_names(self):
        path = program("older_kernels", "-rdynamic", "-l:libcudart.so.13", "-l:libcuda.so.1",
                       f"-Wl,-rpath,{libraries()}")
        run = self.late(path)
        self.assertEqual({row["name"] for row in run.twin.rows("SELECT name FROM kernels")},
                         {"axpy(int, float, float*)", "hidden"})
        self.assertEqual(run.twin.unwatched(figures="kernel names"), [])

    def test_what_has_no_name_is_incomplete(self):
        whole = program("older_kernels", "-rdynamic", "-l:libcudart.so.13", "-l:libcuda.so.1",
                        f"-Wl,-rpath,{libraries()}")
        stripped = FOLDER / "older_kernels_stripped"
        subprocess.run(["strip", "-o", stripped, whole], check=True)
        run = self.late(stripped)
        self.assertEqual({row["name"] for row in run.twin.rows("SELECT name FROM kernels")},
                         {"axpy(int, float, float*)", None})
        row, = run.twin.unwatched(figures="kernel names")
        self.assertIn("before it was watched", row["reason"])


def launches_in(path):
    try:
        file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        return file.execute("SELECT coalesce(sum(count), 0) FROM launches").fetchone()[0]
    except sqlite3.Error:
        return 0


if __name__ == "__main__":
    main()
