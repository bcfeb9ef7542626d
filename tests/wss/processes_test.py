#!/usr/bin/env python3
"""Which processes `tidegauge wss` measures: several, threads, those that begin, end, or may not be looked at.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/wss/processes_test.py"""
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from wss_case import BINARY, HERE, LIMIT_S, MIB, WssCase, running, wss


def in_mounts(script):
    """Runs a shell as root in a mount namespace of its own."""
    return subprocess.run(["unshare", "--mount", "--propagation", "private", "sh", "-c", script], capture_output=True,
                          text=True, timeout=LIMIT_S, check=False)


class Processes(WssCase):
    def test_what_forks_share_is_counted_once(self):
        if "pte" not in list(self.backends()):
            return
        with self.forks() as pid:
            row, = json.loads(wss("--json", "--children", "--by", "kind", pid, 1).stdout)["rows"]
            lines = wss("--jsonl", "--children", "--rolling", 2, "-d", 2, pid, 0.5).stdout.splitlines()
            table = list(csv.DictReader(io.StringIO(wss("--csv", "--children", pid, 0.5).stdout)))
        self.assertEqual(len(row["processes"]), 3)
        added = sum(one["bytes"]["rss"] for one in row["processes"])
        self.assertGreater(added, 3 * 48 * MIB)
        self.assertLess(row["all"]["rss"], added - 2 * 48 * MIB + MIB)
        # The parent reads the first third, both children the second: two thirds, and each program's own few pages.
        for one in row["processes"]:
            self.assertAlmostEqual(one["bytes"]["referenced"] / MIB, 16, delta=2)
        self.assertAlmostEqual(row["all"]["referenced"] / MIB, 32, delta=2.5)
        # The same in a list, over windows, and as a table.
        kinds = {group["name"]: group["bytes"] for group in row["groups"]}
        self.assertAlmostEqual(kinds["anonymous"]["referenced"] / MIB, 32, delta=1)
        self.assertGreaterEqual(sum(one["rss"] for one in kinds.values()), row["all"]["rss"])
        self.assertGreater(len(lines), 2)
        for line in lines:
            rolling = json.loads(line)["rolling"]
            for within in rolling["within"]:
                self.assertAlmostEqual(within["bytes"] / MIB, 32, delta=2.5)
            self.assertGreater(rolling["never_bytes"], 16 * MIB)
        self.assertEqual([one["process"] for one in table], ["python3"] * 3 + [""])
        self.assertAlmostEqual(int(table[3]["referenced_bytes"]) / MIB, 32, delta=2.5)

    def test_a_thread_is_its_process(self):
        """Or two would measure one memory and take each other's marks away."""
        program = ("import threading, time\n"
                   "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
                   "print(flush=True); time.sleep(60)")
        with running(["python3", "-c", program]) as process:
            process.stdout.readline()
            thread = max(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
            self.assertNotEqual(thread, process.pid)
            self.assertIn(f"(process {process.pid})", wss(thread, 0.05).stdout)
            both = json.loads(wss("--json", thread, process.pid, 0.05).stdout)["rows"][-1]["processes"]
            self.assertEqual([one["pid"] for one in both], [process.pid])
            with running([BINARY, "wss", "--jsonl", "-s", "0", str(process.pid), "0.2"]) as first:
                first.stdout.readline()
                self.assertEqual(wss(thread, 0.05, check=False).returncode, 4)

    def test_two_at_once(self):
        """Each would take away the accessed bits that the other is to see."""
        with self.touching(32, 8) as (pid, _, _):
            with running([BINARY, "wss", "--jsonl", "-s", "0", str(pid), "0.3"]) as first:
                first.stdout.readline()
                one = wss(pid, 0.1, check=False)
                several = wss(pid, os.getpid(), 0.1, check=False)
            self.assertEqual(wss(pid, 0.1).returncode, 0)
        self.assertEqual(one.returncode, 4)
        self.assertIn(f"another tidegauge measures process {pid} (touch)", one.stderr)
        self.assertEqual(several.returncode, 3)
        self.assertIn(f"another tidegauge measures process {pid} (touch): left out", several.stderr)

    def leaderless(self):
        program = pathlib.Path(self.folder.name, "leaderless")
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", program, HERE / "leaderless.c"],
                       check=True)
        return program

    def test_threads_that_end_in_the_window(self):
        """The first one, and then the one that was used in its place: the process continues, and so does this."""
        program = self.leaderless()
        for backend in self.backends():
            with self.subTest(backend=backend):
                process = subprocess.Popen([program, "later"], stdout=subprocess.PIPE, text=True)
                address = int(process.stdout.readline().split()[0], 16)
                measuring = subprocess.Popen([BINARY, "wss", "--jsonl", "--by", "vma", "--backend", backend, "-s", "0",
                                              str(process.pid), "0.1"], stdout=subprocess.PIPE, text=True)
                try:
                    for step in range(8):
                        row = json.loads(measuring.stdout.readline())
                        mine, = (group["bytes"] for group in row["groups"] if group.get("start") == address)
                        self.assertAlmostEqual(mine["referenced"] / MIB, 8, delta=0.1)
                        if step == 1:
                            process.send_signal(signal.SIGUSR1)
                    self.assertEqual(len(os.listdir(f"/proc/{process.pid}/task")), 2)  # a zombie, and who touches
                finally:
                    for one in (measuring, process):
                        one.kill()
                        one.wait()
                        one.stdout.close()

    def test_a_program_without_its_first_thread(self):
        with running([self.leaderless()]) as process:
            address = int(process.stdout.readline().split()[0], 16)
            for backend in self.backends():
                with self.subTest(backend):
                    mine, _ = self.touched(address, "--backend", backend, process.pid, 0.1)
                    self.assertEqual(mine["rss"], 16 * MIB)
                    self.assertAlmostEqual(mine["referenced"] / MIB, 8, delta=0.1)
                if backend == "pte":
                    done = wss("--sample", "1/32", process.pid, 0.05, check=False)
                    self.assertEqual(done.returncode, 4)
                    self.assertIn("its first thread has ended. Use --sample exact", done.stderr)
            row, = json.loads(wss("--json", "--comm", "leaderless", 0.1).stdout)["rows"]
            self.assertEqual([one["pid"] for one in row["processes"]], [process.pid])

    def test_skipped_processes_are_reported(self):
        gone = 2 ** 22
        with self.touching(16, 16) as (pid, _, _):
            done = wss("--json", pid, gone, 0.05, check=False)
            lines = wss("--jsonl", "-s", 0, "-d", 0.1, pid, gone, 0.05, check=False).stdout.splitlines()
            whole = json.loads(wss("--json", "--children", pid, 0.05).stdout)
        self.assertEqual(done.returncode, 3)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertIn(f"no process {gone}: left out", done.stderr)
        for one in (json.loads(done.stdout), *map(json.loads, lines)):
            self.assertEqual([left["pid"] for left in one["left_out"]], [gone])
            self.assertIn("there is no process", one["left_out"][0]["why"])
        self.assertEqual(whole["left_out"], [])

    def test_who_begins_later_is_taken_in(self):
        program = "sleep 100 & echo ready; read it; sleep 101 & wait"
        with running(["sh", "-c", program]) as parent:
            self.assertEqual(parent.stdout.readline(), "ready\n")
            measuring = subprocess.Popen([BINARY, "wss", "--jsonl", "--children", "-s", "0", str(parent.pid), "0.05"],
                                         stdout=subprocess.PIPE, text=True)
            first = json.loads(measuring.stdout.readline())
            parent.stdin.write("\n")
            parent.stdin.flush()
            for line in measuring.stdout:
                row = json.loads(line)
                if row["began"]:
                    break
            measuring.send_signal(signal.SIGINT)
            measuring.communicate(timeout=LIMIT_S)
        self.assertEqual((len(first["processes"]), first["began"]), (2, []))
        self.assertEqual((len(row["processes"]), len(row["began"])), (3, 1))
        self.assertIn(row["began"][0], [one["pid"] for one in row["processes"]])

    def test_who_begins_in_the_window_is_named(self):
        """A window of -C is of those who were there: no word of the others would be a wrong answer."""
        with running(["sh", "-c", "read it; sleep 100 & echo begun; wait"]) as parent:
            measuring = subprocess.Popen([BINARY, "wss", "--json", "--children", "-C", "-d", "1", str(parent.pid), "0.5"],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(0.2)
            parent.stdin.write("\n")
            parent.stdin.flush()
            self.assertEqual(parent.stdout.readline(), "begun\n")
            said, _ = measuring.communicate(timeout=LIMIT_S)
            child = int(pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text())
        answer = json.loads(said)
        self.assertEqual(answer["began_unmeasured"], [child])
        self.assertEqual([row["began"] for row in answer["rows"]], [[]] * len(answer["rows"]))

    def test_of_several_each_mapping_is_of_its_process(self):
        if "pte" not in list(self.backends()):
            return
        with self.touching(64, 16) as (one, start, _), self.touching(32, 8) as (other, at, _):
            said = wss("--json", "--by", "vma", one, other, 0.1).stdout
            words = wss(one, other, 0.1).stdout
            dry = wss("--dry-run", one, other, 0.1).stdout
        found = {(group["pid"], group["start"]): group["bytes"] for group in json.loads(said)["rows"][0]["groups"]
                 if "start" in group}
        for pid, address, rss, hot in ((one, start, 64, 16), (other, at, 32, 8)):
            mine = found[int(pid), address]
            self.assertEqual(mine["rss"], rss * MIB)
            self.assertLessEqual(mine["referenced"], hot * MIB)
            # Less by a few pages where the kernel itself takes accessed bits away (DAMON, aging): truth_test.py.
            self.assertGreaterEqual(mine["referenced"], (hot - 0.1) * MIB)
        self.assertIn(" touched in 0.1", words)
        self.assertIn("wss would measure 2 processes", dry)
        self.assertIn("Nothing was measured", dry)

    def test_a_stopped_process_is_not_called_idle(self):
        with self.touching(48, 8) as (pid, _, _):
            os.kill(pid, signal.SIGSTOP)
            said = subprocess.run([BINARY, "wss", str(pid), "0.05"], capture_output=True, text=True, timeout=LIMIT_S,
                                  check=True).stdout
            os.kill(pid, signal.SIGCONT)
        self.assertIn("the process is stopped", said)

    def test_a_process_that_does_nothing(self):
        with running(["sleep", "100"]) as process:
            rows = list(csv.DictReader(io.StringIO(wss("--csv", process.pid, 0.05).stdout)))
            self.assertEqual(len(rows), 1)
            self.assertGreater(int(rows[0]["rss_bytes"]), 0)
            self.assertLessEqual(int(rows[0]["referenced_bytes"]), int(rows[0]["rss_bytes"]))

    def test_a_process_that_ends_in_the_window(self):
        process = subprocess.Popen(["sleep", "0.3"])
        try:
            done = wss(process.pid, 1, check=False)
        finally:
            process.wait()
        self.assertEqual(done.returncode, 3)
        self.assertIn("ended during the measurement", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertNotIn("0.00", done.stdout)  # no row of zeros

    def ended(self, way, processes, *words):
        """The documents about processes that all end after some windows."""
        sleeping = [subprocess.Popen(["sleep", "0.6"]) for _ in range(processes)]
        try:
            done = wss(way, *words, "-s", 0, *(process.pid for process in sleeping), 0.1, check=False)
        finally:
            for process in sleeping:
                process.wait()
        self.assertEqual(done.returncode, 3)
        return [json.loads(line) for line in done.stdout.splitlines()] if way == "--jsonl" else json.loads(done.stdout)

    def test_why_it_ended_is_in_json(self):
        for processes, words in ((1, ()), (2, ()), (1, ("--backend", "pressure"))):
            with self.subTest(processes=processes, words=words):
                told = self.ended("--json", processes, *words)
                self.assertIn("ended during the measurement", told["ended"])
                self.assertGreater(len(told["rows"]), 0)
                lines = self.ended("--jsonl", processes, *words)
                self.assertIn("ended during the measurement", lines[-1]["ended"])
                self.assertFalse(any("ended" in line for line in lines[:-1]))
        with running(["sleep", "100"]) as process:
            self.assertIsNone(json.loads(wss("--json", process.pid, 0.05).stdout)["ended"])

    def test_one_that_begins_another_program(self):
        with running(["sh", "-c", "sleep 0.3; exec sleep 100"]) as process:
            done = wss(process.pid, 1, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("started another program (exec)", done.stderr)

    def test_another_users_process(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to be somebody else")
        with running(["sleep", "100"]) as process:
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", BINARY, "wss",
                                   str(process.pid), "0.1"], capture_output=True, text=True, check=False)
        if "execvp" in done.stderr or "failed to execute" in done.stderr:
            self.skipTest("the program lies where other users may not go: put it elsewhere")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("this user may not read process", done.stderr)

    def test_a_pid_namespace_of_its_own(self):
        """The kernel knows it by another number: page tables are not found, and auto does without them."""
        if "pte" not in list(self.backends()):
            return
        inside = ["unshare", "--pid", "--fork", "--mount-proc", BINARY, "wss"]
        done = subprocess.run([*inside, "--backend", "pte", "1", "0.001"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertIn("PID namespace", done.stderr)
        done = subprocess.run([*inside, "--json", "1", "0.001"], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        self.assertEqual(json.loads(done.stdout)["backend"], "smaps")

    def test_what_proc_does_not_show(self):
        """hidepid of each kind, for processes of other users; and no /proc at all."""
        pid = os.getpid()
        nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups"
        for hide in (1, 2):
            with self.subTest(hidepid=hide):
                mount = f"mount -t proc -o hidepid={hide} proc /proc"
                done = in_mounts(f"{mount}; {nobody} '{BINARY}' wss {pid} 0.01")
                self.assertEqual(done.returncode, 3, done.stderr)
                self.assertIn(f"process {pid} exists, but /proc hides it from this user (mount option hidepid). "
                              "Run with sudo.", done.stderr)
                done = in_mounts(f"{mount}; {nobody} '{BINARY}' wss --comm {os.path.basename(sys.executable)} 0.01")
                self.assertIn("is visible: /proc hides the processes of other users", done.stderr)
                done = in_mounts(f"{mount}; {nobody} '{BINARY}' wss {2 ** 22} 0.01")
                self.assertIn("there is no process", done.stderr)
                done = in_mounts(f"{mount}; '{BINARY}' wss --json {pid} 0.01")  # root sees it
                self.assertEqual(done.returncode, 0, done.stderr)
        done = in_mounts(f"while umount /proc 2>/dev/null; do :; done; '{BINARY}' wss {pid} 0.01")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("/proc is not mounted", done.stderr)

    def test_memory_that_is_mapped_more_than_once(self):
        """Three mappings of 64 MiB, of which 20 are touched, in a parent and in its child."""
        program = pathlib.Path(self.folder.name, "repeats")
        subprocess.run(["gcc", "-O1", "-Wall", "-Werror", "-o", program, HERE / "repeats.c"], check=True)
        near = 3 * MIB  # libraries, stacks
        backends = list(self.backends())
        with running([program, "3", "64", "20"]) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            for backend in backends:
                with self.subTest(backend=backend):
                    row = json.loads(wss("--json", "--backend", backend, process.pid, 1).stdout)["rows"][-1]
                    self.assertGreaterEqual(row["bytes"]["rss"], 192 * MIB)
                    self.assertGreaterEqual(row["bytes"]["referenced"], 60 * MIB)
                    self.assertEqual(row["error"]["repeated_bytes"], 128 * MIB)
                    text = " ".join(wss("--backend", backend, process.pid, 1).stdout.split())
                    if backend == "pte":
                        self.assertAlmostEqual(row["once"]["rss"], 64 * MIB, delta=near)
                        self.assertAlmostEqual(row["once"]["referenced"], 20 * MIB, delta=near)
                        self.assertRegex(text, r"Counted once, RSS is 6[4-6]\.\d MiB and Ref 2[0-2]\.\d MiB\.")
                        self.assertRegex(text, r" 2[0-2]\.\d MiB were touched in ")
                    else:
                        self.assertIsNone(row["once"])
                        self.assertIn("Up to 128 MiB are mapped more than once, and counted each time, but in PSS.", text)
                        self.assertRegex(text, r"At most 6\d\.\d MiB were touched in ")
                        self.assertNotIn("more than L2", text)
            if "pte" not in backends:
                return
            file = pathlib.Path(self.folder.name, "repeats.jsonl")
            both = json.loads(wss("--json", "--children", process.pid, 1).stdout)["rows"][-1]
            wss("-o", file, process.pid, 1)
        self.assertEqual(len(both["processes"]), 2)
        self.assertAlmostEqual(both["all"]["rss"], 64 * MIB, delta=near)
        self.assertAlmostEqual(both["all"]["referenced"], 20 * MIB, delta=near)
        self.assertLessEqual(both["all"]["referenced"], both["all"]["rss"])
        self.assertRegex(" ".join(wss(file).stdout.split()), r"Counted once, RSS is 6[4-6]\.\d MiB")

    def test_no_such_process_and_none_to_measure(self):
        done = wss(2 ** 22, 1, check=False)  # above the last that there can be
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("there is no process", done.stderr)
        for words in (("0", "1"), ("-1", "1"), ("x", "1"), (str(2 ** 31 - 1), "1"), ("1", "0"), ("1", "nan"), ("1", "-1"), ("1",), ()):
            with self.subTest(words):
                self.assertEqual(wss(*words, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
