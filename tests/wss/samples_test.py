#!/usr/bin/env python3
"""Samples of `tidegauge wss` beside programs whose working set is known: what they may not know, they say.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/wss/samples_test.py"""
import json
import os
import signal
import subprocess
import time
import unittest

from wss_case import BINARY, LIMIT_S, MIB, WssCase, running, wss


class Samples(WssCase):
    def test_a_sample_says_what_a_fork_keeps_it_from_knowing(self):
        """A page that two processes map cannot be cleared by MADV_COLD: all of it counts, and the bound says so."""
        if "pte" not in list(self.backends()):
            return
        with self.forks() as pid:
            row, = json.loads(wss("--json", "--sample", "1/32", pid, 0.5).stdout)["rows"]
            said = " ".join(wss("--sample", "1/32", pid, 0.5).stdout.split())
        least = row["bytes"]["referenced"] - row["error"]["referenced_ci95"]
        # Of 48 MiB at least five parts are met, each of which stands for 8; mostly 6 or 7, and one of 20 times no more.
        self.assertGreaterEqual(row["bytes"]["referenced"], 40 * MIB)
        self.assertGreaterEqual(row["error"]["uncleared_bytes"], 40 * MIB)
        self.assertLess(least, 17 * MIB)  # what it reads
        self.assertIn("shared with the parent or a forked child of the process", said)
        with self.touching(256, 64) as (pid, _, _):
            row, = json.loads(wss("--json", "--sample", "1/32", pid, 0.5).stdout)["rows"]
        self.assertEqual(row["error"]["uncleared_bytes"], 0)

    def sampled_while(self, pid, happens):
        """A row of a sample in whose window something happens."""
        measuring = subprocess.Popen([BINARY, "wss", "--json", "--sample", "1/32", str(pid), "1.5"],
                                     stdout=subprocess.PIPE, text=True)
        time.sleep(0.7)
        happens()
        row, = json.loads(measuring.communicate(timeout=LIMIT_S)[0])["rows"]
        return row

    def test_what_a_sample_could_not_clear_is_reported(self):
        """Bits that are older than the window: a child had the pages when it began, they were moved, they are locked."""
        if "pte" not in list(self.backends()):
            return
        for way in ("child", "moved=120"):
            with self.subTest(way), self.touching(128, 4, way) as (pid, _, _):
                row = self.sampled_while(pid, lambda pid=pid: os.kill(pid, signal.SIGUSR1))
                self.assertGreater(row["error"]["uncleared_bytes"], 70 * MIB)
                self.assertLess(row["bytes"]["referenced"] - row["error"]["referenced_ci95"], 6 * MIB)
        with self.touching(256, 1, "locked=16") as (pid, _, _):
            row, = json.loads(wss("--json", "--sample", "1/32", pid, 0.2).stdout)["rows"]
            self.assertLess(row["error"]["uncleared_bytes"], 48 * MIB)  # 16 are
            self.assertLess(row["bytes"]["referenced"] - row["error"]["referenced_ci95"], 3 * MIB)
        # In the middle of all memory, where the full flush is tried: each part that counts is reported.
        with self.touching(256, 0, "cold=200", "locked=100") as (pid, address, _):
            row, = json.loads(wss("--json", "--by", "vma", "--sample", "1/32", pid, 0.2).stdout)["rows"]
            locked = max(group["bytes"]["referenced"] for group in row["groups"] if group["start"] > address)
            self.assertGreater(locked, 84 * MIB)
            self.assertEqual(row["error"]["uncleared_bytes"], locked)

    def test_what_is_looked_at_as_a_whole_is_known(self):
        """Shared memory is not sampled: a sample is wrong by no more than there is of the rest."""
        if "pte" not in list(self.backends()):
            return
        program = ("import mmap, time\n"
                   "m = mmap.mmap(-1, 256 << 20)\n"  # shared
                   "m[::4096] = b'1' * (len(m) >> 12)\n"
                   "print(flush=True)\n"
                   "while True: m[:64 << 20:4096]; time.sleep(0.1)")
        with running(["python3", "-c", program]) as process:
            process.stdout.readline()
            for rate in ("1/32", "1/512"):
                row, = json.loads(wss("--json", "--sample", rate, process.pid, 0.5).stdout)["rows"]
                self.assertGreaterEqual(row["bytes"]["referenced"], 63.5 * MIB)
                self.assertLess(row["error"]["referenced_ci95"], 16 * MIB)

    def test_all_windows_have_the_same_sample(self):
        """What was touched before the first window is cleared for it, and need not be for the next."""
        if "pte" not in list(self.backends()):
            return
        with self.touching(2048, 256) as (pid, _, _):
            rows = json.loads(wss("--json", "--sample", "1/128", "-s", 0, "-d", 2, pid, 0.2).stdout)["rows"]
        told = [row["bytes"]["referenced"] for row in rows[1:]]
        self.assertGreater(len(told), 3)
        self.assertLess(max(told) - min(told), 2 * MIB)

    def test_a_sample_clears_what_is_hidden(self):
        if "pte" not in list(self.backends()):
            return
        with self.touching(16, 4, "hidden=128") as (pid, _, _):
            for row in json.loads(wss("--json", "--sample", "1/32", "-s", 0, "-d", 0.5, pid, 0.1).stdout)["rows"]:
                self.assertEqual(row["error"]["uncleared_bytes"], 0)
                self.assertLess(row["bytes"]["referenced"], 64 * MIB)

    def test_a_sample_is_right_within_what_it_says(self):
        if "pte" not in list(self.backends()):
            return
        for way in ((), ("scattered",)):
            with self.subTest(way=way), self.touching(2048, 256, *way) as (pid, address, size):
                rows = json.loads(wss("--json", "--by", "vma", "--sample", "1/32", "-s", 0, "-d", 1.5, pid, 0.1)
                                  .stdout)["rows"]
                off = []
                for row in rows:
                    mine = next(group["bytes"] for group in row["groups"] if group.get("start") == address)
                    self.assertEqual(row["error"]["method"], "sample")
                    # All of it is there: but for its borders, which lie among other tables, so is each part.
                    self.assertAlmostEqual(mine["rss"], size, delta=16 * MIB)
                    off.append(abs(mine["referenced"] - 256 * MIB) / row["error"]["referenced_ci95"])
                self.assertLess(sorted(off)[len(off) // 2], 1)  # of 95 in 100 it holds; of the median surely
                self.assertLess(max(off), 3)

    def test_a_sample_includes_what_is_mapped_in_the_window(self):
        if "pte" not in list(self.backends()):
            return
        with self.touching(256, 16, "later=512") as (pid, _, _):
            with running([BINARY, "wss", "--jsonl", "--sample", "1/32", "-C", str(pid), "0.2"]) as measuring:
                row = json.loads(measuring.stdout.readline())
                self.assertLess(row["bytes"]["referenced"], 100 * MIB)
                os.kill(pid, signal.SIGUSR1)
                for _ in range(100):
                    before, row = row, json.loads(measuring.stdout.readline())
                    if before["bytes"]["rss"] > (256 + 512) * MIB:  # all of it is there
                        break
        self.assertLess(abs(row["bytes"]["referenced"] - 528 * MIB), 3 * row["error"]["referenced_ci95"] + 2 * MIB)

    def test_files_in_a_sample_are_exact_to_the_page(self):
        """A processor has all of a small file in its TLB: without a flush none of its bits would come back."""
        if "pte" not in list(self.backends()):
            return
        core = str(max(os.sched_getaffinity(0)))
        # With a child no page of the private memory is cleared, so none of that flushes.
        for sample, *way in (("1/32",), ("1/512",), ("1/32", "child")):
            with self.subTest(sample=sample, way=way), self.touching(2, 2, "file", "cold=512", *way) as (pid, address, _):
                subprocess.run(["taskset", "-cp", core, str(pid)], check=True, stdout=subprocess.DEVNULL)
                rows = json.loads(wss("--json", "--by", "vma", "--sample", sample, "-s", 0, "-d", 1, pid, 0.03)
                                  .stdout)["rows"]
                self.assertGreater(len(rows), 5)
                for row in rows:
                    mine = next(group["bytes"] for group in row["groups"] if group.get("start") == address)
                    # Less by a little where the kernel itself takes accessed bits away; without a flush it is a part.
                    self.assertGreaterEqual(mine["referenced"], 1.9 * MIB)

    def test_a_sample_splits_no_huge_page(self):
        if "pte" not in list(self.backends()):
            return
        with self.touching(1024, 64, "huge") as (pid, address, size):
            before, _ = self.touched(address, "--sample", "exact", pid, 0.1)
            if before["huge"] < size:
                self.skipTest("no huge pages were free for the program: free some memory")
            mine, _ = self.touched(address, "--sample", "1/128", pid, 0.1)
            after, _ = self.touched(address, "--sample", "exact", pid, 0.1)
            self.assertEqual(after["huge"], size)
            self.assertAlmostEqual(mine["huge"], size, delta=32 * MIB)  # at its borders

    def test_a_sample_of_locked_memory(self):
        """No sample is reported: all of it would count as touched."""
        if "pte" not in list(self.backends()):
            return
        with self.touching(64, 1, "locked=64") as (pid, _, _):
            done = wss("--sample", "1/32", pid, 0.05, check=False)
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn("has locked memory, which wss cannot sample", done.stderr)
            self.assertEqual(wss(pid, 0.05).returncode, 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
