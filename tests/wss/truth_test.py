#!/usr/bin/env python3
"""`tidegauge wss` beside programs whose working set is known, page by page.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/wss/truth_test.py"""
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from wss_case import BINARY, LIMIT_S, MIB, WssCase, running, wss

BY_NAME_ALONE = {"idle": "CONFIG_IDLE_PAGE_TRACKING|root",
                 "mglru": "CONFIG_LRU_GEN|switched off|debugfs|root",
                 "damon": "CONFIG_DAMON_SYSFS|CONFIG_DAMON_VADDR|DAMON is in use|root",
                 "write": "CONFIG_MEM_SOFT_DIRTY"}


class Truth(WssCase):
    def test_touched_memory_is_reported(self):
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

    def test_touched_memory_is_reported_for_many_mappings(self):
        """By way of some of its pages all is flushed then (many_mappings.h): those count, too."""
        for backend in self.backends():
            for rss, hot, *way in ((64, 1), (64, 4, "scattered"), (64, 16), (64, 16, "rate=400"), (64, 4, "child")):
                words = (rss, hot, "mappings=6000", *way)
                with self.subTest(backend=backend, words=words), self.touching(*words) as (pid, start, _):
                    mine, row = self.touched(start, "--backend", backend, pid, 0.1)
                    self.assertGreater(len(row["groups"]), 6000)
                    self.assertLessEqual(mine["referenced"], hot * MIB)
                    self.assertGreaterEqual(mine["referenced"], hot * MIB - max(0.005 * hot, 0.1) * MIB)

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

    def test_a_file_is_shown_as_it_was_printed(self):
        for backend in self.backends():
            kept = pathlib.Path(self.folder.name, f"{backend}.jsonl")
            with self.subTest(backend), self.touching(64, 16) as (pid, _, _):
                printed = wss("--backend", backend, "-P", 3, "-o", kept, pid, 0.02).stdout
                self.assertEqual(wss("-o", kept, pid, 0.02, check=False).returncode, 2)  # it is there already
                told = wss(kept).stdout
                rows = [line for line in printed.splitlines() if line[:1].isdigit()]
                self.assertEqual(len(rows), 3)
                self.assertEqual([line for line in told.splitlines() if line in rows], rows)
                # Where little is added. A busy machine adds how long the process waited.
                answer = printed.split("Careful: mmap, munmap and brk", 1)[0]
                self.assertIn(answer.splitlines()[-1], told)
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

    def test_a_file_of_writes_shows_writes(self):
        kept = pathlib.Path(self.folder.name, "writes.jsonl")
        with self.touching(64, 16) as (pid, _, _):
            done = wss("--writes", "-o", kept, pid, 0.1, check=False)
        if done.returncode == 4:
            self.assertRegex(done.stderr, BY_NAME_ALONE["write"])
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        told = wss(kept).stdout
        self.assertTrue(told.startswith("Memory written by touch"), told)
        row = [line for line in done.stdout.splitlines() if line[:1].isdigit()][0]
        self.assertIn(row, told)
        self.assertIn("are written once after", " ".join(told.split()))

    def test_what_is_no_file_of_it_is_named(self):
        pipe = pathlib.Path(self.folder.name, "pipe")
        os.mkfifo(pipe)
        other = pathlib.Path(self.folder.name, "other.txt")
        other.write_text("hello\n")
        for path, words in ((pipe, "a folder, a pipe or a device"), (self.folder.name, "a folder, a pipe or a device"),
                            ("/dev/zero", "a folder, a pipe or a device"), (other, "line 1: this is not a file of")):
            done = wss(path, check=False)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(words, done.stderr)
            self.assertIn(str(path), done.stderr)

    def test_a_file_that_ends_before_a_window_is_over(self):
        with tempfile.TemporaryDirectory() as folder, self.touching(16, 4) as (pid, _, _):
            path = pathlib.Path(folder, "kept.jsonl")
            wss("-o", path, pid, 0.05)
            whole = path.read_bytes()
            head = whole.index(b"\n") + 1
            for end, code in ((len(whole), 0), (head + 10, 3), (head - 10, 3)):
                path.write_bytes(whole[:end])
                self.assertEqual(wss(path, check=False).returncode, code)

    def test_what_does_not_go_with_a_file(self):
        with tempfile.TemporaryDirectory() as folder, self.touching(16, 4) as (pid, _, _):
            path = pathlib.Path(folder, "kept.jsonl")
            wss("-o", path, pid, 0.05)
            for words in (("--by", "kind"), ("--plot", pathlib.Path(folder, "x.svg")), ("--heat",), ("-C",), ("-s", 1),
                          ("--backend", "smaps"), ("--rolling", 4), ("--writes",), ("-d", 3), ("--spots", 9)):
                with self.subTest(words=words):
                    done = wss(path, *words, check=False)
                    self.assertEqual(done.returncode, 2)
                    self.assertIn("does not work with a saved measurement", done.stderr)
                    self.assertIn(str(words[0]) if words[0].startswith("--") else "-", done.stderr)
            self.assertEqual(os.listdir(folder), ["kept.jsonl"])
            self.assertIn("touched by touch", wss(path, "--top", 3).stdout)

    def test_other_commands_say_whose_file_it_is(self):
        with tempfile.TemporaryDirectory() as folder, self.touching(16, 4) as (pid, _, _):
            path = pathlib.Path(folder, "kept.jsonl")
            wss("-o", path, pid, 0.05)
            for command in ("report", "frag"):
                run = subprocess.run([BINARY, command, path], capture_output=True, text=True, timeout=LIMIT_S, check=False)
                self.assertEqual(run.returncode, 3)
                self.assertIn("this is a measurement of a working set", run.stderr)
            run = subprocess.run([BINARY, "wss", pathlib.Path(folder, "nothing.jsonl")], capture_output=True, text=True,
                                 timeout=LIMIT_S, check=False)
            self.assertEqual(run.returncode, 2)
            self.assertIn("neither a file nor a PID with a window length", run.stderr)

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
        self.assertIn("there are 0", " ".join(told.split()))  # no window of a minute

    def test_a_time_that_may_be_a_process(self):
        with self.touching(16, 4) as (pid, _, _):
            asked = subprocess.run(["timeout", "-s", "INT", "1", BINARY, "wss", str(pid), str(pid)], capture_output=True,
                                   text=True, check=False)
        self.assertEqual("as the window length in seconds" in asked.stderr, pid >= 300)

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

    def test_a_split_mapping_is_not_reported_twice(self):
        for backend in self.backends():
            with self.subTest(backend=backend):
                measuring, rows = None, []
                with self.touching(64, 32, "split", "rate=500") as (pid, address, size):
                    words = ["--by", "vma", "--backend", backend, "-C", str(pid), "0.2"]
                    with running([BINARY, "wss", "--jsonl", *words]) as measuring:
                        for step in range(6):
                            rows.append(json.loads(measuring.stdout.readline()))
                            if step == 2:
                                os.kill(pid, signal.SIGUSR1)
                told = [sum(group["bytes"]["referenced"] for group in row["groups"]
                            if address <= group.get("start", 0) < address + size) for row in rows]
                self.assertLessEqual(max(told), 32 * MIB)
                self.assertGreaterEqual(told[-1], 32 * MIB)

    def test_huge_pages_count_as_a_whole(self):
        state = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")
        if not state.exists() or "[never]" in state.read_text():
            self.skipTest("this kernel gives no transparent huge pages: set transparent_hugepage/enabled to madvise")
        for backend in self.backends():
            with self.subTest(backend), self.touching(64, 2, "scattered", "huge") as (pid, address, size):
                most = 0
                for _ in range(5):
                    mine, row = self.touched(address, "--backend", backend, pid, 0.1)
                    if mine["huge"] < size:
                        self.skipTest("no huge pages were free for the program: free some memory")
                    self.assertLessEqual(mine["referenced"], size)
                    most = max(most, mine["referenced"])
                    # Another DAMON takes accessed bits of pages that it samples, now and then: it says so.
                    if "damon" not in row["error"]["unseen"]:
                        self.assertGreaterEqual(mine["referenced"], size - 2 * MIB)  # one that was aged just then
                    else:
                        self.assertTrue(row["error"]["at_least"])
                        self.assertEqual(backend, "pte")
                self.assertGreaterEqual(most, size - 2 * MIB)  # it does not do so all the time
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
            self.assertIn("The process touches nearly all of its memory", wss("-P", 2, pid, 0.1).stdout)

    def test_written_memory_is_reported(self):
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
            self.assertIn("of resident memory are written once", text.replace("\n  ", " "))

    def test_ctrl_c_ends_it_at_once(self):
        with running(["sleep", "100"]) as process:
            measuring = subprocess.Popen([BINARY, "wss", "--compat", str(process.pid), "90"], stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, text=True)
            first = measuring.stdout.readline()
            self.assertEqual(first, f"Watching PID {process.pid} page references during 90 seconds...\n")
            measuring.send_signal(signal.SIGINT)
            _, err = measuring.communicate(timeout=LIMIT_S)
        self.assertEqual(measuring.returncode, 130)
        self.assertIn("nothing was measured", err)

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
                           (("--backend", "mglru", "--by", "vma"), "does not know the mapping or file"),
                           (("--rolling", "4", "--heat", "--json"), "--jsonl"),
                           (("--heat",), "--rolling"),
                           (("--rolling", "4", "--backend", "smaps"), "only --backend pte"),
                           (("--rolling", "4", "-C"), "exclude each other"),
                           (("--children", "--compat"), "use --csv, --json or --jsonl"),
                           (("--children", "--rolling", "4", "--heat"), "use --rolling without"),
                           (("--backend", "damon", "-C"), "one window at a time"),
                           (("--writes", "-P", "3"), "Use -C, -s or one window"),
                           (("--writes", "--backend", "pte"), "Omit --backend"),
                           (("--writes", "--rolling", "4"), "only --backend pte"),
                           (("--writes", "--children"), "pte, smaps or idle"),
                           (("--backend", "damon", "--compat"), "--compat"),
                           (("--backend", "idle", "--compat"), "--compat requires --backend smaps, not idle"),
                           (("--backend", "mglru", "--compat"), "--compat requires --backend smaps, not mglru"),
                           (("--backend", "mglru", "--sample", "1/32"), "--sample requires --backend pte"),
                           (("--backend", "smaps", "--sample", "1/32"), "--sample requires --backend pte")):
            with self.subTest(words):
                done = wss(*words, os.getpid(), 0.1, check=False)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(why, done.stderr)
        for seconds in (0.01, 11):
            done = wss("--backend", "damon", os.getpid(), seconds, check=False)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("0.05 to 10 seconds", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
