#!/usr/bin/env python3
"""`tidegauge wss --backend idle` beside a program whose working set is known, on a kernel that has the idle
flag of pages: a custom one, since no Debian kernel has it (own_kernel.py).

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/vm/idle_vm.py

Needs what wss_vm.py needs, flex, bison, bc and libelf-dev; three minutes of building once, then half a minute."""
import unittest

import own_kernel
import vm
from wss_vm import (BOUND, CACHE, GUEST_MIB, GUEST_TOUCHED_MIB, HERE, HOT_MIB, MIB, RSS_MIB, Results,
                    WorkingSetGuest)

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
kill $pid
"""
# The page cache has all of a file of 256 MiB, and 64 are read. It was written in the cgroup, so its pages count there.
FILE_MIB, READ_MIB = 256, 64
CACHE_JOB = f"""
cat /sys/class/zram-control/hot_add >/dev/null; echo 600M >/sys/block/zram1/disksize
mke2fs -F /dev/zram1 >/dev/null 2>&1; mkdir -p /disk; mount -t ext2 /dev/zram1 /disk
echo +memory >/sys/fs/cgroup/cgroup.subtree_control; mkdir -p /sys/fs/cgroup/shop/db
echo $$ >/sys/fs/cgroup/shop/db/cgroup.procs
for file in big closed; do dd if=/dev/zero of=/disk/$file bs=1M count=$([ $file = big ] && echo {FILE_MIB} || echo 8); done
truncate -s 1T /disk/sparse; sleep 600 </disk/sparse & holes=$!
sync; reads /disk/big {READ_MIB} >/out/cache.said & pid=$!; said cache
echo $$ >/sys/fs/cgroup/cgroup.procs
run cache tidegauge wss --json --backend idle --cgroup /shop 1
run cache.more tidegauge wss --json --backend idle --cgroup /shop -C -d 3 1
run cache.text tidegauge wss --backend idle --cgroup /sys/fs/cgroup/shop -s 0 -d 3 1
run cache.uncounted tidegauge wss --backend idle --cgroup /shop/db 1
run cache.none tidegauge wss --json --backend idle --cgroup /absent 1
kill $pid $holes
"""
GUEST_JOB = f"""
kvm_guest {GUEST_MIB} {GUEST_TOUCHED_MIB} >/out/guest.said 2>/out/guest.err & pid=$!; said guest
for backend in auto idle smaps; do measure guest.$backend --by vma --backend $backend; done
run guest.text tidegauge wss $pid 1
kill $pid
"""


@vm.once
def results() -> Results:
    kernel = own_kernel.build(HERE / "idle.config", CACHE)
    # Memory of whole words of the bitmap: the kernel does not report parts of one.
    with WorkingSetGuest(kernel, memory_mib=3072, options="no5lvl mem=3000M") as guest:
        guest.add_compiled(HERE / "reads.c")
        return guest.results(JOB + GUEST_JOB + CACHE_JOB)


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

    def test_the_page_cache_of_a_cgroup_by_file(self):
        cache = results().row("cache")["cache"]
        self.assertEqual(cache["cgroup"], "/shop")
        big, = (file for file in cache["files"] if file["name"] == "/disk/big")
        self.assertEqual(big["bytes"], FILE_MIB * MIB)
        self.assertTouched(big, READ_MIB)
        # The closed file, and what describes files.
        self.assertGreaterEqual(cache["unnamed"]["bytes"], 8 * MIB)
        self.assertLess(cache["unnamed"]["referenced"], MIB)
        self.assertEqual(cache["bytes"], sum(file["bytes"] for file in cache["files"]) + cache["unnamed"]["bytes"])
        # To find the names of files does not count as use of their pages.
        for row in results().json("cache.more")["rows"][1:]:
            again, = (file for file in row["cache"]["files"] if file["name"] == "/disk/big")
            self.assertTouched(again, READ_MIB)
        self.assertIn("/disk/big", results().text("cache.text.json"))
        self.assertEqual(results().text("cache.uncounted.code"), "4\n")
        self.assertIn("cgroup /shop/db does not count memory", results().text("cache.uncounted.err"))
        self.assertIn("use --cgroup /sys/fs/cgroup/shop, which does", results().text("cache.uncounted.err"))
        self.assertEqual(results().text("cache.none.code"), "3\n")
        self.assertIn("there is no cgroup /absent", results().text("cache.none.err"))

    def test_the_guest_of_a_kvm(self):
        """The idle flag asks KVM. smaps sees its touches too, for this kernel flushes by clear_refs 4."""
        for backend in ("auto", "idle", "smaps"):
            with self.subTest(backend):
                name = f"guest.{backend}"
                self.assertEqual(results().json(name)["backend"], "smaps" if backend == "auto" else backend)
                mine = results().mine(name, "guest")
                self.assertEqual(mine["rss"], GUEST_MIB * MIB)
                self.assertTouched(mine, GUEST_TOUCHED_MIB)
                self.assertEqual(results().row(name)["error"]["unseen"], [])
        self.assertNotIn("a guest of KVM", results().text("guest.text.json"))

    def test_the_others_say_what_this_kernel_lacks(self):
        for backend, lack in (("pte", "BTF|BPF"), ("mglru", "CONFIG_LRU_GEN"), ("damon", "CONFIG_DAMON_SYSFS")):
            with self.subTest(backend):
                self.assertEqual(results().text(f"{backend}.code"), "4\n")
                self.assertRegex(results().text(f"{backend}.err"), lack)


if __name__ == "__main__":
    unittest.main(verbosity=2)
