#!/usr/bin/env python3
"""Faults of the recorder: killed, disk full, no privilege, a ring that overflows, commands and
processes that are not there. Written rows stay valid, the target continues, the message says
what is missing and what to do."""
import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import time
import unittest

import live
from live import BINARY, LIMIT_S, LiveTest, libraries, program
from twin import Twin


def wait_until(condition, what):
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within a minute")
        time.sleep(0.02)


def rows_in(path):
    """Calls that were committed so far; 0 while there is no file."""
    try:
        return len(Twin(path).calls)
    except Exception:  # the file is being made
        return 0


def probes_in_kernel():
    """uprobe links of all recorders, as bpftool lists them; None without bpftool."""
    tool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    if not os.access(tool, os.X_OK):
        return None
    text = subprocess.run([tool, "prog", "list"], capture_output=True, text=True, check=False).stdout
    return sum(" memory_enter " in line for line in text.splitlines())


def state_of(pid):
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def groups_of(group):
    """Processes of a group that run."""
    found = []
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if words[2] == str(group) and words[0] != "Z":
            found.append(path.parent.name)
    return found


class Killed(LiveTest):
    def start(self, folder, *words):
        return subprocess.Popen([*self.command(folder), "--", *map(str, words)],
                                env=self.environment(folder), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def test_the_recorder_by_kill_9(self):
        """The file is valid, the command continues to its end, no probe stays in the kernel."""
        folder, before = self.folder(), probes_in_kernel()
        recorder = self.start(folder, program("pairs"), 300000, "say")
        self.assertEqual(recorder.stdout.readline(), "started\n")
        wait_until(lambda: rows_in(folder / "run.sqlite") > 100, "calls in the file")
        recorder.kill()
        recorder.wait()
        wait_until(lambda: live.twins.has_expectation(folder / "expected.json"), "the end of the command")
        twin = Twin(folder / "run.sqlite")  # checks the file's integrity
        self.assertGreater(len(twin.calls), 100)
        names = {c["name"] for c in twin.calls}
        self.assertLessEqual({"cudaMalloc", "cuMemFree_v2"}, names)
        asked = subprocess.run([live.BINARY, "query", folder / "run.sqlite", "SELECT figures, reason FROM incomplete",
                                "--format", "json"], capture_output=True, text=True, check=True).stdout
        self.assertIn("its recorder was killed", asked)
        self.assertIn("launches", asked)
        if before is not None:
            wait_until(lambda: probes_in_kernel() <= before, "probes of the recorder to go")
        recorder.stdout.close()
        recorder.stderr.close()

    def test_the_recorder_by_kill_9_while_it_places_probes(self):
        """A thread of it that takes probes back then waits for the program that it held."""
        for wait_ms in range(1, 21, 2):
            folder = self.folder()
            recorder = self.start(folder, program("plain"))
            end = time.monotonic() + LIMIT_S
            while "plain" not in names_of_children(recorder.pid) and recorder.poll() is None:
                self.assertLess(time.monotonic(), end)
            time.sleep(wait_ms / 1000)
            recorder.kill()
            recorder.communicate(timeout=20)  # the program has its standard output, too

    def test_the_recorder_by_kill_9_while_the_command_is_stopped(self):
        """A process of the recorder's group that is stopped when the recorder dies continues."""
        folder = self.folder()
        recorder = subprocess.Popen([*self.command(folder), "--", str(program("killed")), "wait"],
                                    env=self.environment(folder), start_new_session=True,
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: live.twins.has_expectation(folder / "expected.json"), "the program to hold its memory")
        pid = live.twins.expectations(folder / "expected.json")[0]["pid"]
        os.kill(pid, signal.SIGSTOP)
        wait_until(lambda: state_of(pid) == "T", "the program to stop")
        recorder.kill()
        recorder.wait()
        try:
            wait_until(lambda: state_of(pid) in "SR", "the program to continue")
        finally:
            os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not groups_of(recorder.pid), "the watchdog to go")
        recorder.stdout.close()
        recorder.stderr.close()

    def test_the_target_by_kill_9(self):
        folder = self.folder()
        recorder = self.start(folder, program("killed"), "wait")
        wait_until(lambda: live.twins.has_expectation(folder / "expected.json"), "the program to hold its memory")
        pid = live.twins.expectations(folder / "expected.json")[0]["pid"]
        os.kill(pid, signal.SIGKILL)
        _, err = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 128 + 9, err)
        process = Twin(folder / "run.sqlite").process(pid=pid)
        self.assertEqual(process.live["device"], sum(range(1000, 10000, 1000)))
        self.assertEqual(process.row["end_reason"], "exit")

    def test_signals_reach_the_command(self):
        folder = self.folder()
        recorder = self.start(folder, program("killed"), "wait")
        wait_until(lambda: live.twins.has_expectation(folder / "expected.json"), "the program to hold its memory")
        recorder.terminate()
        _, err = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 128 + 15, err)
        Twin(folder / "run.sqlite")


def names_of_children(pid):
    names = []
    for child in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            names.append(pathlib.Path(f"/proc/{child}/comm").read_text().strip())
        except OSError:
            pass
    return names


class Room(LiveTest):
    def assertReadsWhatWasWritten(self, path):
        """It is not called damaged, and all its figures say that they may lack what came later."""
        done = subprocess.run([BINARY, "query", path, "SELECT figures, reason FROM incomplete", "--format", "json"],
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("damaged", done.stderr)
        row, = [row for row in json.loads(done.stdout) if "the disk was full" in row["reason"]]
        self.assertIn("memory", row["figures"])

    def test_a_disk_that_is_full_inside_a_page(self):
        folder = self.folder()
        disk = folder / "disk"
        disk.mkdir()
        for kib in (900, 1200, 1500):
            if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kib}k", "tmpfs", disk],
                              capture_output=True, check=False).returncode != 0:
                self.skipTest("no tmpfs can be mounted here: run as root outside a restricted container")
            try:
                with self.subTest(kib):
                    done = subprocess.run([BINARY, "record", "-o", disk / "run.sqlite", "--no-summary",
                                           "--keep-free", "0", "--", program("pairs"), "20000"],
                                          env=self.environment(folder, FAKE_GPU_CALLS=""), capture_output=True,
                                          text=True, timeout=LIMIT_S, check=False)
                    self.assertEqual(done.returncode, 5, done.stderr)
                    self.assertReadsWhatWasWritten(disk / "run.sqlite")
            finally:
                subprocess.run(["umount", disk], check=True)

    def test_a_file_that_is_moved_has_what_was_written(self):
        folder = self.folder()
        recorder = subprocess.Popen(
            [*self.command(folder), "--", str(program("pairs")), "100000", "say"],
            env=self.environment(folder, FAKE_GPU_CALLS=""), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(recorder.stdout.readline(), "started\n")
        wait_until(lambda: rows_in(folder / "run.sqlite") > 100, "calls in the file")
        (folder / "run.sqlite").rename(folder / "moved.sqlite")
        _, err = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual(recorder.returncode, 5, err)
        self.assertIn("Earlier data is in the file under its new name", err)
        self.assertGreater(len(Twin(folder / "moved.sqlite").calls), 100)
        self.assertEqual(list(folder.glob("run.sqlite*")), [])

    def test_a_full_disk_keeps_what_was_written(self):
        """Even if far more comes at once than the disk can take: here the recorder was stopped."""
        folder = self.folder()
        disk = folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", disk],
                          capture_output=True, check=False).returncode != 0:
            self.skipTest("no tmpfs can be mounted here: run as root outside a restricted container")
        try:
            recorder = subprocess.Popen(
                [str(BINARY), "record", "-o", str(disk / "run.sqlite"), "--no-summary", "--keep-free", "0", "--",
                 str(program("pairs")), "20000", "say"],
                env=self.environment(folder, FAKE_GPU_CALLS=""), stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True)
            self.assertEqual(recorder.stdout.readline(), "started\n")
            recorder.send_signal(signal.SIGSTOP)
            wait_until(lambda: live.twins.has_expectation(folder / "expected.json"), "the end of the command")
            recorder.send_signal(signal.SIGCONT)
            _, err = recorder.communicate(timeout=LIMIT_S)
            self.assertEqual(recorder.returncode, 5, err)
            self.assertRegex(err, "(?i)no space|full")
            self.assertReadsWhatWasWritten(disk / "run.sqlite")
            copy = folder / "copy.sqlite"
            for name in ("run.sqlite", "run.sqlite-wal"):
                if (disk / name).exists():
                    shutil.copy(disk / name, str(copy) + name.removeprefix("run.sqlite"))
            self.assertGreater(len(Twin(copy).calls), 1000)
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_without_memory_for_its_rings_nothing_runs(self):
        folder = self.folder()
        few = 400 << 20
        done = subprocess.run([*self.command(folder, "--ring", "512MiB"), "--", "touch", folder / "ran"],
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (few, few)),
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("no memory for the rings", done.stderr)
        self.assertEqual([path.name for path in folder.glob("r*")], [])

    def test_a_recording_that_is_being_written_is_not_replaced(self):
        """Nor is the command run that nobody would record."""
        folder = self.folder()
        recorder = subprocess.Popen([*self.command(folder), "--", "sh", "-c", "echo started; read line"],
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    text=True)
        self.assertEqual(recorder.stdout.readline(), "started\n")
        again = subprocess.run([*self.command(folder, "--force"), "--", "touch", folder / "ran"],
                               capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(again.returncode, 2, again.stderr)
        self.assertIn("is being recorded to", again.stderr)
        self.assertFalse((folder / "ran").exists())
        _, err = recorder.communicate("go\n", timeout=LIMIT_S)
        self.assertEqual(recorder.returncode, 0, err)
        self.assertEqual(len(Twin(folder / "run.sqlite").losses()), 0)

    def test_a_file_that_is_removed_ends_the_recording(self):
        folder = self.folder()
        recorder = subprocess.Popen(
            [*self.command(folder), "--", str(program("pairs")), "20000", "say"],
            env=self.environment(folder, FAKE_GPU_CALLS=""), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.assertEqual(recorder.stdout.readline(), "started\n")
        for file in folder.glob("run.sqlite*"):
            file.unlink()
        _, err = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual(recorder.returncode, 5, err)
        self.assertIn("removed while it was recorded", err)
        self.assertEqual(list(folder.glob("run.sqlite*")), [])

    def test_a_file_that_another_program_cuts_ends_the_recording(self):
        folder = self.folder()
        script = f"{program('pairs')} 20000; sleep 1.5; : >{folder}/run.sqlite; {program('pairs')} 20000; exit 6"
        recorder = subprocess.run([*self.command(folder), "--", "sh", "-c", script],
                                  env=self.environment(folder, FAKE_GPU_CALLS=""), capture_output=True, text=True,
                                  timeout=LIMIT_S, check=False)
        self.assertEqual(recorder.returncode, 6, recorder.stderr)  # the command's own
        self.assertIn("another program cut the file", recorder.stderr)
        self.assertNotIn("calls of", recorder.stderr)

    def test_a_file_that_is_removed_leaves_the_command_its_signals_and_its_exit_status(self):
        folder = self.folder()
        script = f"trap 'exit 9' TERM; {program('pairs')} 20000 say; while :; do sleep 0.05; done"
        recorder = subprocess.Popen([*self.command(folder), "--", "sh", "-c", script],
                                    env=self.environment(folder, FAKE_GPU_CALLS=""), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual(recorder.stdout.readline(), "started\n")
        for file in folder.glob("run.sqlite*"):
            file.unlink()
        said = ""
        while "removed while it was recorded" not in said:
            line = recorder.stderr.readline()
            self.assertTrue(line, said)
            said += line
        self.assertIsNone(recorder.poll())
        recorder.terminate()
        _, err = recorder.communicate(timeout=LIMIT_S)
        self.assertEqual(recorder.returncode, 9, said + err)

    def test_a_ring_that_overflows_says_so(self):
        """Stopped for a moment, the recorder cannot read; lost records are counted and reported."""
        folder = self.folder()
        recorder = subprocess.Popen(
            [*self.command(folder, "--ring", "64KiB"), "--", str(program("pairs")), "20000", "say"],
            env=self.environment(folder, FAKE_GPU_CALLS=""), stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.assertEqual(recorder.stdout.readline(), "started\n")
        recorder.send_signal(signal.SIGSTOP)
        wait_until(lambda: live.twins.has_expectation(folder / "expected.json"), "the end of the command")
        recorder.send_signal(signal.SIGCONT)
        _, err = recorder.communicate(timeout=60)
        self.assertIn("incomplete", err)
        self.assertIn("--ring", err)
        twin = Twin(folder / "run.sqlite")
        lost = twin.losses()["memory ring full"]
        self.assertEqual(len([c for c in twin.calls if c["kind"] == "device"]) + lost, 4 * 20000)
        why = f"lost: {lost:,} × memory ring full"
        done = subprocess.run([BINARY, "report", "--json", folder / "run.sqlite"],
                              capture_output=True, text=True, timeout=LIMIT_S, check=True)
        said = json.loads(done.stdout)
        # A lost free makes a figure too high, so none is a lower bound; and no order is blamed.
        self.assertNotIn(True, [device["at_least"] for device in said["devices"]])
        self.assertEqual({device["peak"]["uncertain_bytes"] for device in said["devices"]}, {0})
        self.assertIn(why, [row["reason"] for row in said["incomplete"]])
        for device in said["devices"]:
            for figures in ("initial", "final", "holders_at_peak"):
                self.assertIn(why, device[figures]["incomplete"])


class Limits(LiveTest):
    def test_after_its_time_it_waits_for_its_command(self):
        """Programs that start then are neither held nor recorded."""
        folder = self.folder()
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime
        done = subprocess.run([*self.command(folder, "--duration", "0.2"), "--", "sh", "-c",
                               f"sleep 3; {program('plain')}; echo ended; exit 3"], env=self.environment(folder),
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (3, "ended\n"), done.stderr)
        self.assertIn("record waits for its command", done.stderr)
        # A program that is held turns in the kernel, for 30 s.
        self.assertLess(resource.getrusage(resource.RUSAGE_CHILDREN).ru_stime - before, 15)
        self.assertEqual(Twin(folder / "run.sqlite").calls, [])

    def test_a_recording_of_a_process_that_made_no_call(self):
        folder = self.folder()
        process = subprocess.Popen(["sleep", "30"])
        try:
            subprocess.run([*self.command(folder, "-p", str(process.pid), "--duration", "0.3")], check=True,
                           capture_output=True, timeout=LIMIT_S)
        finally:
            process.kill()
            process.wait()
        said = subprocess.run([BINARY, "report", folder / "run.sqlite"], capture_output=True, text=True, check=True)
        self.assertIn("No call of the CUDA driver, the runtime or PyTorch was recorded.", said.stdout)
        self.assertNotIn("pid 0", said.stdout)

    def test_an_empty_value_or_caller_is_refused(self):
        for words in (["record", "--comm", ""], ["record", "--max-size", "", "--", "true"],
                      ["record", "-o", "", "--", "true"], ["monitor", "--otlp", ""], ["report", "--top", ""]):
            with self.subTest(words):
                done = subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
                self.assertEqual(done.returncode, 2)
                self.assertRegex(done.stderr, "must not be empty|must be ")
        for number in ("4294967295", "abc", "-1"):
            done = subprocess.run([BINARY, "record", "--", "true"], env={**os.environ, "SUDO_UID": number},
                                  cwd=self.folder(), capture_output=True, text=True, timeout=LIMIT_S, check=False)
            if os.geteuid() == 0:
                self.assertEqual(done.returncode, 2)
                self.assertIn("SUDO_UID", done.stderr)


class Clocks(LiveTest):
    def test_in_a_time_namespace_the_times_are_those_of_the_wall(self):
        shifted = ["unshare", "-T", "--monotonic", "100000"]
        if subprocess.run([*shifted, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no time namespace can be made here: run as root on Linux 5.6 or later")
        folder, before = self.folder(), time.time_ns()
        done = subprocess.run([*shifted, *self.command(folder), "--", str(program("plain"))],
                              env=self.environment(folder), capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        run = live.Run(folder, done)
        self.assertAsExpected(run)
        for call in run.twin.calls:
            self.assertTrue(before <= call["start_ns"] <= call["end_ns"] <= time.time_ns())


class NotThere(LiveTest):
    def run_it(self, *words, **more):
        folder = self.folder()
        return subprocess.run([*self.command(folder), *map(str, words)], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False, **more), folder

    def test_a_command_that_is_not_found(self):
        done, folder = self.run_it("--", "no-such-program-anywhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("“no-such-program-anywhere” cannot be run", done.stderr)
        self.assertFalse((folder / "run.sqlite").exists())

    def test_a_process_that_is_not_there(self):
        child = subprocess.Popen(["true"])
        child.wait()
        done, folder = self.run_it("-p", child.pid)
        self.assertEqual(done.returncode, 2)
        self.assertIn(str(child.pid), done.stderr)
        self.assertFalse((folder / "run.sqlite").exists())

    def test_a_process_that_ends_while_it_is_attached_to(self):
        for _ in range(5):
            child = subprocess.Popen(["sleep", "0.1"])
            time.sleep(0.05)
            done, _ = self.run_it("-p", child.pid)
            child.wait()
            self.assertIn(done.returncode, (0, 2), done.stderr)


class OwnPidNamespace(LiveTest):
    def test_it_does_not_record_the_processes_of_others(self):
        words = ["unshare", "--pid", "--fork", "--mount-proc"]
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no pid namespace can be made here (run as root)")
        folder = self.folder()
        done = subprocess.run([*words, *self.command(folder), "--", str(program("plain"))],
                              env=self.environment(folder), capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("--pid=host", done.stderr)
        self.assertFalse((folder / "run.sqlite").exists())
        self.assertFalse((folder / "expected.json").exists(), "the command ran")
        told = subprocess.run([*words, str(BINARY), "doctor"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(told.returncode, 4, told.stdout)
        self.assertRegex(told.stdout, "missing +process numbers")


class NoTypeInformation(LiveTest):
    def test_it_says_what_the_kernel_lacks(self):
        """In a mount namespace where nothing is under /sys/kernel/btf, as in a kernel without BTF."""
        folder = self.folder()
        hide = "mount -t tmpfs none /sys/kernel/btf && exec \"$@\""
        words = ["unshare", "--mount", "sh", "-c", hide, "sh"]
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("nothing can be mounted over /sys/kernel/btf here (run as root)")
        done = subprocess.run([*words, *self.command(folder), "--", "true"], capture_output=True,
                              text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("no type information (/sys/kernel/btf/vmlinux)", done.stderr)
        self.assertIn("`record --preload` needs none", done.stderr)
        self.assertFalse((folder / "run.sqlite").exists())
        done = subprocess.run([*words, *self.command(folder, "--preload"), "--", program("plain")], capture_output=True,
                              text=True, timeout=LIMIT_S, check=False, env=self.environment(folder))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAsExpected(live.Run(folder, done))
        told = subprocess.run([*words, str(BINARY), "doctor"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=False)
        self.assertEqual(told.returncode, 4, told.stdout)
        self.assertRegex(told.stdout, "missing +type information")


class NoPrivilege(unittest.TestCase):
    """Needs no privilege, but root to give it up."""

    def test_an_ordinary_user_sees_what_is_missing(self):
        if os.getuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root and setpriv, to become a user without privileges")
        words = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
                 "--bounding-set=-all"]
        self.refused(words)

    def test_root_of_a_user_namespace_sees_what_is_missing(self):
        probe = subprocess.run(["unshare", "-Ur", "true"], capture_output=True, check=False)
        if probe.returncode != 0:
            self.skipTest("no user namespaces here")
        self.refused(["unshare", "-Ur"])

    def refused(self, words):
        # Where everyone may write, and with a program that everyone may run.
        folder = pathlib.Path(subprocess.run(["mktemp", "-d"], capture_output=True, text=True,
                                             check=True).stdout.strip())
        folder.chmod(0o777)
        try:
            binary = shutil.copy(BINARY, folder / "tidegauge")
            done = subprocess.run([*words, binary, "record", "-o", folder / "run.sqlite", "--", "true"],
                                  capture_output=True, text=True, timeout=LIMIT_S, check=False)
            self.assertEqual(done.returncode, 4, done.stderr)
            self.assertRegex(done.stderr, "CAP_BPF")
            self.assertRegex(done.stderr, "CAP_PERFMON")
            self.assertFalse((folder / "run.sqlite").exists())
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    live.main()
