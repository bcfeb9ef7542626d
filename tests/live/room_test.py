#!/usr/bin/env python3
"""What ends a recording before its command: too little room on the disk (--keep-free), a full disk, a
file that is gone, SIGTERM. The file is complete until there; the command runs to its own end, gets
its signals, and has its exit status."""
import concurrent.futures
import contextlib
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import time
import unittest

import live
from live import BINARY, LIMIT_S, LiveTest, program
from twin import Twin

MIB = 1 << 20
MOMENTS = int(os.environ.get("TIDEGAUGE_MOMENTS", "5"))
CONTINUES = "the command continues without a recording"


def meta(path):
    with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        return dict(file.execute("SELECT key, value FROM meta"))


def queued_s(pid):
    """How long the first thread of a process was ready to run and had no processor; 0 once it is gone."""
    try:
        return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError):
        return 0


class Room(LiveTest):
    def disk(self, mib):
        """A disk of that size, as a folder."""
        folder = self.folder()
        disk = folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", disk],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("no tmpfs can be mounted here: run as root outside a restricted container")
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=False)
        return folder, disk

    def tearDown(self):
        self.doCleanups()  # a mounted folder cannot be removed
        super().tearDown()

    def start(self, folder, disk, *options, command):
        return subprocess.Popen([str(BINARY), "record", "-o", str(disk / "run.sqlite"), "--no-summary", *options, "--",
                                 "sh", "-c", command], env=self.environment(folder, FAKE_GPU_CALLS=""),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_it_stops_writing_while_the_disk_has_room_for_others(self):
        folder, disk = self.disk(64)
        recorder = self.start(folder, disk, "--max-size", "none", "--keep-free", "61MiB", command=f"{program('pairs')} 60000; echo done; exit 7")
        said, err = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual((recorder.returncode, said), (7, "done\n"), err)
        self.assertIn("--keep-free", err)
        self.assertIn(CONTINUES, err)
        self.assertEqual([path.name for path in disk.iterdir()], ["run.sqlite"])
        size = (disk / "run.sqlite").stat().st_size
        self.assertGreater(size, MIB)
        # At most a journal more than it may have had: what was read at once, and moved into the file.
        self.assertLess(size, 9 * MIB)
        twin = Twin(disk / "run.sqlite")
        self.assertGreater(len(twin.calls), 1000)
        self.assertLess(len(twin.calls), 4 * 60000)
        self.assertIn("ended_ns", meta(disk / "run.sqlite"))

    def test_a_disk_without_room_is_refused_before_the_command_runs(self):
        folder, disk = self.disk(16)
        recorder = self.start(folder, disk, command=f"touch {folder}/ran")
        _, err = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual(recorder.returncode, 5, err)
        self.assertRegex(err, r"has 1\d\.\d MiB left, and record keeps 1\.00 GiB free.*--keep-free")
        self.assertFalse((folder / "ran").exists())
        self.assertEqual(list(disk.iterdir()), [])

    def test_a_full_disk_leaves_the_command_its_signals_and_its_exit_status(self):
        folder, disk = self.disk(2)
        script = f"trap 'exit 9' TERM; {program('pairs')} 20000; echo done; while :; do sleep 0.05; done"
        recorder = self.start(folder, disk, "--keep-free", "0", command=script)
        self.assertEqual(recorder.stdout.readline(), "done\n")
        said = ""
        while CONTINUES not in said:
            line = recorder.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.assertRegex(said, "(?i)no space|full")
        self.assertIsNone(recorder.poll())
        recorder.terminate()
        _, err = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual(recorder.returncode, 9, said + err)

    def test_without_max_size_it_keeps_a_quarter_of_the_free_disk(self):
        folder, disk = self.disk(64)  # 16 MiB
        recorder = self.start(folder, disk, "--keep-free", "0", command=f"{program('pairs')} 40000")
        _, err = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual(recorder.returncode, 0, err)
        parts = sorted(path.name for path in disk.iterdir())
        self.assertGreater(len(parts), 2)
        self.assertLess(sum(path.stat().st_size for path in disk.iterdir()), 16 * MIB)
        self.assertEqual(int(meta(disk / "run.sqlite")["part"]), int(parts[-2].split(".")[1]) + 1, parts)
        self.assertEqual(meta(disk / parts[-2])["part"], parts[-2].split(".")[1])

    def test_without_max_size_recordings_with_the_names_of_parts_stay(self):
        folder, disk = self.disk(64)
        (disk / "run.2.sqlite").write_text("mine")
        recorder = self.start(folder, disk, "--keep-free", "0", "--force", command=f"{program('pairs')} 20000")
        _, err = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual(recorder.returncode, 0, err)
        self.assertRegex(err, r"run\.2\.sqlite has the name of a part .* no --max-size")
        self.assertEqual((disk / "run.2.sqlite").read_text(), "mine")
        self.assertEqual(len(list(disk.iterdir())), 2)
        self.assertNotIn("part", meta(disk / "run.sqlite"))

    def test_a_recording_within_its_default_limit_says_nothing_of_parts(self):
        folder, disk = self.disk(64)
        for options in (["--max-size", "none"], []):
            recorder = self.start(folder, disk, "--keep-free", "0", "--force", *options, command=str(program("plain")))
            _, err = recorder.communicate(timeout=LIMIT_S)
            self.assertEqual(recorder.returncode, 0, err)
            self.assertNotIn("part", err)
            self.assertNotIn("part", meta(disk / "run.sqlite"))

    def test_after_sigterm_the_file_is_complete_within_5_seconds(self):
        """At random moments, from before its first row to among its last. Time in which the machine had no processor
        for the recorder does not count."""
        folder = self.folder()
        target = subprocess.Popen([program("steady"), str(2 * LIMIT_S)],
                                  env=self.environment(folder, FAKE_GPU_CALLS=""))
        self.addCleanup(target.wait)
        self.addCleanup(target.kill)
        moments = random.Random(29)
        waits = [moments.uniform(0, 0.5) for _ in range(MOMENTS)]

        def end_after(number):
            path = folder / f"{number}.sqlite"
            recorder = subprocess.Popen([BINARY, "record", "-o", path, "--no-summary", "--max-size", "none", "-p",
                                         str(target.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            while not path.exists() and recorder.poll() is None:
                time.sleep(0.005)
            time.sleep(waits[number])
            before = waited = queued_s(recorder.pid)
            begin = time.time()
            recorder.send_signal(signal.SIGTERM)
            while recorder.poll() is None and time.time() < begin + LIMIT_S:
                waited = queued_s(recorder.pid) or waited
                time.sleep(0.01)
            _, err = recorder.communicate(timeout=LIMIT_S)
            # Nothing is written to it after that.
            return path, recorder.returncode, path.stat().st_mtime - begin - (waited - before), err

        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for path, code, took, err in pool.map(end_after, range(MOMENTS)):
                self.assertEqual(code, 0, err)
                self.assertLess(took, 5, err)
                self.assertIn("ended_ns", meta(path))
                self.assertEqual([beside.name for beside in folder.glob(path.name + "-*")], [])
                Twin(path)  # whole, by SQLite's own check
                path.unlink()


if __name__ == "__main__":
    live.main()
