#!/usr/bin/env python3
"""`tidegauge wss --exact-window`: the process stands still while it is cleared and while it is read.

That the figure is right to the page is in exact_window_test.cpp. Needs root where Yama lets a process trace its
descendants only (kernel.yama.ptrace_scope, as on Ubuntu).

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/wss/exact_test.py"""
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from wss_case import BINARY, WssCase, running, wss


def status_of(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return dict(line.split(":\t", 1) for line in lines if ":\t" in line)


def yama_scope():
    try:
        return int(pathlib.Path("/proc/sys/kernel/yama/ptrace_scope").read_text())
    except OSError:
        return 0


@unittest.skipIf(os.geteuid() != 0 and yama_scope() > 0, "kernel.yama.ptrace_scope is above 0: needs root")
class ExactWindow(WssCase):
    def test_all_mappings_have_one_window(self):
        with self.touching(256, 16, "mappings=500") as (pid, _, _):
            for backend in self.backends():
                with self.subTest(backend=backend):
                    answer = json.loads(wss("--exact-window", "--by", "vma", "--top", 1000, "--json", "--backend",
                                            backend, pid, 0.2).stdout)
                    row, = answer["rows"]
                    self.assertIn("the process stands still", answer["how"])
                    self.assertEqual({group["window_s"]["mean"] for group in row["groups"]}, {row["window_s"]["mean"]})
                    self.assertGreaterEqual(row["window_s"]["most"], row["window_s"]["least"])
                    self.assertGreater(row["window_s"]["least"], 0)
                    self.assertGreaterEqual(row["cost"]["stopped_s"], row["cost"]["clear_s"] + row["cost"]["read_s"])
                    self.assertEqual(status_of(pid)["TracerPid"], "0")
            self.assertEqual(json.loads(wss("--json", pid, 0.1).stdout)["rows"][0]["cost"]["stopped_s"], 0)

    def test_its_cost_is_said(self):
        with self.touching(64, 16) as (pid, _, _), tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.jsonl")
            text = " ".join(wss("--exact-window", "-o", path, pid, 0.1).stdout.split())
            self.assertRegex(text, r"[Tt]he process stood still for up to [0-9.]+ ms in a window \(--exact-window\)")
            self.assertIn("stands still", " ".join(wss(path).stdout.split()))
            text = " ".join(wss("--exact-window", "--dry-run", pid, 0.1).stdout.split())
            self.assertRegex(text, r"and stops the process for [0-9.]+ ms")
            for words in (("-P", 3), ("-C", "-d", 0.3), ("-s", 0, "-d", 0.3)):
                self.assertIn("stood still", wss("--exact-window", *words, pid, 0.1).stdout)

    def test_a_process_that_did_not_run(self):
        """To be stopped and resumed is no work of its own."""
        with running(["sleep", "100"]) as process:
            text = " ".join(wss("--exact-window", process.pid, 1.1).stdout.split())
            self.assertIn("The process did not run in this window", text)
            self.assertNotIn("within", text)
            self.assertNotIn("not touched", text)

    def test_several_processes(self):
        with self.touching(32, 8) as (one, _, _), self.touching(32, 8) as (two, _, _):
            row, = json.loads(wss("--exact-window", "--json", one, two, 0.1).stdout)["rows"]
            for process in row["processes"]:
                self.assertGreater(process["cost"]["stopped_s"], 0)
                self.assertEqual(status_of(process["pid"])["TracerPid"], "0")

    def test_a_process_that_is_killed_is_seen_by_its_parent(self):
        """At any moment, also while it stands still."""
        chance = random.Random(1)
        for _ in range(10):
            with self.touching(64, 16) as (pid, _, _):
                measuring = subprocess.Popen([BINARY, "wss", "--exact-window", "-s", "0", "-d", "20", str(pid), "0.001"],
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                self.assertTrue(measuring.stdout.readline())
                time.sleep(chance.random() * 0.05)
                os.kill(pid, signal.SIGKILL)
                # The test is its parent: running() waits for it.
                self.assertIn(b"ended during the measurement", measuring.communicate(timeout=20)[1])

    def test_one_of_several_that_is_killed(self):
        """With threads: its parent sees the end at once, though tidegauge measures on."""
        threads = "import threading, time\nfor _ in range(4): threading.Thread(target=time.sleep, args=(100,)).start()\n" \
                  "print('ready', flush=True)\ntime.sleep(100)"
        chance = random.Random(2)
        for _ in range(5):
            with self.touching(64, 16) as (other, _, _), running([sys.executable, "-c", threads]) as process:
                self.assertEqual(process.stdout.readline(), "ready\n")
                measuring = subprocess.Popen([BINARY, "wss", "--exact-window", "-s", "0", "-d", "60", str(process.pid),
                                              str(other), "0.001"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(0.2 + chance.random() * 0.1)
                process.kill()
                process.wait(timeout=20)
                self.assertIsNone(measuring.poll())
                measuring.send_signal(signal.SIGINT)
                measuring.wait(timeout=20)

    def test_tidegauge_that_is_killed_leaves_it_running(self):
        with self.touching(64, 16) as (pid, _, _):
            for _ in range(5):
                measuring = subprocess.Popen([BINARY, "wss", "--exact-window", "-s", "0", "-d", "20", str(pid), "0.001"],
                                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
                measuring.stdout.readline()
                time.sleep(0.05)
                measuring.kill()
                measuring.communicate(timeout=20)
                self.assertEqual(status_of(pid)["TracerPid"], "0")
            before = pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]
            time.sleep(0.2)
            self.assertNotEqual(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0], before)

    def test_one_that_another_program_traces(self):
        tracer = "import ctypes, sys, time\nassert ctypes.CDLL(None).ptrace(0x4206, int(sys.argv[1]), 0, 0) == 0\n" \
                 "print('ready', flush=True)\ntime.sleep(100)"  # PTRACE_SEIZE
        with self.touching(16, 4) as (pid, _, _), running([sys.executable, "-c", tracer, str(pid)]) as other:
            self.assertEqual(other.stdout.readline(), "ready\n")
            done = wss("--exact-window", pid, 0.1, check=False)
            self.assertEqual(done.returncode, 4)
            self.assertEqual(done.stdout, "")
            self.assertIn(f"because process {other.pid} traces it", done.stderr)
            self.assertEqual(wss("--exact-window", "--dry-run", pid, 0.1, check=False).returncode, 4)
            self.assertIn("omit --exact-window", done.stderr)

    def test_what_does_not_go_with_it(self):
        for words in (["--compat"], ["--backend", "damon"], ["--backend", "mglru"], ["--backend", "spot"]):
            done = wss("--exact-window", *words, 1, 0.1, check=False)
            self.assertEqual(done.returncode, 2, words)


if __name__ == "__main__":
    unittest.main()
