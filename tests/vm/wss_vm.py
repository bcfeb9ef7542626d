#!/usr/bin/env python3
"""`tidegauge wss` on Debian's 6.12, with page tables of four levels and of five, beside a program whose
working set is known (../wss/touch.c).

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/vm/wss_vm.py

Needs qemu-system-x86, busybox-static, cpio and gcc, no root; three boots, two at a time: two minutes."""
import concurrent.futures
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import vm  # noqa: E402  # found beside this file

BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")).resolve()
CACHE = pathlib.Path(os.environ.get("TIDEGAUGE_VM", BINARY.parent / "vm")).resolve()
MIB = 2 ** 20
RSS_MIB, HOT_MIB = 160, 20
BOUND = max(0.005 * HOT_MIB, 0.1) * MIB  # docs/measure/working-set.md

# hot NAME RSS HOT WAY…: starts the program, waits until all its memory is there.  measure NAME WORD…: of it
TOOLS = """
said() {
  tries=600; while ! [ -s /out/$1.said ] && kill -0 $pid && [ $((tries -= 1)) -gt 0 ]; do sleep 0.1; done
}
hot() {
  name=$1; shift; touched "$@" >/out/$name.said & pid=$!; said $name
}
run() {
  name=$1; shift; "$@" >/out/$name.json 2>/out/$name.err; echo $? >/out/$name.code
}
measure() {
  name=$1; shift; run $name tidegauge wss --json "$@" $pid 1
}
"""


class WorkingSetGuest(vm.Guest):
    """With tidegauge and the program that touches memory."""

    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        self.add_program(str(BINARY), "/bin/tidegauge")
        self.add_compiled(HERE.parent / "wss" / "touch.c", "touched")
        self.add_compiled(HERE / "odd.c")
        self.add_compiled(HERE.parent / "wss" / "kvm_guest.c")

    def add_compiled(self, source, name=None):
        """A program of one file, as /bin/NAME."""
        name = name or source.stem
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, name)
            subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, source], check=True)
            self.add_program(str(program), f"/bin/{name}")

    def results(self, job):
        return Results(self.run(TOOLS + job))


class Results:
    """What came back, by name."""

    def __init__(self, files):
        self.files = files

    def text(self, name):
        return self.files.get(name, b"(missing)").decode(errors="replace")

    def json(self, name):
        if self.text(f"{name}.code") != "0\n":
            raise AssertionError(f"{name}: {self.text(f'{name}.err')}\n{self.text('console.txt')}")
        return json.loads(self.text(f"{name}.json"))

    def row(self, name):
        return self.json(name)["rows"][-1]

    def mine(self, name, held):
        """Of the mapping of the program that was started as `held`."""
        start = int(self.text(f"{held}.said").split()[0], 16)
        one, = (group for group in self.row(name)["groups"] if group.get("start") == start)
        return one["bytes"]


WAYS = {"contiguous": "", "scattered": "scattered", "huge": "huge", "huge-scattered": "huge scattered"}
PAGES = "".join(f"""
hot {name} {RSS_MIB} {HOT_MIB} {way}
measure {name}.pte --by vma --backend pte
measure {name}.smaps --by vma --backend smaps
kill $pid""" for name, way in WAYS.items())


# 6.12 does not mark the huge page of zeros in the entries of page tables. The reserved ones are there from the start:
# later the kernel may not find eight.
ODD = """
odd >/out/odd.said & pid=$!; said odd
for backend in pte smaps; do measure odd.$backend --by vma --backend $backend; done
kill $pid; wait $pid; echo 0 >/proc/sys/vm/nr_hugepages
"""


# It writes to what it touches, but for the last one, which reads.
WRITERS = {"contiguous": "", "scattered": "scattered", "huge": "huge", "read": "read"}
WRITTEN = "".join(f"""
hot written-{name} {RSS_MIB} {HOT_MIB} {way}
measure written-{name} --by vma --writes -s 0 -d 2
kill $pid""" for name, way in WRITERS.items()) + """
run written.text tidegauge wss --writes $$ 0.1"""


# A cgroup for each, so that what one left behind is not in the figures of the next.
GENERATIONS = "\necho +memory >/sys/fs/cgroup/cgroup.subtree_control" + "".join(f"""
mkdir -p /sys/fs/cgroup/shop/{name}; echo +memory >/sys/fs/cgroup/shop/cgroup.subtree_control
echo $$ >/sys/fs/cgroup/shop/{name}/cgroup.procs
hot mglru-{name} {RSS_MIB} {HOT_MIB} {WAYS[name]}
echo $$ >/sys/fs/cgroup/cgroup.procs
measure mglru-{name} --by kind --backend mglru -s 0 -d 3
kill $pid""" for name in ("contiguous", "scattered", "huge"))


# What it does not touch is taken from it step by step, into a compressed swap, there being no disk.
TAKEN = f"""
for module in lz4_compress lz4hc_compress zsmalloc zram; do insmod /$module.ko; done
echo 512M >/sys/block/zram0/disksize; mkswap /dev/zram0; swapon /dev/zram0
echo +memory >/sys/fs/cgroup/cgroup.subtree_control
mkdir -p /sys/fs/cgroup/taken; echo $$ >/sys/fs/cgroup/taken/cgroup.procs
hot shrink {RSS_MIB} {HOT_MIB}
echo $$ >/sys/fs/cgroup/cgroup.procs
run pressure tidegauge wss --json --backend pressure $pid 2
run shrink tidegauge wss --json --backend shrink --experiment --max-pressure 90 -d 120 --cgroup /taken 0.5
run shrink.text tidegauge wss --backend shrink --experiment --max-pressure 90 -d 5 $pid 0.5
cat /proc/swaps >/out/swaps; cat /sys/fs/cgroup/taken/memory.max >/out/shrink.limit
kill $pid
run unit tidegauge wss --backend shrink --experiment --cgroup / 0.5
mkdir -p /sys/fs/cgroup/held; echo $$ >/sys/fs/cgroup/held/cgroup.procs
hot hold {RSS_MIB} {HOT_MIB}
echo $$ >/sys/fs/cgroup/cgroup.procs
run hold tidegauge wss --json --backend shrink --experiment --pressure 1 --max-pressure 90 -d 60 $pid 0.2
kill $pid
"""


# 100 MiB that it touches, in a cgroup that may have 64: the rest is in the compressed swap.
LIMITED = """
mkdir -p /sys/fs/cgroup/limited; echo 64M >/sys/fs/cgroup/limited/memory.max
echo $$ >/sys/fs/cgroup/limited/cgroup.procs
hot limited 100 100
echo $$ >/sys/fs/cgroup/cgroup.procs
for backend in pte smaps; do
  run limited.$backend tidegauge wss --json --by vma --backend $backend $pid 10
  run limited.$backend.text tidegauge wss --backend $backend $pid 5
done
kill $pid
"""


# This kernel has soft-dirty bits: wss flushes the TLB by switches of processes. A small set, which stays in it.
SMALL = """
grep -c la57 /proc/cpuinfo >/out/levels
hot small 64 1
for backend in pte smaps; do measure small.$backend --by vma --backend $backend; done
kill $pid
"""
# What a guest of KVM touches, by page tables of its own (nested paging, which QEMU emulates).
GUEST_MIB, GUEST_TOUCHED_MIB = 64, 32
GUEST = f"""
for module in irqbypass kvm kvm-amd; do insmod /$module.ko; done
kvm_guest {GUEST_MIB} {GUEST_TOUCHED_MIB} >/out/guest.said 2>/out/guest.err & pid=$!; said guest
for backend in pte smaps damon; do measure guest.$backend --by vma --backend $backend; done
# A guest that is emulated twice touches all of it in a second only where nothing else runs.
run guest.writes tidegauge wss --json --by vma --writes $pid 5
measure guest.auto --backend auto
run guest.text tidegauge wss --backend pte $pid 1
run guest.profile tidegauge wss -P 2 $pid 0.5
kill $pid
"""
# DAMON does not flush; another program on each processor does, which a program that is alone on one would wait for.
RIVALS = """
for mask in 1 2; do taskset $mask sh -c 'while usleep 20000; do :; done' & done
"""
KDAMONDS = "/sys/kernel/mm/damon/admin/kdamonds"
# What is there of DAMON, after each; and one that is not ours, which nothing may be written to.
SAMPLED = f"""
left() {{ echo $(cat {KDAMONDS}/nr_kdamonds) $(ls -d {KDAMONDS}/[0-9]* 2>/dev/null | wc -l) >/out/$1.left; }}
hot damon {RSS_MIB} {HOT_MIB}
measure damon.rows --by vma --backend damon -s 0 -d 7
left damon.rows
for wait in 0 5; do
  tidegauge wss --backend damon $pid 9 >/out/damon.ended$wait.json 2>/out/damon.ended$wait.err & wss=$!
  # Not the one that is there for a moment before: it tries whether DAMON works, and watches wss itself.
  tries=300
  until [ "$(cat {KDAMONDS}/0/contexts/0/targets/0/pid_target 2>/dev/null)" = $pid ] && kill -0 $wss; do
    [ $((tries -= 1)) -gt 0 ] || break; sleep 0.1
  done
  sleep $wait; cat {KDAMONDS}/nr_kdamonds >/out/damon.ended$wait.during
  kill -INT $wss; wait $wss; echo $? >/out/damon.ended$wait.code; left damon.ended$wait
done
echo 1 >{KDAMONDS}/nr_kdamonds; echo 1 >{KDAMONDS}/0/contexts/nr_contexts
measure damon.foreign --backend damon
left damon.foreign; cat {KDAMONDS}/0/contexts/nr_contexts >/out/damon.foreign.contexts
echo 0 >{KDAMONDS}/nr_kdamonds
(sleep 4; kill $pid) &
run damon.gone tidegauge wss --backend damon $pid 2; left damon.gone
"""


MODULES = "lz4_compress", "lz4hc_compress", "zsmalloc", "zram"
GUESTS = {  # name: (more of the kernel's command line, modules, job)
    "four levels": ("no5lvl hugepages=8", (), SMALL + PAGES + ODD + WRITTEN),
    "five levels": ("", ("irqbypass", "kvm", "kvm-amd"), SMALL + PAGES + GUEST),
    "memory": ("no5lvl", MODULES, GENERATIONS + RIVALS + SAMPLED + TAKEN + LIMITED),
}


def boot(name):
    options, modules, job = GUESTS[name]
    with WorkingSetGuest(vm.kernel("6.12", CACHE), options=options) as guest:
        for module in modules:
            guest.add_module(module)
        return guest.results(job)


@functools.cache
def booted():
    """All of them, two at a time: each emulates its processors in turn, in one thread."""
    vm.kernel("6.12", CACHE)  # fetched once
    pool = concurrent.futures.ThreadPoolExecutor(max_workers=2)
    return {name: pool.submit(boot, name) for name in GUESTS}


@vm.once
def four_levels():
    return booted()["four levels"].result()


@vm.once
def five_levels():
    return booted()["five levels"].result()


@vm.once
def memory():
    return booted()["memory"].result()


class Linux612(unittest.TestCase):
    def setUp(self):
        if vm.why_not():
            self.skipTest(vm.why_not())

    def assertTouched(self, results, name, held, wanted_mib=HOT_MIB):
        mine = results.mine(name, held)
        self.assertEqual(mine["rss"], RSS_MIB * MIB)
        # Never more than was touched; less by a little where the kernel itself takes accessed bits away.
        self.assertLessEqual(mine["referenced"], wanted_mib * MIB)
        self.assertGreaterEqual(mine["referenced"], wanted_mib * MIB - BOUND)
        return mine

    def assertPages(self, results):
        for way in WAYS:
            for backend in ("pte", "smaps"):
                with self.subTest(way=way, backend=backend):
                    # In huge pages, a touched byte counts as 2 MiB.
                    wanted = RSS_MIB if way == "huge-scattered" else HOT_MIB
                    mine = self.assertTouched(results, f"{way}.{backend}", way, wanted)
                    self.assertEqual(mine["huge"], RSS_MIB * MIB if "huge" in way else 0)
                    self.assertEqual(results.json(f"{way}.{backend}")["backend"], backend)

    def test_four_levels_of_page_tables(self):
        self.assertEqual(four_levels().text("levels"), "0\n")
        self.assertPages(four_levels())

    def test_five_levels_of_page_tables(self):
        self.assertEqual(five_levels().text("levels"), "2\n")
        self.assertPages(five_levels())

    def test_a_small_set_that_stays_in_the_tlb(self):
        for results in (four_levels(), five_levels()):
            for backend in ("pte", "smaps"):
                with self.subTest(backend=backend):
                    mine = results.mine(f"small.{backend}", "small")
                    self.assertEqual(mine["referenced"], MIB)
                    row = results.row(f"small.{backend}")
                    self.assertTrue(row["error"]["flushed"])
                    self.assertFalse(row["error"]["at_least"])
                    self.assertIn("switches of processes", results.json(f"small.{backend}")["how"])

    def test_the_guest_of_a_kvm(self):
        """Neither pte nor smaps sees its touches, and each says so; DAMON asks KVM, and auto takes it. What is to be
        written faults again."""
        results = five_levels()
        for backend in ("pte", "smaps"):
            with self.subTest(backend=backend):
                mine = results.mine(f"guest.{backend}", "guest")
                self.assertEqual(mine["rss"], GUEST_MIB * MIB)
                self.assertLess(mine["referenced"], MIB)
                error = results.row(f"guest.{backend}")["error"]
                self.assertEqual((error["unseen"], error["at_least"]), (["kvm"], True))
        self.assertEqual(results.json("guest.auto")["backend"], "damon")
        self.assertIn("its guest of KVM", results.json("guest.auto")["why"])
        self.assertEqual(results.mine("guest.writes", "guest")["written"], GUEST_TOUCHED_MIB * MIB)
        text = results.text("guest.text.json")
        self.assertIn("Not seen here: touches by a guest of KVM", text)
        self.assertNotRegex(text, "within|not touched")
        self.assertIn("Some touches are not seen here, so there is no knee.", results.text("guest.profile.json"))
        self.assertEqual(results.row("guest.damon")["error"]["unseen"], [])
        self.assertAlmostEqual(results.mine("guest.damon", "guest")["referenced"] / MIB, GUEST_TOUCHED_MIB,
                               delta=GUEST_TOUCHED_MIB / 2)

    def test_what_is_no_memory_of_its_own(self):
        """The page tables alone say what the kernel says of huge pages of zeros and of reserved ones."""
        results = four_levels()
        zeros, pool = (int(word, 16) for word in results.text("odd.said").split())
        told = {backend: {group["start"]: group for group in results.row(f"odd.{backend}")["groups"]}
                for backend in ("pte", "smaps")}
        for backend, groups in told.items():
            with self.subTest(backend=backend):
                around, = (group for start, group in groups.items() if start <= zeros < group["end"])
                self.assertEqual((around["bytes"]["rss"], around["bytes"]["huge"]), (0, 0))
                self.assertEqual(groups[pool]["kind"], "hugetlb")
                self.assertEqual(groups[pool]["bytes"]["hugetlb"], 8 * MIB)
                self.assertEqual((groups[pool]["bytes"]["rss"], groups[pool]["bytes"]["referenced"]), (0, 0))
        self.assertEqual(results.row("odd.pte")["bytes"]["rss"], results.row("odd.smaps")["bytes"]["rss"])

    def test_what_is_written(self):
        results = four_levels()
        for name in WRITERS:
            with self.subTest(name):
                mine = results.mine(f"written-{name}", f"written-{name}")
                self.assertEqual(mine["rss"], RSS_MIB * MIB)
                self.assertEqual(mine["written"], 0 if name == "read" else HOT_MIB * MIB)
                row = results.row(f"written-{name}")
                self.assertAlmostEqual(row["writes"]["bytes_per_s"], row["bytes"]["written"] / row["window_s"]["mean"],
                                       delta=1)
                self.assertGreater(len(results.json(f"written-{name}")["rows"]), 1)
        self.assertEqual(results.text("written.text.code"), "0\n")
        self.assertIn("Wrt(MB)", results.text("written.text.json"))

    def test_mglru(self):
        for way in ("contiguous", "scattered", "huge"):
            with self.subTest(way=way):
                answer = memory().json(f"mglru-{way}")
                self.assertEqual((answer["backend"], answer["cgroup"]), ("mglru", f"/shop/{way}"))
                self.assertGreaterEqual(len(answer["rows"]), 2)
                for row in answer["rows"]:
                    kinds = {group["kind"]: group["bytes"] for group in row["groups"]}
                    own = kinds["anonymous"]
                    # All of the program's own is in it: its stack, and what its libraries wrote.
                    self.assertGreaterEqual(own["rss"], RSS_MIB * MIB)
                    self.assertLessEqual(own["rss"], (RSS_MIB + 0.5) * MIB)
                    self.assertGreaterEqual(own["referenced"], HOT_MIB * MIB - BOUND)
                    self.assertLessEqual(own["referenced"], HOT_MIB * MIB + BOUND)

    def test_damon(self):
        results = memory()
        answer = results.json("damon.rows")
        self.assertEqual(answer["backend"], "damon")
        start = int(results.text("damon.said").split()[0], 16)
        told = []
        for row in answer["rows"]:
            mine, = (group["bytes"] for group in row["groups"] if group.get("start") == start)
            self.assertEqual(mine["rss"], RSS_MIB * MIB)
            self.assertEqual(row["window_s"]["mean"], 1)
            self.assertEqual((row["error"]["method"], row["error"]["referenced_ci95"]), ("regions", None))
            told.append(mine["referenced"] / MIB)
        # It samples: no bound holds for one row. That it sees the part that is touched, and not the rest, does.
        self.assertGreaterEqual(len(told), 2)
        self.assertGreater(max(told), HOT_MIB / 2, told)
        self.assertLess(min(told), HOT_MIB * 2, told)

    def test_damon_leaves_nothing(self):
        results = memory()
        self.assertEqual(results.text("damon.rows.left"), "0 0\n")
        for wait in (0, 5):
            with self.subTest(seconds=wait):
                self.assertEqual(results.text(f"damon.ended{wait}.during"), "1\n",
                                 results.text(f"damon.ended{wait}.err"))
                self.assertEqual(results.text(f"damon.ended{wait}.code"), "130\n")
                self.assertEqual(results.text(f"damon.ended{wait}.left"), "0 0\n")
        self.assertEqual(results.text("damon.gone.code"), "3\n")
        self.assertIn("ended during the measurement", results.text("damon.gone.err"))
        self.assertEqual(results.text("damon.gone.left"), "0 0\n")

    def test_damon_of_somebody_else(self):
        results = memory()
        self.assertEqual(results.text("damon.foreign.code"), "4\n")
        self.assertIn("DAMON is in use", results.text("damon.foreign.err"))
        self.assertEqual(results.text("damon.foreign.left"), "1 1\n")
        self.assertEqual(results.text("damon.foreign.contexts"), "1\n")

    def test_what_is_left_when_memory_is_taken_away(self):
        results = memory()
        answer = results.json("shrink")
        self.assertEqual(answer["all"]["end"], "reached", answer)
        first, least = answer["rows"][0]["bytes"]["before"], answer["all"]["least_bytes"]
        self.assertGreaterEqual(first, RSS_MIB * MIB)
        # Its own pages, those of the kernel for it, and what a step of a twentieth cannot resolve.
        self.assertGreaterEqual(least, HOT_MIB * MIB)
        self.assertLessEqual(least, 1.3 * HOT_MIB * MIB + 4 * MIB)
        self.assertEqual(results.text("shrink.limit"), "max\n")

    def test_a_pressure_that_is_held(self):
        answer = memory().json("hold")
        self.assertEqual((answer["all"]["cgroup"], answer["all"]["end"]), ("/held", "ended"), answer["verdict"])
        first, held = answer["rows"][0]["bytes"]["before"], answer["all"]["held"]
        self.assertGreaterEqual(first, RSS_MIB * MIB)
        self.assertIsNotNone(held, answer["verdict"])
        self.assertGreaterEqual(held["mean_bytes"], HOT_MIB * MIB)
        self.assertLessEqual(held["mean_bytes"], 1.3 * HOT_MIB * MIB + 4 * MIB)
        # Until tasks wait, a window takes a hundredth; the kernel may take more than it is asked for.
        parts = [row["bytes"]["taken"] / row["bytes"]["before"] for row in answer["rows"][:-held["windows"]]]
        self.assertGreater(len(parts), 50)
        self.assertAlmostEqual(statistics.median(parts), 0.01, delta=0.005)

    def test_pressure_of_a_cgroup(self):
        answer = memory().json("pressure")
        self.assertEqual(answer["all"]["cgroup"], "/taken")
        self.assertEqual(answer["all"]["shortage"], "none")

    def test_more_than_the_limit_of_a_cgroup(self):
        """With swap. In version 2 the cgroup itself counts what was reclaimed, and what came back."""
        results = memory()
        for backend in ("pte", "smaps"):
            with self.subTest(backend=backend):
                row = results.row(f"limited.{backend}")
                mine = results.mine(f"limited.{backend}", "limited")
                counted = row["pressure"]["bytes"]
                self.assertTrue(row["error"]["at_least"])
                self.assertGreater(counted["refaulted_anonymous"], 36 * MIB)
                self.assertGreater(counted["taken"], 36 * MIB)
                self.assertEqual((row["limit"]["bytes"], row["limit"]["cgroup"]), (64 * MIB, "/limited"))
                self.assertLessEqual(mine["referenced"], 64 * MIB)
                if backend == "pte":
                    self.assertGreater(mine["referenced"] + row["error"]["reclaimed_bytes"], 64 * MIB)
                    self.assertLessEqual(mine["referenced"] + row["error"]["reclaimed_bytes"], 101 * MIB)
                text = " ".join(results.text(f"limited.{backend}.text.json").split())
                self.assertIn("What cgroup /limited uses is larger than its limit of 64.0 MiB", text)
                for claim in ("within", "not touched"):
                    self.assertNotIn(claim, text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
