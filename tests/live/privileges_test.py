#!/usr/bin/env python3
"""As whom `record` runs its command, what the recorder itself may do meanwhile, and whose the files
are: under sudo, through --sudo, su, with file capabilities, as root and as a container's root. The
command must find what it finds without a recorder: user, groups, HOME, umask, variables,
capabilities, owner of what it writes."""
import os
import pathlib
import shutil
import stat
import unittest

import accounts
import live
from accounts import GID, MORE_GID, NAME, UID
from live import BINARY, LiveTest, program
from twin import Twin

RECORDER = {"cap_dac_read_search": 2, "cap_sys_ptrace": 19, "cap_perfmon": 38, "cap_bpf": 39}
FOUR = sum(1 << number for number in RECORDER.values())
DAC_OVERRIDE = 1 << 1
# Docker's default set.
CONTAINER = ("chown", "dac_override", "fowner", "fsetid", "kill", "setgid", "setuid", "setpcap",
             "net_bind_service", "net_raw", "sys_chroot", "mknod", "audit_write", "setfcap")
# Every line is compared with a run without a recorder; "recorder" and "beside" are of it alone.
SCRIPT = """
echo user $(id -u) $(id -g) $(id -G)
echo home $HOME $USER $LOGNAME $SHELL
echo umask $(umask)
echo sudo $SUDO_UID $SUDO_USER
echo capabilities $(grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status)
touch made; stat -c 'made %u %g %a' made
"""
OF_RECORDER = """
until [ -e run.sqlite-wal ]; do sleep 0.02; done
stat -c 'beside %u %g %a' run.sqlite run.sqlite-wal run.sqlite-shm >&3
echo recorder $(sed -n 's/^Uid:\\|^Gid:\\|^Groups:\\|^CapInh:\\|^CapPrm:\\|^CapEff:\\|^CapAmb://p' /proc/$PPID/status) >&3
exec PROGRAM
"""


class Privileges(LiveTest):
    def setUp(self):
        super().setUp()
        if accounts.why_not():
            self.skipTest(accounts.why_not())
        self.account = accounts.Account()
        self.addCleanup(self.account.temporary.cleanup)
        self.home = self.account.home
        (self.home / "alone").write_text(SCRIPT)
        (self.home / "watched").write_text("exec 3>seen\n" + SCRIPT + OF_RECORDER.replace("PROGRAM", str(program("plain"))))
        if self.account.run("test", "-x", BINARY, "-a", "-x", program("plain")).returncode != 0:
            self.skipTest(f"{BINARY.parent} cannot be read by other users than root")

    def alone(self, *before, user=NAME, **more):
        done = self.account.run(*before, "sh", "alone", user=user, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.home / "made").unlink()
        return done.stdout

    def recorded(self, *words, user=NAME, options=(), code=0, **more):
        """What the command printed, what it saw of the recorder, and standard error."""
        done = self.account.run(*words, "record", "-o", "run.sqlite", "--no-summary", *options, "--", "sh", "watched",
                                user=user, **more)
        self.assertEqual(done.returncode, code, done.stderr)
        seen = (self.home / "seen").read_text().splitlines()
        beside = {line.removeprefix("beside ") for line in seen if line.startswith("beside")}
        recorder, = [line.split()[1:] for line in seen if line.startswith("recorder")]
        (self.home / "made").unlink()
        return done.stdout, beside, recorder, done.stderr

    def assertRecording(self, uid, gid):
        """It is the user's alone, complete, and nothing lies beside it."""
        path = self.home / "run.sqlite"
        status = path.stat()
        self.assertEqual((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (uid, gid, 0o600))
        self.assertEqual(sorted(p.name for p in self.home.glob("run.*")), ["run.sqlite"])
        twin = Twin(path)
        self.assertEqual((twin.losses(), twin.unwatched()), ({}, []))
        self.assertGreater(sum(c["name"] == "cudaMalloc" for c in twin.calls), 0)

    def assertRecorder(self, recorder, uid, gid, groups, capabilities):
        """Its ids, all four of a kind, and its capabilities: none inheritable, none ambient."""
        self.assertEqual(recorder[:8], [str(uid)] * 4 + [str(gid)] * 4)
        self.assertEqual(set(recorder[8:-4]), set(groups))
        self.assertEqual([int(word, 16) for word in recorder[-4:]], [0, capabilities, capabilities, 0])

    def test_sudo_runs_the_command_as_the_caller(self):
        mine = {"VIRTUAL_ENV": "/v", "CONDA_PREFIX": "/c", "LD_LIBRARY_PATH": "/l", "PATH": "/own:/usr/bin:/bin"}
        said, beside, recorder, err = self.recorded("sudo", BINARY, env=mine)
        self.assertEqual(said, self.alone())
        self.assertIn(f"user {UID} {GID} {GID} {MORE_GID}\nhome {self.home} {NAME} {NAME} /bin/sh\numask 0027\n", said)
        self.assertIn("CapEff: 0000000000000000", said)
        self.assertEqual(beside, {f"{UID} {GID} 600"})
        self.assertRecorder(recorder, UID, GID, [str(GID), str(MORE_GID)], FOUR)
        self.assertRecording(UID, GID)
        self.assertIn(f"the command runs as {NAME} (uid {UID})", err)
        viewed = self.account.run(BINARY, "report", "run.sqlite")  # without root
        self.assertEqual(viewed.returncode, 0, viewed.stderr)
        self.assertIn("plain", viewed.stdout)
        self.assertIn("sudo did not pass on CONDA_PREFIX, LD_LIBRARY_PATH, VIRTUAL_ENV, and replaced PATH", err)

    def test_sudo_as_root_runs_it_as_root(self):
        said, _, recorder, err = self.recorded("sudo", BINARY, options=("--as-root",))
        self.assertIn("user 0 0 0\n", said)
        self.assertEqual(said, self.alone("sudo"))
        self.assertRecorder(recorder, UID, GID, [str(GID), str(MORE_GID)], FOUR)
        self.assertRecording(UID, GID)
        self.assertNotIn("the command runs as", err)

    def test_the_option_sudo_passes_every_variable_and_the_exit_status(self):
        mine = {"VIRTUAL_ENV": "/v", "LD_LIBRARY_PATH": "/l", "PATH": f"{self.home}/own:/usr/bin:/bin", "MINE": "a b"}
        own = self.home / "own" / "show"
        own.parent.mkdir()
        own.write_text("#!/bin/sh\nenv | grep -v ^_= | sort; exit 7\n")
        own.chmod(0o755)
        # From a folder that is not on the path, as a virtual environment's is not on sudo's.
        done = self.account.run("sh", "-c", f"cd {BINARY.parent} && exec ./{BINARY.name} record --sudo --no-python -o "
                                f"{self.home}/run.sqlite --no-summary -- show", env=mine)
        self.assertEqual(done.returncode, 7, done.stderr)
        without = self.account.run("sh", "-c", f"cd {BINARY.parent} && show", env=mine)
        self.assertEqual(done.stdout, without.stdout)
        self.assertIn("LD_LIBRARY_PATH=/l\n", done.stdout)
        self.assertEqual((self.home / "run.sqlite").stat().st_uid, UID)

    def test_a_file_where_the_caller_may_not_write_is_refused(self):
        """Else whoever may call `sudo tidegauge` could replace any file of the machine."""
        self.account.etc.joinpath("theirs").write_text("theirs")
        done = self.account.run("sudo", BINARY, "record", "--force", "-o", self.account.etc / "theirs", "--", "touch", "ran")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("Permission denied", done.stderr)
        self.assertEqual(self.account.etc.joinpath("theirs").read_text(), "theirs")
        self.assertFalse((self.home / "ran").exists())

    def test_a_signal_to_the_recorder_reaches_a_command_of_root(self):
        """The recorder is the caller by then and has no CAP_KILL."""
        script = "trap 'echo got it; exit 9' TERM; while :; do sleep 0.05; kill -TERM $PPID 2>/dev/null; done"
        done = self.account.run("sudo", BINARY, "record", "--as-root", "--no-summary", "-o", "run.sqlite", "--",
                                "sh", "-c", script)
        self.assertEqual((done.returncode, done.stdout), (9, "got it\n"), done.stderr)

    def test_su_to_root_without_sudo_is_root(self):
        said, beside, recorder, _ = self.recorded("su", "-c", f'exec {BINARY} "$0" "$@"', "--", "root", user=None)
        self.assertEqual(said, self.alone("su", "-c", 'exec "$0" "$@"', "--", "root", user=None))
        self.assertIn("user 0 0 0\n", said)
        self.assertEqual(beside, {"0 0 600"})
        self.assertEqual(int(recorder[-2], 16), FOUR | DAC_OVERRIDE)  # the folder is another user's

    def test_su_to_a_user_without_privileges_is_refused(self):
        done = self.account.run("su", NAME, "-c", f"exec {BINARY} record -o run.sqlite -- touch ran", user=None)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertRegex(done.stderr, "--sudo.*--preload")
        self.assertEqual([(self.home / name).exists() for name in ("run.sqlite", "ran")], [False, False])

    def test_file_capabilities(self):
        binary = self.home / "tidegauge"
        shutil.copy(BINARY, binary)
        wanted = ",".join(RECORDER) + "+ep"
        done = self.account.run(shutil.which("setcap"), wanted, binary, user=None)
        if done.returncode != 0:
            self.skipTest(f"no file capabilities in {self.home}: {done.stderr.strip()}")
        said, beside, recorder, _ = self.recorded(binary)
        self.assertEqual(said, self.alone())
        self.assertIn("CapEff: 0000000000000000", said)
        self.assertEqual(beside, {f"{UID} {GID} 600"})
        self.assertRecorder(recorder, UID, GID, [str(GID), str(MORE_GID)], FOUR)
        self.assertRecording(UID, GID)

    def test_root_keeps_four_in_its_own_folder(self):
        os.chown(self.home, 0, 0)
        said, beside, recorder, _ = self.recorded(BINARY, user=None)
        self.assertEqual(said, self.alone(user=None))
        self.assertEqual(beside, {"0 0 600"})
        self.assertEqual([int(word, 16) for word in recorder[-4:]], [0, FOUR, FOUR, 0])
        self.assertRecording(0, 0)

    def container(self, *more):
        kept = "".join(f",+{name}" for name in (*CONTAINER, *more))
        return ("setpriv", f"--bounding-set=-all{kept}", "--inh-caps=-all", "--")

    def test_a_containers_root_in_a_folder_of_another_user(self):
        words = self.container("bpf", "perfmon")
        said, _, recorder, _ = self.recorded(*words, BINARY, user=None)
        self.assertEqual(said, self.alone(*words, user=None))
        self.assertEqual(int(recorder[-2], 16),
                         1 << RECORDER["cap_bpf"] | 1 << RECORDER["cap_perfmon"] | DAC_OVERRIDE)
        self.assertRecording(0, 0)

    def test_a_containers_root_without_bpf_is_offered_preload(self):
        words = self.container()
        done = self.account.run(*words, BINARY, "record", "-o", "run.sqlite", "--", "touch", "ran", user=None)
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertIn("--preload", done.stderr)
        done = self.account.run(*words, BINARY, "record", "--preload", "-o", "run.sqlite", "--no-summary", "--",
                                program("plain"), user=None)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRecording(0, 0)


if __name__ == "__main__":
    live.main()
