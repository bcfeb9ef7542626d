#!/usr/bin/env python3
"""The reader of page tables on arm64: the figures of `pte` beside smaps, for programs whose working set is known,
on Debian's 6.12 and 6.1 with page tables of five levels and of four. Its back-ends alone (arm64_wss.cpp), compiled for it here.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/vm/arm64_vm.py     # ./dev vm arm64

Beside that binary lies bpf/page_tables_arm64.bpf.o. Needs qemu-system-arm, g++-aarch64-linux-gnu and what vm.py
needs; a minute of compiling and three boots of half a minute."""
import json
import pathlib
import subprocess
import unittest

import arm64
import vm
from wss_vm import BINARY, BOUND, CACHE, HERE, HOT_MIB, MIB, RSS_MIB

SOURCE = HERE.parent.parent
OBJECT = BINARY.parent / "bpf" / "page_tables_arm64.bpf.o"
HELD_MIB = 8
OPTIONS = "hugepagesz=64K hugepages=200"
EMBEDDED = """
  .section .rodata
  .balign 8
  .global tidegauge_page_tables_object, tidegauge_page_tables_object_end
tidegauge_page_tables_object:
  .incbin "{object}"
tidegauge_page_tables_object_end:
  .byte 0
  .balign 8
  .global tidegauge_page_tables_loader, tidegauge_page_tables_loader_end
tidegauge_page_tables_loader:
  .incbin "{loader}"
tidegauge_page_tables_loader_end:
  .byte 0
  .section .note.GNU-stack,"",@progbits
"""

# measure NAME PROGRAM WORD…: starts it, waits until all its memory is resident, measures that
JOB = """
measure() {
  name=$1; shift; "$@" >/tmp/said & pid=$!
  tries=600; while ! [ -s /tmp/said ] && kill -0 $pid && [ $((tries -= 1)) -gt 0 ]; do sleep 0.1; done
  at=$(cut -d' ' -f1 /tmp/said); arm64_wss $pid $at 1 >/out/$name.jsonl 2>/out/$name.err
  kill $pid; wait $pid 2>/dev/null; rm /tmp/said
}
dmesg | grep -o 'LPA2' >/out/wide
""" + f"""
measure contiguous touched {RSS_MIB} {HOT_MIB}
measure scattered touched {RSS_MIB} {HOT_MIB} scattered
measure huge touched {RSS_MIB} {HOT_MIB} huge
measure hidden held small
measure hidden-large held large
measure reserved held reserved
large=/sys/kernel/mm/transparent_hugepage
if [ -e $large/hugepages-64kB ]; then
  echo never >$large/hugepages-2048kB/enabled; echo always >$large/hugepages-64kB/enabled
  measure joined touched {RSS_MIB} {HOT_MIB} huge
  measure joined-scattered touched {RSS_MIB} {HOT_MIB} huge scattered
fi
for module in /*.ko; do insmod $module; done
echo 400M >/sys/block/zram0/disksize; mkswap /dev/zram0; swapon /dev/zram0
measure swapped touched {RSS_MIB} {HOT_MIB} swapped
"""
# What zram needs, in order, as the names of files begin so that the shell lists them.
MODULES = {"6.12": ("zsmalloc", "lz4_compress", "lz4hc_compress", "zram"), "6.1": ("zsmalloc", "lzo-rle", "zram")}


@vm.once
def programs():
    """The program that measures and those that are measured, compiled once."""
    folder = CACHE / "arm64-programs"
    folder.mkdir(parents=True, exist_ok=True)
    embedded = folder / "object.S"
    # The loader is empty for arm64's object, because libbpf has to fill in the version of the kernel.
    loader = folder / "page_tables.loader"
    subprocess.run([BINARY.parent / "make_bpf_loader", OBJECT, loader, "readPageTables", "request", "wanted", "kinds",
                    "tables"], check=True)
    embedded.write_text(EMBEDDED.format(object=OBJECT, loader=loader))
    ours = sorted(path for folder in ("base", "model", "wss")
                  for path in (SOURCE / "src" / folder).rglob("*.cpp"))
    flags = ("-DFMT_HEADER_ONLY", "-DTIDEGAUGE_BPF", '-DTIDEGAUGE_VERSION="arm64"', f"-I{SOURCE}/src",
             f"-I{SOURCE}")
    return {"arm64_wss": arm64.compile_program([*ours, HERE / "arm64_wss.cpp", embedded], folder / "arm64_wss",
                                               CACHE, flags),
            "touched": arm64.compile_program([HERE.parent / "wss" / "touch.c"], folder / "touched", CACHE),
            "held": arm64.compile_program([HERE / "held.c"], folder / "held", CACHE)}


@vm.once
def results(line, processor):
    """Name → back-end → sums."""
    arm64.packages(CACHE)  # whose apt finds the kernel
    with arm64.Guest(vm.kernel(line, CACHE, "arm64"), CACHE, processor, OPTIONS) as guest:
        for name, path in programs().items():
            guest.add(path, f"/bin/{name}")
        for number, name in enumerate(MODULES[line]):
            guest.add_module(name)
            (guest.root / f"{name}.ko").rename(guest.root / f"{number}-{name}.ko")
        files = guest.run(JOB)
    told = {}
    for name, text in files.items():
        if name.endswith(".jsonl"):
            rows = [json.loads(row) for row in text.decode().splitlines()]
            told[pathlib.Path(name).stem] = {row["backend"]: row for row in rows}
            if len(rows) != 3:
                raise AssertionError(f"{name}: {files[name.replace('.jsonl', '.err')].decode()}")
    told["wide"] = files["wide"] != b""
    return told


class Arm64(unittest.TestCase):
    def setUp(self):
        if why_not := arm64.why_not():
            self.skipTest(why_not)
        if not OBJECT.exists():
            self.skipTest(f"needs {OBJECT} (cmake --build … --target page_tables_arm64)")

    def check(self, line, processor):
        told = results(line, processor)
        for name in ("contiguous", "scattered", "huge", "joined", "swapped"):
            for backend, sums in told.get(name, {}).items():
                # A sample of one of each two 2 MiB can miss where a set, or memory, begins and where it ends.
                bound = 4 * MIB if backend == "sampled" else BOUND
                with self.subTest(name, backend=backend):
                    self.assertAlmostEqual(sums["referenced"], HOT_MIB * MIB, delta=bound)
                    if name == "huge" and backend == "sampled":
                        self.assertAlmostEqual(sums["huge"], RSS_MIB * MIB, delta=bound)
                    else:
                        self.assertEqual(sums["huge"], RSS_MIB * MIB if name == "huge" else 0)
        for name in ("contiguous", "scattered", "huge", "hidden", "reserved", "joined", "joined-scattered", "swapped"):
            if name in told:
                pte, smaps = told[name]["pte"], told[name]["smaps"]
                for sum_name in ("rss", "referenced", "dirty", "huge", "hugetlb", "swap"):
                    with self.subTest(name, sum=sum_name):
                        self.assertAlmostEqual(pte[sum_name], smaps[sum_name], delta=BOUND)
        # smaps of 6.1 omits some of the large ones.
        for name in ("hidden", "hidden-large"):
            self.assertEqual(told[name]["pte"]["rss"], HELD_MIB * MIB, name)
        self.assertEqual(told["reserved"]["pte"]["hugetlb"], HELD_MIB * MIB)
        self.assertEqual(told["swapped"]["pte"]["swap"], (RSS_MIB - HOT_MIB) * MIB)
        return told

    def test_five_levels_and_marks_of_the_processor(self):
        told = self.check("6.12", "max")
        self.assertTrue(told["wide"])
        self.assertEqual(told["joined-scattered"]["pte"]["referenced"], RSS_MIB * MIB, "each group of 16 as a whole")

    def test_four_levels_and_marks_of_the_kernel(self):
        told = self.check("6.12", "cortex-a72")
        self.assertFalse(told["wide"])

    def test_entries_as_before_linux_6_10(self):
        self.check("6.1", "max")


if __name__ == "__main__":
    unittest.main(verbosity=2)
