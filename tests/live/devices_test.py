#!/usr/bin/env python3
"""What the driver itself says is used of its devices (NVML), beside what the calls of a program handed
out: a stand-in libnvidia-ml.so.1, found as the real one is."""
import functools
import json
import sqlite3
import subprocess
import time

import live

MIB = 1 << 20
TOTAL = 80 << 30


@functools.cache
def nvml():
    """The folder of the stand-in."""
    out = live.FOLDER / "nvml"
    out.mkdir(parents=True, exist_ok=True)
    live.standin.run("g++", "-std=c++20", "-O1", "-shared", "-fPIC", "-fvisibility=hidden",
                     "-Wl,-soname,libnvidia-ml.so.1", "-o", out / "libnvidia-ml.so.1",
                     live.standin.HERE / "nvml.cpp", *live.standin.NO_CPP_NEEDED)
    return out


def until(ready, what):
    end = time.monotonic() + live.LIMIT_S
    while time.monotonic() < end:
        if found := ready():
            return found
        time.sleep(0.05)
    raise AssertionError(f"never came: {what}")


class Devices(live.LiveTest):
    def start(self, *options):
        """`holds` under the recorder, and the file that says what the driver says."""
        folder = self.folder()
        said = folder / "nvml.txt"
        said.write_text(f"device Stand-in {TOTAL} {3 * MIB}\n")
        environment = self.environment(folder, STANDIN_NVML=str(said))
        environment["LD_LIBRARY_PATH"] += f":{nvml()}"
        process = subprocess.Popen([*self.command(folder, *options), "--", live.program("holds")], text=True,
                                   env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)

        def end():
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                stream.close()
        self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return folder, said, process

    def rows(self, folder, sql):
        file = sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True)
        try:
            return file.execute(sql).fetchall()
        finally:
            file.close()

    def check(self, *options):
        folder, said, recorder = self.start(*options)
        for _ in range(3):
            recorder.stdin.write("more\n")
            recorder.stdin.flush()
            self.assertEqual(recorder.stdout.readline(), "done\n")
        pid = until(lambda: self.rows(folder, "SELECT pid FROM processes WHERE name = 'holds'"), "the process")[0][0]

        def say(words):  # whole, or not at all
            (said.parent / "new").write_text(words)
            (said.parent / "new").rename(said)
        of_pid = f"SELECT device, used_bytes FROM device_memory WHERE pid = {pid} ORDER BY rowid"
        say(f"device Stand-in {TOTAL} {700 * MIB}\nprocess {pid} {500 * MIB}\nprocess 1 {100 * MIB}\n"
            f"device Other {TOTAL} {9 * MIB}\nprocess {pid} {6 * MIB}\n")
        until(lambda: len(self.rows(folder, of_pid)) == 2, "its figures")
        # A device falls off: known figures stay, and the recorder continues.
        say(f"device Stand-in {TOTAL} {700 * MIB}\nprocess {pid} {500 * MIB}\nfail nvmlDeviceGetMemoryInfo 15\n"
            "fail nvmlDeviceGetComputeRunningProcesses_v3 15\n")
        time.sleep(1.5)
        say(f"device Stand-in {TOTAL} {200 * MIB}\nprocess {pid} {90 * MIB}\n")
        until(lambda: len(self.rows(folder, of_pid)) == 3, "its new figure")
        recorder.stdin.close()
        self.assertEqual(recorder.wait(live.LIMIT_S), 0, recorder.stderr.read())
        self.assertEqual(self.rows(folder, of_pid), [(0, 500 * MIB), (1, 6 * MIB), (0, 90 * MIB)])
        self.assertEqual(self.rows(folder, "SELECT used_bytes FROM device_memory WHERE pid IS NULL AND device = 0"),
                         [(3 * MIB,), (700 * MIB,), (200 * MIB,)])
        self.assertEqual(self.rows(folder, "SELECT used_bytes FROM device_memory WHERE pid = 1"), [(100 * MIB,), (0,)])
        self.assertEqual(self.rows(folder, "SELECT device, name, uuid, total_bytes FROM devices"),
                         [(0, "Stand-in", "GPU-Stand-in", TOTAL), (1, "Other", "GPU-Other", TOTAL)])
        words = [live.BINARY, "report", folder / "run.sqlite"]
        told = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)
        figure = told["recording"]["process"]["drivers_figure"]
        self.assertEqual((figure["used_bytes"], figure["recorded_bytes"], figure["untracked_bytes"]),
                         (506 * MIB, 6 * MIB, 500 * MIB))
        text = " ".join(subprocess.run([*words, "--full"], capture_output=True, text=True, check=True).stdout.split())
        self.assertIn("The driver says that it used 506 MiB at most", text)
        self.assertIn("and 500 MiB are its contexts, modules and memory without a recorded call.", text)
        # Which of its devices the calls' memory lies on nobody knows: it was on two of them.
        self.assertIn("GPU 0 Stand-in, as the driver says (NVML)", text)
        self.assertIn("700 MiB of 80.00 GiB were used at most: 600 MiB by 2 processes, 100 MiB by no process "
                      "that it named; 200 MiB when it was last asked.", text)
        self.assertIn("1, not recorded", text)
        asked = subprocess.run([live.BINARY, "query", folder / "run.sqlite", "SELECT device, pid, used_bytes, "
                                "recorded_bytes FROM gpu_processes ORDER BY 1, 3 DESC", "--format", "json"],
                               capture_output=True, text=True, check=True).stdout
        self.assertEqual([list(row.values()) for row in json.loads(asked)],
                         [[0, pid, 500 * MIB, None], [0, 1, 100 * MIB, None], [1, pid, 6 * MIB, None]])

    def test_untracked_memory_is_the_drivers_figure_minus_the_ledgers(self):
        self.check()

    def test_the_same_without_privilege(self):
        self.check("--preload")

    def test_a_library_that_hangs_costs_its_figures_alone(self):
        folder, said, recorder = self.start()
        said.write_text(f"device Stand-in {TOTAL} {MIB}\nhang nvmlDeviceGetCount_v2\n")
        recorder.stdin.write("more\n")
        recorder.stdin.close()
        self.assertEqual(recorder.wait(live.LIMIT_S), 0, recorder.stderr.read())
        self.assertEqual(self.rows(folder, "SELECT sum(size_bytes) FROM call_log WHERE function = 'cudaMalloc'"),
                         [(2 * MIB,)])


if __name__ == "__main__":
    live.main()
