#!/usr/bin/env python3
"""`tidegauge wss` of processes at a memory limit, and of processes that do not run.

A process reads 100 MiB of a file again and again, in a cgroup that may have 64 MiB: the kernel takes pages
away that were touched in the window. Needs root and a cgroup with a memory controller, version 1 or 2.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/wss/limit_test.py"""
import contextlib
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest

from wss_case import CGROUPS, MIB, WssCase, cgroup_with_limit, running, wss

# Reads a byte of each page of a file, in a cgroup of its own.
READER = """import mmap, pathlib, sys, time
pathlib.Path(sys.argv[2], "cgroup.procs").write_text("0")
with open(sys.argv[1], "rb") as file:
    memory = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
print("ready", flush=True)
while memory[::4096]:
    time.sleep(0.01)
"""
NEEDED, LIMIT = 100 * MIB, 64 * MIB


def reclaimed_for_machine():
    """Pages that the kernel scanned because the memory of the machine was short."""
    rows = (line.split() for line in pathlib.Path("/proc/vmstat").read_text().splitlines())
    return {name: count for name, count in rows if name in ("pgscan_kswapd", "pgscan_direct", "pgscan_khugepaged")}


class Limit(WssCase):
    @contextlib.contextmanager
    def reading(self):
        """The pid of the reader, and the path of its file, no page of which is in memory before."""
        with tempfile.NamedTemporaryFile(dir=pathlib.Path(__file__).resolve().parent.parent.parent / "build") as file, \
                cgroup_with_limit(self, LIMIT) as folder:
            file.write(os.urandom(MIB) * (NEEDED // MIB))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with running([sys.executable, "-c", READER, file.name, str(folder)]) as process:
                self.assertEqual(process.stdout.readline(), "ready\n")
                yield process.pid, file.name

    def row(self, pid, *words):
        return json.loads(wss("--json", *words, pid, 3).stdout)["rows"][-1]

    def test_what_was_reclaimed_counts(self):
        for backend in self.backends():
            with self.subTest(backend=backend), self.reading() as (pid, path):
                row = self.row(pid, "--by", "file", "--backend", backend)
                touched = {group["name"]: group["bytes"]["referenced"] for group in row["groups"]}.get(path, 0)
                self.assertTrue(row["error"]["at_least"])
                self.assertGreater(row["pressure"]["bytes"]["refaulted_file"], NEEDED - LIMIT)
                self.assertEqual(row["limit"]["bytes"], LIMIT)
                self.assertGreater(row["work"]["cpu_s"], 0)
                self.assertLessEqual(touched, LIMIT)
                if backend == "pte":  # to the page if no page is taken within 10 ms; never more
                    self.assertGreater(touched + row["error"]["reclaimed_bytes"], LIMIT + 16 * MIB)
                    self.assertLessEqual(touched + row["error"]["reclaimed_bytes"], NEEDED + 16 * MIB)  # libraries

    def test_sentences_claim_nothing(self):
        for backend in self.backends():
            with self.subTest(backend=backend), self.reading() as (pid, _):
                text = " ".join(wss("--backend", backend, pid, 3).stdout.split())
                self.assertRegex(text, r"is larger than its limit of 64\.0 MiB: [0-9.]+ [MG]iB were read back\.")
                self.assertRegex(text, r"[0-9]\+ ")  # Ref is marked
                for claim in ("within", "not touched", "memory limit of"):
                    self.assertNotIn(claim, text)

    def test_a_file_of_it_says_the_same(self):
        with self.reading() as (pid, _), tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "run.jsonl")
            wss("-o", path, pid, 3)
            text = " ".join(wss(path).stdout.split())
            self.assertIn("is larger than its limit of 64.0 MiB", text)
            self.assertIn("At least", text)
            self.assertNotIn("within", text)

    def test_the_limit_of_another_cgroup(self):
        """What the kernel takes from it is in the counters of the machine, which version 1 has alone."""
        if not (CGROUPS / "memory/memory.limit_in_bytes").exists():
            self.skipTest("cgroups of version 2 have counters of their own")
        before = reclaimed_for_machine()
        with self.reading(), self.touching(64, 16) as (pid, _, _):
            row = self.row(pid)
            if reclaimed_for_machine() != before:
                self.skipTest("the memory of the machine itself was short")
            self.assertFalse(row["error"]["at_least"], row["pressure"])
            self.assertEqual(row["pressure"]["bytes"]["scanned"], 0)
            self.assertIn("more than L2", " ".join(wss(pid, 1).stdout.split()))

    def test_rolling_windows_are_marked(self):
        with self.reading() as (pid, _):
            text = wss("--rolling", 2, "-d", 2, pid, 0.5).stdout
            rows = [line.split() for line in text.splitlines() if re.match(r" +[0-9.]+ +[0-9.]+ +[0-9.]+\+", line)]
            self.assertGreaterEqual(len(rows), 2, text)
            self.assertIn("touched for the first time", " ".join(text.split()))
            last = json.loads(wss("--json", "--rolling", 2, "-d", 2, pid, 0.5).stdout)["rows"][-1]
            self.assertEqual([one["at_least"] for one in last["rolling"]["within"]], [True, True])

    def test_a_limit_of_one_of_two(self):
        """It does not hold for what both have."""
        if "pte" not in list(self.backends()):
            self.skipTest("only pte counts shared pages once, and compares several processes")
        with self.reading() as (one, _), self.touching(64, 20) as (two, _, _):
            self.assertIn("more than limit (64.0 MiB", " ".join(wss(one, 2).stdout.split()))
            self.assertNotIn("more than limit", " ".join(wss(one, two, 2).stdout.split()))

    def test_memory_that_is_charged_elsewhere(self):
        with cgroup_with_limit(self, LIMIT) as folder, self.touching(100, 80) as (pid, _, _):
            (folder / "cgroup.procs").write_text(str(pid))
            text = " ".join(wss(pid, 0.5).stdout.split())
            self.assertRegex(text, r"8[01]\.[0-9] MiB were touched")
            self.assertNotIn("limit (64", text)

    def test_a_process_that_did_not_run_says_so(self):
        with running(["sleep", "100"]) as process:
            text = " ".join(wss(process.pid, 0.2).stdout.split())
            self.assertRegex(text, r"The process did not run in this window of 0\.[23]\d* s, so it shows nothing")
            self.assertNotIn("within", text)
            self.assertEqual(self.row(process.pid)["work"]["cpu_s"], 0)

    def test_without_a_limit_nothing_is_said_of_it(self):
        with self.touching(64, 16) as (pid, _, _):
            row = self.row(pid)
            self.assertFalse(row["error"]["at_least"] and row["pressure"]["shortage"] == "none")
            self.assertEqual(row["error"]["reclaimed_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
