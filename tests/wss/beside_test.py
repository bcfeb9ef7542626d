#!/usr/bin/env python3
"""What `tidegauge wss` says beside the touched memory: memory that was new in the window, which may be freed at
its end, and what the process's cgroup has charged. The latter needs root and a memory controller.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/wss/beside_test.py"""
import json
import os
import pathlib
import sys
import tempfile
import unittest

from wss_case import MIB, WssCase, cgroup_with_limit, running, wss

# Maps, touches and frees 20 MiB of 4 KiB pages, again and again. Writes one byte each time: the file's size is the
# count at every moment, whereas a number written anew is not there between truncation and write.
CHURN = """import mmap, sys, time
count = open(sys.argv[1], "wb", buffering=0)
while True:
    memory = mmap.mmap(-1, 20 << 20, flags=mmap.MAP_PRIVATE)
    memory.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, 20 << 20, 4096):
        memory[at] = 1
    memory.close()
    if count.tell() == 0:
        print("ready", flush=True)
    count.write(b".")
    time.sleep(0.02)
"""
# Reads a file without mapping it, and keeps 20 MiB of its own, in a cgroup of its own.
READER = """import pathlib, sys, time
pathlib.Path(sys.argv[2], "cgroup.procs").write_text("0")
with open(sys.argv[1], "rb", buffering=0) as file:
    while file.read(1 << 20):
        pass
own = b"x" * (20 << 20)
print("ready", flush=True)
time.sleep(1000)
"""
CHURNED, READ, OWN = 20 * MIB, 64 * MIB, 20 * MIB


class Beside(WssCase):
    def test_memory_that_is_given_back_within_the_window(self):
        count = pathlib.Path(self.folder.name, "count")
        with running([sys.executable, "-c", CHURN, str(count)]) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            before = count.stat().st_size
            done = wss("--json", "-o", pathlib.Path(self.folder.name, "churn.jsonl"), process.pid, 1)
            least = count.stat().st_size - before - 2  # that began and ended in the window
            row = json.loads(done.stdout)["rows"][-1]
            self.assertGreater(least, 0)
            self.assertGreaterEqual(row["work"]["minor_faults"] * 4096, least * CHURNED)
            text = " ".join(wss(process.pid, 1).stdout.split())
        self.assertRegex(text, r"About [0-9.]+ [MG]iB of memory were new in the window \([0-9,]+ minor page faults\)")
        self.assertNotIn("within L2", text)
        kept = " ".join(wss(pathlib.Path(self.folder.name, "churn.jsonl")).stdout.split())
        self.assertIn("of memory were new in the window", kept)

    def test_a_process_without_new_memory_has_no_such_sentence(self):
        with self.touching(64, 16) as (pid, _, _):
            self.assertNotIn("of memory were new", wss(pid, 0.5).stdout)

    def test_what_the_cgroup_has_charged(self):
        root = pathlib.Path(__file__).resolve().parent.parent.parent / "build"
        with tempfile.NamedTemporaryFile(dir=root) as file, cgroup_with_limit(self, 1024 * MIB) as folder:
            file.write(os.urandom(MIB) * (READ // MIB))
            file.flush()
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            with running([sys.executable, "-c", READER, file.name, str(folder)]) as process:
                self.assertEqual(process.stdout.readline(), "ready\n")
                cgroup = json.loads(wss("--json", process.pid, 0.3).stdout)["rows"][-1]["cgroup"]
                text = " ".join(wss(process.pid, 0.3).stdout.split())
        self.assertEqual(cgroup["path"], f"/{folder.name}")
        # Each processor counts in batches, and holds some pages that are on no list yet.
        self.assertGreater(cgroup["unmapped_cache_bytes"], READ - MIB)
        self.assertLess(cgroup["unmapped_cache_bytes"], READ + 8 * MIB)
        # What was read once is the first to go: the kubelet does not count it.
        self.assertGreater(cgroup["charged_bytes"] - cgroup["working_set_bytes"], READ - MIB)
        self.assertGreater(cgroup["working_set_bytes"], OWN - MIB)
        self.assertLess(cgroup["working_set_bytes"], OWN + 24 * MIB)  # Python's own
        self.assertRegex(text, rf"Cgroup /{folder.name}: \S+ MiB charged; working set as the kubelet computes it \S+ MiB; "
                               r"page cache that no process maps 6[3-9]\.\d MiB\.")


if __name__ == "__main__":
    unittest.main()
