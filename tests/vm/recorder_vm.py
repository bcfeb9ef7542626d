#!/usr/bin/env python3
"""The recorder on kernels that this machine does not run: Debian's 6.12; 6.1, which has no link for
many functions; and 5.10, which refuses it. docs/record/kernels.md is the table of what is tested here. The programs of ../live run in the guest; their recordings come back and must
equal what each program counted itself and what the stand-in's driver logged, as in live/ledger_test.

Needs qemu-system-x86, busybox-static and cpio, no root; about 20 s for 6.12 and 5.10, and a minute for 6.1."""
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
            # A small disk: --keep-free.
            record = "tidegauge record -o run.sqlite --no-summary --keep-free 0"
            for name in programs:
                for kind, option in (("", ""), ("preload-", "--preload")):
                    job += [f"mkdir /out/{kind}{name}; cd /out/{kind}{name}",
                            f"EXPECT=expected.json FAKE_GPU_CALLS=calls.txt {record} {option} -- "
                            f"{live.program(name)} {WORDS.get(name, '')} 2>said; echo $? >code"]
            step = "for i in $(seq 30); do sleep 0.2; date -s 2030-01-01; date -s 2020-01-01; done"
            job += [f"mkdir /out/clock; cd /out/clock; ({step}) >/dev/null &",
                    f"{record} -- {live.program('pairs')} 2000 >said; "
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
            self.assertRecorded(folder, f"preload-{name}")
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
            self.assertRecorded(folder, f"preload-{name}")

    def test_linux_5_10_refuses_and_preload_records(self):
        folder, files = self.run_on("5.10", ("plain", "vmm"))
        self.assertEqual(files["doctor.code"], b"4\n", files["doctor"].decode())
        for name in ("plain", "vmm"):
            said = files[f"{name}/said"].decode()
            self.assertEqual(files[f"{name}/code"], b"4\n", said)
            self.assertIn("Linux 5.10 is too old to record with eBPF, which needs 6.1; here `record --preload -- "
                          "COMMAND` records without it", said)
            self.assertNotIn(f"{name}/run.sqlite", files)
            self.assertNotIn(f"{name}/expected.json", files)  # the command did not run
            self.assertRecorded(folder, f"preload-{name}")


if __name__ == "__main__":
    live.main()
