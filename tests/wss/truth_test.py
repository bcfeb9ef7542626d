#!/usr/bin/env python3
"""`tidegauge wss` beside programs whose working set is known, page by page.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/wss/truth_test.py"""
import contextlib
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")).resolve()
LIMIT_S = 120
MIB = 2 ** 20
BY_NAME_ALONE = {"idle": "CONFIG_IDLE_PAGE_TRACKING|root",
                 "mglru": "CONFIG_LRU_GEN|switched off|debugfs|root",
                 "damon": "CONFIG_DAMON_SYSFS|CONFIG_DAMON_VADDR|DAMON is in use|root",
                 "write": "CONFIG_MEM_SOFT_DIRTY"}


def wss(*words, check=True):
    done = subprocess.run([BINARY, "wss", *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"wss {words}: {done.returncode}: {done.stderr}")
    return done


class Truth(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.touch = pathlib.Path(cls.folder.name, "touch")
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", cls.touch, HERE / "touch.c"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @contextlib.contextmanager
    def touching(self, *words):
        process = subprocess.Popen([self.touch, *map(str, words)], stdout=subprocess.PIPE, text=True)
        try:
            address, size = process.stdout.readline().split()
            yield process.pid, int(address, 16), int(size)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def backends(self):
        """Those that work here; why not else."""
        yield "smaps"
        with self.subTest(backend="pte"):
            done = wss("--backend", "pte", os.getpid(), 0.001, check=False)
            if done.returncode == 4:
                self.skipTest(done.stderr.strip())
            yield "pte"

    def touched(self, address, *words):
        """Of the mapping at `address`, and of all."""
        row = json.loads(wss("--json", "--by", "vma", *words).stdout)["rows"][-1]
        mine = [group for group in row["groups"] if group.get("start") == address]
        self.assertEqual(len(mine), 1, row["groups"])
        return mine[0]["bytes"], row

    def test_what_is_touched_is_told(self):
        """To 0.5 % or 0.1 MiB, and mostly to the page: also of small sets, which stay in the TLB of a busy core."""
        ways = [(rss, hot, seconds, way) for rss, hot, seconds in ((64, 1, 0.05), (64, 4, 0.05), (256, 16, 0.1),
                                                                   (256, 100, 0.5))
                for way in ((), ("scattered",), ("read",)) if not way or rss % hot == 0]  # pages lie evenly
        for backend in self.backends():
            for rss, hot, seconds, way in ways:
                with self.subTest(backend=backend, hot=hot, way=way), self.touching(rss, hot, *way) as (pid, start, _):
                    mine, row = self.touched(start, "--backend", backend, pid, seconds)
                    # Never more; less by a few pages where the kernel itself takes accessed bits away (DAMON, aging).
                    self.assertLessEqual(mine["referenced"], hot * MIB)
                    self.assertGreaterEqual(mine["referenced"], hot * MIB - max(0.005 * hot, 0.1) * MIB)
                    self.assertEqual(mine["rss"], rss * MIB)
                    self.assertGreaterEqual(row["bytes"]["referenced"], mine["referenced"])

    def test_reserved_addresses_cost_nothing(self):
        """A program that has 16 TiB of addresses and 64 MiB of memory in them, as sanitizers and CUDA have."""
        for backend in self.backends():
            with self.subTest(backend=backend), self.touching(64, 16, "reserved") as (pid, start, _):
                mine, row = self.touched(start, "--backend", backend, pid, 0.05)
                self.assertEqual(mine["rss"], 64 * MIB)
                self.assertLessEqual(mine["referenced"], 16 * MIB)  # less: as above
                self.assertGreaterEqual(mine["referenced"], 15.9 * MIB)
                self.assertLess(row["bytes"]["rss"], 70 * MIB)

    def test_rolling_remembers_each_page(self):
        if "pte" not in list(self.backends()):
            return
        with self.touching(64, 16) as (pid, start, size):
            lines = wss("--jsonl", "--heat", "--rolling", 4, "-d", 0.6, pid, 0.1).stdout.splitlines()
        rows = [json.loads(line) for line in lines]
        self.assertGreater(len(rows), 3)
        for i, row in enumerate(rows):
            within = [one["bytes"] for one in row["rolling"]["within"]]
            self.assertEqual(within, sorted(within))
            self.assertEqual(within[0], row["bytes"]["referenced"])
            # All of it in every window: so within four windows too, but for the program's own few pages.
            self.assertAlmostEqual(within[2] / MIB, 16, delta=0.5)
            self.assertGreater(within[2] + row["rolling"]["never_bytes"], row["bytes"]["rss"] - MIB)
            again = sum(one["bytes"] for one in row["rolling"]["again"])
            self.assertEqual(again + row["rolling"]["first_bytes"], within[0])
            if i > 0:
                self.assertAlmostEqual(row["rolling"]["again"][0]["bytes"] / MIB, 16, delta=0.2)
            mine = [cell for cell in row["rolling"]["cells"] if start <= cell[0] < start + size]
            self.assertEqual(sum(pages for _, pages, _ in mine), size // 4096)
            self.assertAlmostEqual(sum(touched for _, _, touched in mine) / 256, 16, delta=0.1)
            self.assertEqual([touched for address, _, touched in mine if address >= start + 16 * MIB],
                             [0] * (48 * 16))

    def test_a_file_is_told_again_as_it_was_printed(self):
        for backend in self.backends():
            kept = pathlib.Path(self.folder.name, f"{backend}.jsonl")
            with self.subTest(backend), self.touching(64, 16) as (pid, _, _):
                printed = wss("--backend", backend, "-P", 3, "-o", kept, pid, 0.02).stdout
                self.assertEqual(wss("-o", kept, pid, 0.02, check=False).returncode, 2)  # it is there already
                told = wss(kept).stdout
                rows = [line for line in printed.splitlines() if line[:1].isdigit()]
                self.assertEqual(len(rows), 3)
                self.assertEqual([line for line in told.splitlines() if line in rows], rows)
                self.assertIn(printed.splitlines()[-1], told)  # where little is added
                kept.write_text(kept.read_text().replace('"rss":', '"rss":-', 1))
                done = wss(kept, check=False)
                self.assertEqual(done.returncode, 3)
                self.assertIn('line 2: "rss" is not from 0', done.stderr)

    def test_pressure_is_of_the_time_since_the_row_before(self):
        with self.touching(16, 4) as (pid, _, _):
            for course in (("-C",), ("-s", "0.2")):
                rows = json.loads(wss("--json", *course, "-d", 1.2, pid, 0.1).stdout)["rows"]
                self.assertGreater(len(rows), 2)
                for before, row in zip(rows, rows[1:]):
                    self.assertAlmostEqual(row["pressure"]["window_s"], row["time"] - before["time"], delta=0.05)

    def test_a_file_of_writes_tells_writes(self):
        kept = pathlib.Path(self.folder.name, "writes.jsonl")
        with self.touching(64, 16) as (pid, _, _):
            done = wss("--writes", "-o", kept, pid, 0.1, check=False)
        if done.returncode == 4:
            self.assertRegex(done.stderr, BY_NAME_ALONE["write"])
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        told = wss(kept).stdout
        self.assertTrue(told.startswith("Written by touch"), told)
        row = [line for line in done.stdout.splitlines() if line[:1].isdigit()][0]
        self.assertIn(row, told)
        self.assertIn("are written once after", " ".join(told.split()))

    def test_what_is_no_file_of_it_is_named(self):
        pipe = pathlib.Path(self.folder.name, "pipe")
        os.mkfifo(pipe)
        other = pathlib.Path(self.folder.name, "other.txt")
        other.write_text("hello\n")
        for path, words in ((pipe, "a folder, a pipe or a device"), (self.folder.name, "a folder, a pipe or a device"),
                            ("/dev/zero", "a folder, a pipe or a device"), (other, "line 1: no head of a measurement")):
            done = wss(path, check=False)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertIn(str(path), done.stderr)

    def test_what_does_not_go_with_a_file(self):
        with tempfile.TemporaryDirectory() as folder, self.touching(16, 4) as (pid, _, _):
            path = pathlib.Path(folder, "kept.jsonl")
            wss("-o", path, pid, 0.05)
            for words in (("--by", "kind"), ("--plot", pathlib.Path(folder, "x.svg")), ("--heat",), ("-C",), ("-s", 1),
                          ("--backend", "smaps"), ("--rolling", 4), ("--writes",), ("-d", 3), ("--spots", 9)):
                with self.subTest(words=words):
                    done = wss(path, *words, check=False)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("has no part in that", done.stderr)
                    self.assertIn(str(words[0]) if words[0].startswith("--") else "-", done.stderr)
            self.assertEqual(os.listdir(folder), ["kept.jsonl"])
            self.assertIn("Touched by touch", wss(path, "--top", 3).stdout)

    def test_other_commands_say_whose_file_it_is(self):
        with tempfile.TemporaryDirectory() as folder, self.touching(16, 4) as (pid, _, _):
            path = pathlib.Path(folder, "kept.jsonl")
            wss("-o", path, pid, 0.05)
            for command in ("report", "frag"):
                run = subprocess.run([BINARY, command, path], capture_output=True, text=True, timeout=LIMIT_S, check=False)
                self.assertEqual(run.returncode, 3)
                self.assertIn("a working set that wss -o kept", run.stderr)
            run = subprocess.run([BINARY, "wss", pathlib.Path(folder, "nothing.jsonl")], capture_output=True, text=True,
                                 timeout=LIMIT_S, check=False)
            self.assertEqual(run.returncode, 2)
            self.assertIn("neither a file nor a process with a time", run.stderr)

    def test_a_rolling_file_has_the_heat(self):
        if "pte" not in list(self.backends()):
            return
        kept = pathlib.Path(self.folder.name, "rolling.jsonl")
        with self.touching(64, 16) as (pid, _, _):
            printed = wss("--heat", "--rolling", 4, "-d", 0.6, "-o", kept, pid, 0.1).stdout
        told = wss(kept).stdout
        self.assertIn("A row is", told)
        reuse = [line for line in printed.splitlines() if "for the first time" in line]
        self.assertEqual([line for line in told.splitlines() if "for the first time" in line], reuse)
        self.assertIn("here are 0", " ".join(told.split()))  # no window of a minute

    @contextlib.contextmanager
    def forks(self):
        """Three that share 48 MiB: one reads the first 16 of them, two the second 16."""
        program = ("import mmap, os, time\n"
                   "memory = mmap.mmap(-1, 48 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                   "memory.write(b'x' * (48 << 20))\n"
                   "is_child = os.fork() == 0 or os.fork() == 0\n"
                   "if not is_child: print('ready', flush=True)\n"
                   "begin, n = (16 << 20 if is_child else 0), 0\n"
                   "while os.getppid() != 1:\n"
                   "    for at in range(begin, begin + (16 << 20), 4096): n += memory[at]\n"
                   "    time.sleep(0.001)\n")
        process = subprocess.Popen(["python3", "-c", program], stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(process.stdout.readline(), "ready\n")
            yield process.pid
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

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

    def test_a_sample_says_what_a_fork_keeps_it_from_knowing(self):
        """A page that two processes map cannot be cleared by MADV_COLD: all of it counts, and the bound says so."""
        if "pte" not in list(self.backends()):
            return
        with self.forks() as pid:
            row, = json.loads(wss("--json", "--sample", "1/32", pid, 0.5).stdout)["rows"]
            said = " ".join(wss("--sample", "1/32", pid, 0.5).stdout.split())
        least = row["bytes"]["referenced"] - row["error"]["referenced_ci95"]
        self.assertGreater(row["bytes"]["referenced"], 40 * MIB)
        self.assertGreater(row["error"]["uncleared_bytes"], 40 * MIB)
        self.assertLess(least, 17 * MIB)  # what it reads
        self.assertIn("shared with a process that it forked or was forked from", said)
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

    def test_what_a_sample_could_not_clear_is_told(self):
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

    def test_a_sample_clears_what_is_hidden(self):
        if "pte" not in list(self.backends()):
            return
        with self.touching(16, 4, "hidden=128") as (pid, _, _):
            for row in json.loads(wss("--json", "--sample", "1/32", "-s", 0, "-d", 0.5, pid, 0.1).stdout)["rows"]:
                self.assertEqual(row["error"]["uncleared_bytes"], 0)
                self.assertLess(row["bytes"]["referenced"], 64 * MIB)

    def test_a_thread_is_its_process(self):
        """Or two would measure one memory and take each other's marks away."""
        program = ("import threading, time\n"
                   "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
                   "print(flush=True); time.sleep(60)")
        process = subprocess.Popen(["python3", "-c", program], stdout=subprocess.PIPE, text=True)
        try:
            process.stdout.readline()
            thread = max(int(name) for name in os.listdir(f"/proc/{process.pid}/task"))
            self.assertNotEqual(thread, process.pid)
            self.assertIn(f"(process {process.pid})", wss(thread, 0.05).stdout)
            both = json.loads(wss("--json", thread, process.pid, 0.05).stdout)["rows"][-1]["processes"]
            self.assertEqual([one["pid"] for one in both], [process.pid])
            first = subprocess.Popen([BINARY, "wss", "--jsonl", "-s", "0", str(process.pid), "0.2"],
                                     stdout=subprocess.PIPE, text=True)
            try:
                first.stdout.readline()
                self.assertEqual(wss(thread, 0.05, check=False).returncode, 4)
            finally:
                first.kill()
                first.wait()
                first.stdout.close()
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def test_two_at_once(self):
        """Each would take away the accessed bits that the other is to see."""
        with self.touching(32, 8) as (pid, _, _):
            first = subprocess.Popen([BINARY, "wss", "--jsonl", "-s", "0", str(pid), "0.3"], stdout=subprocess.PIPE,
                                     text=True)
            try:
                first.stdout.readline()
                one = wss(pid, 0.1, check=False)
                several = wss(pid, os.getpid(), 0.1, check=False)
            finally:
                first.kill()
                first.wait()
                first.stdout.close()
            self.assertEqual(wss(pid, 0.1).returncode, 0)
        self.assertEqual(one.returncode, 4)
        self.assertIn(f"process {pid} (touch) is being measured by another tidegauge", one.stderr)
        self.assertEqual(several.returncode, 3)
        self.assertIn("being measured by another tidegauge: left out", several.stderr)

    def test_a_time_that_may_be_a_process(self):
        with self.touching(16, 4) as (pid, _, _):
            asked = subprocess.run(["timeout", "-s", "INT", "1", BINARY, "wss", str(pid), str(pid)], capture_output=True,
                                   text=True, check=False)
        self.assertEqual("the last word is the time" in asked.stderr, pid >= 300)

    def leaderless(self):
        program = pathlib.Path(self.folder.name, "leaderless")
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", program, HERE / "leaderless.c"],
                       check=True)
        return program

    def test_threads_that_end_in_the_window(self):
        """The first one, and then the one that was asked in its place: the process goes on, and so does this."""
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
        process = subprocess.Popen([self.leaderless()], stdout=subprocess.PIPE, text=True)
        try:
            address = int(process.stdout.readline().split()[0], 16)
            for backend in self.backends():
                with self.subTest(backend):
                    mine, _ = self.touched(address, "--backend", backend, process.pid, 0.1)
                    self.assertEqual(mine["rss"], 16 * MIB)
                    self.assertAlmostEqual(mine["referenced"] / MIB, 8, delta=0.1)
                if backend == "pte":
                    done = wss("--sample", "1/32", process.pid, 0.05, check=False)
                    self.assertEqual(done.returncode, 4)
                    self.assertIn("its first thread has ended. Take --sample exact", done.stderr)
            row, = json.loads(wss("--json", "--comm", "leaderless", 0.1).stdout)["rows"]
            self.assertEqual([one["pid"] for one in row["processes"]], [process.pid])
        finally:
            process.kill()
            process.wait()
            process.stdout.close()

    def test_who_is_left_out_is_told(self):
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
        parent = subprocess.Popen(["sh", "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
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
        finally:
            for one in pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split():
                os.kill(int(one), signal.SIGKILL)
            parent.kill()
            parent.wait()
            parent.stdin.close()
            parent.stdout.close()
        self.assertEqual((len(first["processes"]), first["began"]), (2, []))
        self.assertEqual((len(row["processes"]), len(row["began"])), (3, 1))
        self.assertIn(row["began"][0], [one["pid"] for one in row["processes"]])

    def test_who_begins_in_the_window_is_named(self):
        """A window of -C is of those who were there: no word of the others would be a wrong answer."""
        parent = subprocess.Popen(["sh", "-c", "read it; sleep 100 & echo begun; wait"], stdin=subprocess.PIPE,
                                  stdout=subprocess.PIPE, text=True)
        try:
            measuring = subprocess.Popen([BINARY, "wss", "--json", "--children", "-C", "-d", "1", str(parent.pid), "0.5"],
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(0.2)
            parent.stdin.write("\n")
            parent.stdin.flush()
            self.assertEqual(parent.stdout.readline(), "begun\n")
            said, _ = measuring.communicate(timeout=LIMIT_S)
            child = int(pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text())
        finally:
            for one in pathlib.Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split():
                os.kill(int(one), signal.SIGKILL)
            parent.kill()
            parent.wait()
            parent.stdin.close()
            parent.stdout.close()
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
        self.assertEqual(found[int(one), start], {"rss": 64 * MIB, "referenced": 16 * MIB})
        self.assertEqual(found[int(other), at], {"rss": 32 * MIB, "referenced": 8 * MIB})
        self.assertIn(" touched in 0.1", words)
        self.assertIn("Would look at 2 processes", dry)
        self.assertIn("Nothing was measured", dry)

    def test_a_stopped_process_is_not_called_idle(self):
        with self.touching(48, 8) as (pid, _, _):
            os.kill(pid, signal.SIGSTOP)
            said = subprocess.run([BINARY, "wss", str(pid), "0.05"], capture_output=True, text=True, timeout=LIMIT_S,
                                  check=True).stdout
            os.kill(pid, signal.SIGCONT)
        self.assertIn("it is stopped", said)

    def test_both_see_the_same(self):
        """The page tables, read as they are, beside what the kernel adds up of them, mapping by mapping."""
        if "pte" not in list(self.backends()):
            return
        with self.touching(48, 8) as (pid, _, _):
            os.kill(pid, signal.SIGSTOP)
            rows = [json.loads(wss("--json", "--by", "vma", "--backend", backend, pid, 0.001).stdout)["rows"][0]
                    for backend in ("pte", "smaps")]
        one, other = ({group["start"]: group for group in row["groups"]} for row in rows)
        self.assertEqual(set(one), set(other) - {0xffffffffff600000})  # the kernel's own page, in no table of its
        for start, group in one.items():
            with self.subTest(start=hex(start), name=group["name"]):
                for name in ("rss", "huge", "swap", "hugetlb"):
                    self.assertEqual(group["bytes"][name], other[start]["bytes"][name])
                self.assertLessEqual(group["bytes"]["referenced"], other[start]["bytes"]["referenced"])

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

    def test_a_sample_tells_what_is_mapped_in_the_window(self):
        if "pte" not in list(self.backends()):
            return
        with self.touching(256, 16, "later=512") as (pid, _, _):
            measuring = subprocess.Popen([BINARY, "wss", "--jsonl", "--sample", "1/32", "-C", str(pid), "0.2"],
                                         stdout=subprocess.PIPE, text=True)
            try:
                row = json.loads(measuring.stdout.readline())
                self.assertLess(row["bytes"]["referenced"], 100 * MIB)
                os.kill(pid, signal.SIGUSR1)
                for _ in range(100):
                    before, row = row, json.loads(measuring.stdout.readline())
                    if before["bytes"]["rss"] > (256 + 512) * MIB:  # all of it is there
                        break
            finally:
                measuring.kill()
                measuring.wait()
                measuring.stdout.close()
        self.assertLess(abs(row["bytes"]["referenced"] - 528 * MIB), 3 * row["error"]["referenced_ci95"] + 2 * MIB)

    def test_of_a_sample_files_are_told_to_the_page(self):
        """A processor has all of a small file in its TLB: without a flush none of its bits would come back."""
        if "pte" not in list(self.backends()):
            return
        core = str(max(os.sched_getaffinity(0)))
        for sample in ("1/32", "1/512"):
            with self.subTest(sample=sample), self.touching(2, 2, "file", "cold=512") as (pid, address, _):
                subprocess.run(["taskset", "-cp", core, str(pid)], check=True, stdout=subprocess.DEVNULL)
                rows = json.loads(wss("--json", "--by", "vma", "--sample", sample, "-s", 0, "-d", 1, pid, 0.03)
                                  .stdout)["rows"]
                self.assertGreater(len(rows), 5)
                for row in rows:
                    mine = next(group["bytes"] for group in row["groups"] if group.get("start") == address)
                    # Less by a little where the kernel itself takes accessed bits away; without a flush it is a part.
                    self.assertGreaterEqual(mine["referenced"], 1.9 * MIB)

    def test_a_mapping_that_is_split_is_not_told_twice(self):
        for backend in self.backends():
            with self.subTest(backend=backend):
                measuring, rows = None, []
                with self.touching(64, 32, "split", "rate=500") as (pid, address, size):
                    measuring = subprocess.Popen(
                        [BINARY, "wss", "--jsonl", "--by", "vma", "--backend", backend, "-C", str(pid), "0.2"],
                        stdout=subprocess.PIPE, text=True)
                    try:
                        for step in range(6):
                            rows.append(json.loads(measuring.stdout.readline()))
                            if step == 2:
                                os.kill(pid, signal.SIGUSR1)
                    finally:
                        measuring.kill()
                        measuring.wait()
                        measuring.stdout.close()
                told = [sum(group["bytes"]["referenced"] for group in row["groups"]
                            if address <= group.get("start", 0) < address + size) for row in rows]
                self.assertLessEqual(max(told), 32 * MIB)
                self.assertGreaterEqual(told[-1], 32 * MIB)

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

    def test_huge_pages_count_as_a_whole(self):
        state = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
        if not state.exists() or "[never]" in state.read_text():
            self.skipTest("this kernel gives no transparent huge pages: set transparent_hugepage/enabled to madvise")
        for backend in self.backends():
            with self.subTest(backend), self.touching(64, 2, "scattered", "huge") as (pid, address, size):
                mine, _ = self.touched(address, "--backend", backend, pid, 0.1)
                if mine["huge"] < size:
                    self.skipTest("no huge pages were free for the program: free some memory")
                self.assertLessEqual(mine["referenced"], size)
                self.assertGreaterEqual(mine["referenced"], size - 2 * MIB)  # one page that the kernel aged just then
                text = wss("--backend", backend, pid, 0.1).stdout
                self.assertIn("64.0 MiB is in huge pages, which count as a whole", text)

    def test_the_sums_are_those_of_the_kernel(self):
        with self.touching(32, 8) as (pid, _, _):
            rows = json.loads(wss("--json", "--by", "kind", "--backend", "smaps", "-P", 3, pid, 0.02).stdout)["rows"]
            rollup = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text()
                          .splitlines() if ":" in line and "kB" in line)
            self.assertEqual(rows[-1]["bytes"]["rss"], int(rollup["Rss"].split()[0]) * 1024)
        self.assertEqual(len(rows), 3)
        for row in rows:
            for name, value in row["bytes"].items():
                self.assertEqual(sum(group["bytes"][name] for group in row["groups"]), value)
            window = row["window_s"]
            self.assertLessEqual(window["least"], window["mean"])
            self.assertLessEqual(window["mean"], window["most"])
        means = [row["window_s"]["mean"] for row in rows]
        self.assertEqual(means, sorted(means))

    def test_a_head_has_rows(self):
        """Also where a list stands between two rows: none is left without one at the end."""
        with self.touching(16, 16) as (pid, _, _):
            for words in (("-P", 2), ("-C", "-d", 0.1), ("-s", 0, "-d", 0.1)):
                with self.subTest(words):
                    lines = wss("--backend", "smaps", *words, "--by", "kind", pid, 0.05).stdout.splitlines()
                    heads = [i for i, line in enumerate(lines) if line.startswith("Est(s)")]
                    self.assertGreater(len(heads), 1)
                    for i in heads:
                        self.assertRegex(lines[i + 1], r"^0\.\d+ ")
            self.assertIn("It touches nearly all it has", wss("-P", 2, pid, 0.1).stdout)

    def test_what_is_written_is_told(self):
        """Pages that are read alone are none of it."""
        done = wss("--writes", os.getpid(), 0.01, check=False)
        if done.returncode == 4:
            self.assertIn("CONFIG_MEM_SOFT_DIRTY", done.stderr)
            self.skipTest(done.stderr.strip())
        for hot, way in ((1, ()), (16, ()), (16, ("scattered",)), (16, ("read",))):
            with self.subTest(hot=hot, way=way), self.touching(64, hot, *way) as (pid, start, _):
                mine, row = self.touched(start, "--writes", pid, 0.2)
                self.assertEqual(mine["written"], 0 if way == ("read",) else hot * MIB)
                self.assertEqual(mine["rss"], 64 * MIB)
                self.assertAlmostEqual(row["writes"]["bytes_per_s"], row["bytes"]["written"] / row["window_s"]["mean"],
                                       delta=1)
        with self.touching(64, 64, "rate=40") as (pid, start, _):
            rows = json.loads(wss("--json", "--writes", "-C", "-d", 0.8, pid, 0.2).stdout)["rows"]
            written = [one["bytes"]["written"] for one in rows]
            self.assertEqual(written, sorted(written))
            for one in rows:
                self.assertLessEqual(one["bytes"]["written"], 40 * MIB * one["window_s"]["most"] + MIB)
            text = wss("--writes", "--by", "kind", pid, 0.2).stdout
            self.assertIn("in memory are written once", text.replace("\n  ", " "))

    def test_a_process_that_does_nothing(self):
        process = subprocess.Popen(["sleep", "100"])
        try:
            rows = list(csv.DictReader(io.StringIO(wss("--csv", process.pid, 0.05).stdout)))
            self.assertEqual(len(rows), 1)
            self.assertGreater(int(rows[0]["rss_bytes"]), 0)
            self.assertLessEqual(int(rows[0]["referenced_bytes"]), int(rows[0]["rss_bytes"]))
        finally:
            process.kill()
            process.wait()

    def test_a_process_that_ends_in_the_window(self):
        process = subprocess.Popen(["sleep", "0.3"])
        try:
            done = wss(process.pid, 1, check=False)
        finally:
            process.wait()
        self.assertEqual(done.returncode, 3)
        self.assertIn("ended while it was measured", done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)
        self.assertNotIn("0.00", done.stdout)  # no row of zeros

    def test_one_that_begins_another_program(self):
        process = subprocess.Popen(["sh", "-c", "sleep 0.3; exec sleep 100"])
        try:
            done = wss(process.pid, 1, check=False)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(done.returncode, 3)
        self.assertIn("began another program (exec)", done.stderr)

    def test_ctrl_c_ends_it_at_once(self):
        process = subprocess.Popen(["sleep", "100"])
        try:
            measuring = subprocess.Popen([BINARY, "wss", "--compat", str(process.pid), "90"], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
            first = measuring.stdout.readline()
            self.assertEqual(first, f"Watching PID {process.pid} page references during 90 seconds...\n")
            measuring.send_signal(signal.SIGINT)
            _, err = measuring.communicate(timeout=LIMIT_S)
        finally:
            process.kill()
            process.wait()
        self.assertEqual(measuring.returncode, 130)
        self.assertIn("nothing was measured", err)

    def test_another_users_process(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, to be somebody else")
        process = subprocess.Popen(["sleep", "100"])
        try:
            done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", BINARY, "wss",
                                   str(process.pid), "0.1"], capture_output=True, text=True, check=False)
        finally:
            process.kill()
            process.wait()
        if "execvp" in done.stderr or "failed to execute" in done.stderr:
            self.skipTest("the program lies where other users may not go: put it elsewhere")
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("may not be looked into", done.stderr)

    def test_a_sample_of_locked_memory(self):
        """None is told: all of it would count as touched."""
        if "pte" not in list(self.backends()):
            return
        with self.touching(64, 1, "locked=64") as (pid, _, _):
            done = wss("--sample", "1/32", pid, 0.05, check=False)
            self.assertEqual(done.returncode, 4, done.stdout + done.stderr)
            self.assertIn("has locked memory, which cannot be sampled", done.stderr)
            self.assertEqual(wss(pid, 0.05).returncode, 0)

    def test_a_disk_that_is_full(self):
        for words in ((), ("--csv",), ("--jsonl",), ("--compat",), ("--json",)):
            with self.subTest(words), open("/dev/full", "w", encoding="utf8") as full:
                done = subprocess.run([BINARY, "wss", *words, str(os.getpid()), "0.01"], stdout=full,
                                      stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(done.returncode, 5, done.stderr)
                self.assertIn("No space left on device", done.stderr)

    def test_back_ends_that_this_kernel_lacks(self):
        """Each says what it needs. On kernels that have it: tests/vm/wss_vm.py."""
        for backend, needs in BY_NAME_ALONE.items():
            with self.subTest(backend):
                done = wss("--backend", backend, os.getpid(), 0.1, check=False)
                if done.returncode == 0:
                    self.skipTest("this kernel has it")
                self.assertEqual((done.returncode, done.stdout), (4, ""))
                self.assertEqual(done.stderr.count("\n"), 1)
                self.assertRegex(done.stderr, needs)

    def test_what_does_not_go_together(self):
        for words, why in ((("--backend", "mglru", "-C"), "one window at a time"),
                           (("--backend", "mglru", "-P", "3"), "one window at a time"),
                           (("--backend", "mglru", "--by", "vma"), "which mapping"),
                           (("--rolling", "4", "--heat", "--json"), "--jsonl"),
                           (("--heat",), "--rolling"),
                           (("--rolling", "4", "--backend", "smaps"), "only --backend pte"),
                           (("--rolling", "4", "-C"), "do not go together"),
                           (("--children", "--compat"), "take --csv, --json or --jsonl"),
                           (("--children", "--rolling", "4", "--heat"), "take --rolling without"),
                           (("--backend", "damon", "-C"), "one window at a time"),
                           (("--writes", "-P", "3"), "Take -C, -s or one window"),
                           (("--writes", "--backend", "pte"), "Leave out --backend"),
                           (("--writes", "--rolling", "4"), "only --backend pte"),
                           (("--writes", "--children"), "pte or smaps"),
                           (("--backend", "damon", "--compat"), "--compat"),
                           (("--backend", "idle", "--compat"), "--compat is for"),
                           (("--backend", "mglru", "--compat"), "not for mglru"),
                           (("--backend", "mglru", "--sample", "1/32"), "--sample is for --backend pte"),
                           (("--backend", "smaps", "--sample", "1/32"), "--sample is for --backend pte")):
            with self.subTest(words):
                done = wss(*words, os.getpid(), 0.1, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(why, done.stderr)
        for seconds in (0.01, 11):
            done = wss("--backend", "damon", os.getpid(), seconds, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("0.05 to 10 seconds", done.stderr)

    def test_a_pid_namespace_of_its_own(self):
        """The kernel knows it by another number: page tables are not found, and auto does without them."""
        if "pte" not in list(self.backends()):
            return
        inside = ["unshare", "--pid", "--fork", "--mount-proc", BINARY, "wss"]
        done = subprocess.run([*inside, "--backend", "pte", "1", "0.001"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (4, ""), done.stderr)
        self.assertIn("pid namespace", done.stderr)
        done = subprocess.run([*inside, "--json", "1", "0.001"], capture_output=True, text=True, timeout=LIMIT_S,
                              check=False)
        self.assertEqual(json.loads(done.stdout)["backend"], "smaps")

    def test_no_such_process_and_none_to_measure(self):
        done = wss(2 ** 22, 1, check=False)  # above the last that there can be
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("there is no process", done.stderr)
        for words in (("0", "1"), ("-1", "1"), ("x", "1"), (str(2 ** 31 - 1), "1"), ("1", "0"), ("1", "nan"), ("1", "-1"), ("1",), ()):
            with self.subTest(words):
                self.assertEqual(wss(*words, check=False).returncode, 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
