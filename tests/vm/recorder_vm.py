#!/usr/bin/env python3
"""The recorder on kernels that this machine does not run: Debian's 6.12, and 6.1, which has no link
for many functions. The programs of ../live run in the guest; their recordings come back and must
equal what each program counted itself and what the stand-in's driver logged, as in live/ledger_test.

Needs qemu-system-x86, busybox-static and cpio, no root; about 20 s for 6.12 and a minute for 6.1."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "live")]
import live  # noqa: E402  # found beside this folder
import twin as twins  # noqa: E402
import vm  # noqa: E402

CACHE = pathlib.Path(os.environ.get("TIDEGAUGE_VM", live.BINARY.parent / "vm")).resolve()
PROGRAMS = ("plain", "driver", "vmm", "pools", "others", "launches", "threads")
WORDS = {"threads": "8 4"}


class OtherKernels(live.LiveTest):
    def setUp(self):
        if vm.why_not():
            self.skipTest(vm.why_not())
        self.folders = []

    def run_on(self, line, programs):
        with vm.Guest(vm.kernel(line, CACHE)) as guest:
            guest.add_program(str(live.BINARY), "/bin/tidegauge")
            for library in live.libraries().iterdir():
                if library.is_file():
                    guest.add(library.resolve(), library)
            job = ["tidegauge doctor >/out/doctor; echo $? >/out/doctor.code",
                   f"export LD_LIBRARY_PATH={live.libraries()}"]
            for name in (*programs, "pairs"):
                guest.add_program(str(live.program(name)))
            for name in programs:
                job += [f"mkdir /out/{name}; cd /out/{name}",
                        "EXPECT=expected.json FAKE_GPU_CALLS=calls.txt tidegauge record -o run.sqlite "
                        f"--no-summary -- {live.program(name)} {WORDS.get(name, '')} 2>said; echo $? >code"]
            step = "for i in $(seq 30); do sleep 0.2; date -s 2030-01-01; date -s 2020-01-01; done"
            job += [f"mkdir /out/clock; cd /out/clock; ({step}) >/dev/null &",
                    f"tidegauge record -o run.sqlite --no-summary -- {live.program('pairs')} 2000 >said; "
                    "echo $? >code"] if line == "6.12" else []
            files = guest.run("\n".join(job))
        folder = self.folder()
        for name, content in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)
        return folder, files

    def assertRecorded(self, folder, name):
        with self.subTest(name):
            said = (folder / name / "said").read_text()
            self.assertEqual((folder / name / "code").read_text(), "0\n", said)
            twin = twins.Twin(folder / name / "run.sqlite")
            self.assertEqual(twin.losses(), {})
            wanted, = twins.expectations(folder / name / "expected.json")
            self.assertProcess(twin, twin.process(pid=wanted["pid"]), wanted)
            self.assertEqual(twins.driver_calls(twin), twins.logged_calls(folder / name / "calls.txt"))

    def test_linux_6_12(self):
        folder, files = self.run_on("6.12", PROGRAMS)
        self.assertEqual(files["doctor.code"], b"0\n", files["doctor"].decode())
        for name in PROGRAMS:
            self.assertRecorded(folder, name)
        self.assertTrue((folder / "clock" / "run.sqlite").exists())
        clock = twins.Twin(folder / "clock" / "run.sqlite")
        times = [call["end_ns"] for call in clock.calls]
        self.assertGreaterEqual(len(times), 4 * 2000)
        # The wall clock was set ten years forward and back meanwhile: times continue evenly.
        self.assertEqual(times, sorted(times))
        self.assertLess(times[-1] - times[0], 60_000_000_000)

    def test_linux_6_1_links_each_function(self):
        folder, files = self.run_on("6.1", ("plain", "vmm"))
        self.assertEqual(files["doctor.code"], b"0\n", files["doctor"].decode())
        self.assertRegex(files["doctor"].decode(), "limited +uprobe_multi")
        for name in ("plain", "vmm"):
            self.assertRecorded(folder, name)
            self.assertIn("each function needs its own probe", files[f"{name}/said"].decode())


if __name__ == "__main__":
    live.main()
