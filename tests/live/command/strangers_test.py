#!/usr/bin/env python3
"""Programs that are strange to a recorder: setuid ones, those of another pid namespace, and those of
which nothing can be recorded. They are seen rightly, or the report names them and says why."""
import json
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import live  # noqa: E402  # beside this folder
import twin as twins  # noqa: E402
from live import BINARY, program  # noqa: E402

NAMESPACES = {
    "unshare": ["unshare", "-Urpf"],
    "unshare with its own /proc": ["unshare", "-Urpf", "--mount-proc"],
    "bwrap": ["bwrap", "--bind", "/", "/", "--unshare-pid", "--dev-bind", "/dev", "/dev", "--proc", "/proc"],
}
PACKAGES = {"unshare": "util-linux", "bwrap": "bubblewrap"}


def ask(*words):
    return subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, timeout=live.LIMIT_S,
                          check=True).stdout


class Recorded(live.LiveTest):
    def record_in(self, folder, command, *options, **env):
        done = subprocess.run([*self.command(folder, *options), "--", *map(str, command)],
                              env=self.environment(folder, **env), capture_output=True, text=True,
                              timeout=live.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return live.Run(folder, done)

    def setuid(self, name):
        """A copy of a program that runs as nobody, in a folder where nobody may write."""
        folder = self.folder()
        os.chmod(folder, 0o777)
        path = folder / f"setuid_{name}"
        shutil.copy(program(name), path)
        shutil.chown(path, "nobody")
        os.chmod(path, 0o4755)
        return folder, path

    def named(self, run, name):
        """The report of the only process with calls, which must have this name and its host's pid."""
        said = json.loads(ask("report", "--json", run.path))
        said = said if isinstance(said, list) else [said]
        self.assertEqual([it["recording"]["process"]["name"] for it in said], [name])
        self.assertEqual(said[0]["recording"]["unrecorded"]["rows"], [])
        self.assertEqual(said[0]["incomplete"], [])
        return said[0]["recording"]["process"]

    def skip_without(self, command):
        if not shutil.which(command[0]):
            self.skipTest(f"there is no {command[0]}: apt-get install {PACKAGES[command[0]]}")
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"{' '.join(command)} is not permitted here: run as root outside of a container")

    def assert_whole(self, run, name):
        self.assertEqual(run.twin.losses(), {})
        self.assertEqual(run.twin.unwatched(), [])
        process, = [it for it in run.twin.processes.values() if it.allocations]
        self.assertEqual(process.row["name"], name)
        wanted, = run.expected
        self.assertProcess(run.twin, process, wanted)
        # Numbers of processes and threads are those of the machine here, and of the namespace there.
        self.assertEqual(list(twins.driver_calls(run.twin).values()), list(run.logged.values()))
        return process, wanted


class Strangers(Recorded):
    def test_a_setuid_program_is_seen(self):
        folder, path = self.setuid("plain")
        run = self.record_in(folder, [path])
        process, wanted = self.assert_whole(run, path.name)
        self.assertEqual(process.row["pid"], wanted["pid"])
        self.named(run, path.name)

    def test_a_program_of_another_pid_namespace_is_seen(self):
        for name, command in NAMESPACES.items():
            with self.subTest(name):
                self.skip_without(command)
                run = self.record_in(self.folder(), [*command, program("plain")])
                process, wanted = self.assert_whole(run, "plain")
                self.assertNotEqual(process.row["pid"], wanted["pid"])  # that is 1 or 2
                self.assertEqual(self.named(run, "plain")["pid"], process.row["pid"])

    def test_with_the_library_it_is_recorded_by_the_machines_pid_or_named(self):
        for name, command in NAMESPACES.items():
            with self.subTest(name):
                self.skip_without(command)
                run = self.record_in(self.folder(), [*command, program("paced"), 40, 100], "--preload")
                names = {it.row["pid"]: it.row["name"] for it in run.twin.processes.values()}
                self.assertLessEqual(set(names.values()), {"unshare", "bwrap", "paced"})
                self.assertNotIn(1, names)
                report = ask("report", run.path)
                self.assertIn("paced", report)
                if run.twin.calls:
                    self.assert_whole(run, "paced")
                else:
                    self.assertIn("Nothing was recorded of", report)


class Unrecorded(Recorded):
    """A program of which nothing was recorded beside one of which all was."""

    def assert_named(self, run, name, reason, remedy):
        rows = json.loads(ask("query", "--format", "json", run.path,
                              "SELECT pid, name, reason, remedy FROM unrecorded"))
        self.assertEqual([(row["name"], row["remedy"]) for row in rows], [(name, remedy)])
        self.assertIn(reason, rows[0]["reason"])
        self.assertGreater(rows[0]["pid"], 1)
        for options in ([], ["--full"]):
            text = " ".join(ask("report", run.path, *options).split())
            self.assertIn("Nothing was recorded of", text)
            self.assertIn(f"{name} (pid {rows[0]['pid']}): ", text)
            self.assertIn(remedy, text)
            self.assertNotIn("pid 0", text)
        said = json.loads(ask("report", "--json", run.path))
        for it in said if isinstance(said, list) else [said]:
            row, = it["recording"]["unrecorded"]["rows"]
            self.assertEqual({key: row[key] for key in rows[0]}, rows[0])
            self.assertIn(f"{name} (pid {row['pid']})", it["recording"]["unrecorded"]["sentences"][0]["text"])
        return rows[0]

    def test_a_program_that_changed_ld_preload(self):
        run = self.record_in(self.folder(), ["sh", "-c", f"{program('plain')}; LD_PRELOAD= {program('paced')} 40 100"],
                             "--preload")
        row = self.assert_named(run, "paced", "LD_PRELOAD was changed", "Record it with eBPF (as root, without "
                                "--preload), which needs no library.")
        self.assertIn(row["pid"], [it["pid"] for it in run.expected])

    def test_a_setuid_program_with_the_library(self):
        folder, path = self.setuid("paced")
        of_nobody = folder / "of_nobody.json"  # who may not write the file of the first program
        run = self.record_in(folder, ["sh", "-c", f"{program('plain')}; EXPECT={of_nobody} {path} 40 100"],
                             "--preload")
        self.assert_named(run, path.name, "did not load the library", "Record it with eBPF (as root, without "
                          "--preload), which needs no library.")

    def test_a_static_program_without_symbols(self):
        whole = program("static_all", "-static", "-l:libgpu_static.a", "-lstdc++", source="threads")
        folder = self.folder()
        (folder / "nothing").write_text("kernels")
        subprocess.run(["objcopy", "--strip-all", "--add-section", f".nv_fatbin={folder / 'nothing'}", whole,
                        folder / "stripped"], check=True)
        run = self.record_in(folder, ["sh", "-c", f"{program('plain')}; {folder / 'stripped'} 4 3"])
        self.assert_named(run, "stripped", "it is stripped", "Keep the symbols of the program, or link CUDA's "
                          "libraries dynamically (nvcc -cudart shared).")
        # What was recorded stays unmarked: nothing of it is missing.
        process, = json.loads(ask("query", "--format", "json", run.path, "SELECT name, incomplete FROM all_processes"))
        self.assertEqual(process, {"name": "plain", "incomplete": None})

    def test_of_a_run_that_was_seen_whole_there_is_none(self):
        run = self.record(program("plain"))
        self.assertNotIn("Nothing was recorded", ask("report", "--full", run.path))


if __name__ == "__main__":
    live.main()
