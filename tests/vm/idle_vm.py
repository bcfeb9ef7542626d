#!/usr/bin/env python3
"""`tidegauge wss --backend idle` beside a program whose working set is known, on a kernel that has the idle
flag of pages: a custom one, since no Debian kernel has it (own_kernel.py).

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/vm/idle_vm.py

Needs what wss_vm.py needs, flex, bison, bc and libelf-dev; three minutes of building once, then half a minute."""
import unittest

import own_kernel
import vm
from wss_vm import BOUND, CACHE, HERE, HOT_MIB, MIB, RSS_MIB, Results, WorkingSetGuest

LARGE_MIB = 2200  # more than an int has of bytes
# Each is one that wss-v1 or wss-v2 get wrong, but the first.
WAYS = {"contiguous": "", "scattered": "scattered", "huge": "huge", "huge-scattered": "huge scattered",
        "swapped": "swapped"}
JOB = """
echo 512M >/sys/block/zram0/disksize; mkswap /dev/zram0; swapon /dev/zram0
""" + "".join(f"""
hot {name} {RSS_MIB} {HOT_MIB} {way}
measure {name} --by vma --backend idle
kill $pid""" for name, way in WAYS.items()) + f"""
hot large {LARGE_MIB} {LARGE_MIB} huge
measure large --by vma --backend idle
kill $pid
hot twice {RSS_MIB} {HOT_MIB}
measure twice --by vma --backend idle -s 0 -d 4
measure profile --by vma --backend idle -P 2
for backend in pte mglru damon; do measure $backend --backend $backend; done
"""


@vm.once
def results() -> Results:
    kernel = own_kernel.build(HERE / "idle.config", CACHE)
    # Memory of whole words of the bitmap: the kernel does not report parts of one.
    with WorkingSetGuest(kernel, memory_mib=3072, options="no5lvl mem=3000M") as guest:
        return guest.results(JOB)


class Idle(unittest.TestCase):
    def setUp(self):
        for why_not in (vm.why_not(), own_kernel.why_not()):
            if why_not:
                self.skipTest(why_not)

    def assertTouched(self, mine, wanted_mib=HOT_MIB):
        self.assertLessEqual(mine["referenced"], wanted_mib * MIB + BOUND)
        self.assertGreaterEqual(mine["referenced"], wanted_mib * MIB - BOUND)

    def test_touched_memory_is_reported(self):
        for way in ("contiguous", "scattered", "huge"):
            with self.subTest(way=way):
                mine = results().mine(way, way)
                self.assertEqual(mine["rss"], RSS_MIB * MIB)
                self.assertEqual(mine["huge"], RSS_MIB * MIB if way == "huge" else 0)
                self.assertTouched(mine)

    def test_huge_pages_count_as_a_whole(self):
        self.assertTouched(results().mine("huge-scattered", "huge-scattered"), RSS_MIB)

    def test_what_is_swapped_out_is_no_frame(self):
        mine = results().mine("swapped", "swapped")
        self.assertEqual(mine["rss"] + mine["swap"], RSS_MIB * MIB)
        self.assertGreater(mine["swap"], (RSS_MIB - HOT_MIB) * MIB / 2)
        self.assertTouched(mine)

    def test_more_than_2_gib(self):
        mine = results().mine("large", "large")
        self.assertEqual(mine["rss"], LARGE_MIB * MIB)
        self.assertTouched(mine, LARGE_MIB)

    def test_windows_one_after_another_and_from_one_clearing(self):
        start = int(results().text("twice.said").split()[0], 16)
        for name in ("twice", "profile"):
            rows = results().json(name)["rows"]
            self.assertGreaterEqual(len(rows), 2)
            for row in rows:
                mine, = (group["bytes"] for group in row["groups"] if group.get("start") == start)
                self.assertTouched(mine)

    def test_the_others_say_what_this_kernel_lacks(self):
        for backend, lack in (("pte", "BTF|BPF"), ("mglru", "CONFIG_LRU_GEN"), ("damon", "CONFIG_DAMON_SYSFS")):
            with self.subTest(backend):
                self.assertEqual(results().text(f"{backend}.code"), "4\n")
                self.assertRegex(results().text(f"{backend}.err"), lack)


if __name__ == "__main__":
    unittest.main(verbosity=2)
