#!/usr/bin/env python3
"""`record --preload`, as an ordinary user: the programs of step 1 with the same truth (what each counted
itself, what the stand-in's driver logged, what twin.py works out of the recording), and what may happen
to either side. Where it runs as root it becomes `nobody` first."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import ledger_test
import live
import stacks_test
from live import BINARY, HERE, LIMIT_S, LiveTest, libraries, program, source_of
from twin import Twin, driver_calls

ORDINARY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all"] if os.getuid() == 0 else []


class PreloadTest(LiveTest):
    ordinary = ORDINARY

    def setUp(self):
        self.folders = []
        if ORDINARY and shutil.which("setpriv") is None:
            self.skipTest("runs as root here and needs setpriv to become an ordinary user")
        if ORDINARY and subprocess.run([*ORDINARY, BINARY, "--version"], capture_output=True,
                                       check=False).returncode != 0:
            self.skipTest(f"an ordinary user may not run {BINARY}: its folders must be readable")

    def folder(self):
        self.folders.append(tempfile.TemporaryDirectory())
        path = pathlib.Path(self.folders[-1].name)
        path.chmod(0o777)
        return path

    def command(self, folder, *options):
        return [*self.ordinary, *super().command(folder, "--preload", *options)]

    def assertStacks(self, run):
        rows = run.twin.rows("SELECT f.name, s.place, s.function FROM stack_lines s JOIN calls "
                             "USING(stack_id) JOIN functions f USING(function_id) WHERE f.plane = 'runtime'")
        self.assertEqual({row["function"] for row in rows if row["place"] == 1}, {"main"})
        for row in rows:
            if row["place"] == 0:
                self.assertEqual(row["function"], row["name"])


class Ledgers(PreloadTest):
    def test_every_sort_of_memory(self):
        for name in ("plain", "driver", "vmm", "pools", "others", "launches"):
            with self.subTest(name):
                self.assertAsExpected(self.record(program(name)))

    def test_memory_is_charged_to_the_device_that_a_pool_a_stream_or_a_location_names(self):
        ledger_test.Ledgers.test_memory_is_charged_to_the_device_that_a_pool_a_stream_or_a_location_names(self)

    def test_a_program_that_the_loader_was_started_for(self):
        self.assertAsExpected(self.record("/lib64/ld-linux-x86-64.so.2", program("plain")))

    def test_failures_are_failures_and_never_live(self):
        run = self.record(program("failures"), FAKE_GPU_BYTES="64m", FAKE_GPU_FAIL=ledger_test.FAILURES)
        self.assertAsExpected(run)

    def test_driver_calls_of_the_runtime_carry_its_stack_and_are_not_charged_twice(self):
        run = self.record(program("plain"))
        inner = [c for c in run.twin.calls if c["plane"] == "driver" and c["verb"] in ("allocate", "free")]
        self.assertGreater(len(inner), 0)
        self.assertTrue(all(c["in_runtime"] for c in inner))
        outer = [c for c in run.twin.calls if c["plane"] == "runtime"]
        for call in inner:
            around = [c for c in outer if c["start_ns"] <= call["start_ns"]
                      and c["end_ns"] >= call["end_ns"] and c["thread"] == call["thread"]]
            self.assertEqual([(c["inner"], c["stack_id"]) for c in around], [(1, call["stack_id"])])

    def test_sixty_four_threads(self):
        run = self.record(program("threads"), 64, 20)
        self.assertAsExpected(run)
        self.assertEqual(len({c["thread"] for c in run.twin.calls}), 64)

    def test_a_thousand_threads(self):
        self.assertAsExpected(self.record(program("threads"), 1000, 4))

    def test_calls_left_by_longjmp(self):
        run = self.record(program("jump"), FAKE_GPU_FAIL="cuMemAlloc_v2@2=-10")
        self.assertAsExpected(run, calls=False)  # the one that was left has no record
        self.assertEqual(sum(len(c) for c in driver_calls(run.twin).values()),
                         sum(len(c) for c in run.logged.values()))

    def test_contexts_and_resets_take_their_memory_with_them(self):
        self.assertAsExpected(self.record(program("contexts"), FAKE_GPU_COUNT="2"))

    def test_contexts_that_are_pushed_deep_come_back_with_their_devices(self):
        run = self.record(program("pushes"), FAKE_GPU_COUNT="2")
        self.assertAsExpected(run)
        process = run.twin.process(pid=run.expected[0]["pid"])
        self.assertEqual(sorted((b[2], b[1]) for b in process.blocks.values()),
                         sorted((int(level % 3 == 0), 1000 * (level + 1)) for level in range(7)))

    def test_kernels_have_names_and_geometry(self):
        run = self.record(program("launches"))
        rows = run.twin.rows("SELECT k.name, f.name AS function, grid_x, grid_y, grid_z, block_x, sum(count) AS count "
                             "FROM launches JOIN kernels k USING(kernel_id) JOIN functions f USING(function_id) "
                             "GROUP BY 1, 2, 3, 4, 5, 6")
        found = {(row["name"], row["function"]): tuple(row.values())[2:] for row in rows}
        self.assertEqual(found["one(float*)", "cudaLaunchKernel"], (2, 3, 4, 32, 100))
        self.assertEqual(found["one(float*)", "cudaLaunchKernelExC"], (2, 3, 4, 32, 1))
        self.assertEqual(found["two(float*)", "cuLaunchKernel"], (1, 2, 3, 4, 1))

    def test_a_forked_program_has_the_kernels_of_its_parent(self):
        ledger_test.Ledgers.test_a_forked_program_has_the_kernels_of_its_parent(self)

    def test_every_launch_if_asked_for(self):
        run = self.record(program("launches"), options=("--launch-events",))
        self.assertAsExpected(run)
        rows = run.twin.rows("SELECT grid_x, shared_bytes, stack_id FROM launch_events JOIN kernels USING(kernel_id) "
                             "WHERE name = 'one(float*)'")
        self.assertEqual(len(rows), 102)
        self.assertEqual(sorted({row["shared_bytes"] for row in rows}), [0, 128])
        self.assertNotIn(None, [row["stack_id"] for row in rows])

    def test_stacks_lead_to_the_program_also_of_a_short_one(self):
        for _ in range(5):
            self.assertStacks(self.record(program("plain")))

    def test_stacks_go_through_code_without_frame_pointers(self):
        path = program("plain_o2", "-O2", "-fomit-frame-pointer", "-l:libcudart.so.13", "-l:libcuda.so.1",
                       f"-Wl,-rpath,{libraries()}", source="plain")
        self.assertStacks(self.record(path))


class Peaks(PreloadTest, ledger_test.Peaks):
    ROUNDS = 6


class Python(PreloadTest):
    """As of stacks_test.py: where there is a CPython of 3.12 or newer, as root if only root may run it. The frames
    of every version: python_test.py."""
    def test_functions_of_python_stand_in_the_stack_up_to_the_beginning(self):
        script = self.folder() / "work.py"
        script.write_text(stacks_test.Python.CODE)
        python, self.ordinary = stacks_test.python_with_names(self, ORDINARY, [])
        for _ in range(3):  # a short program: it gives its trampolines back before anybody looks
            run = self.record(python, script)
            names, frames = stacks_test.python_functions(run)
            functions = [function for function, file in frames if file == str(script)]
            self.assertEqual([name for name in functions if "listcomp" not in name],
                             ["inner", "Model.outer", "train", "<module>"])
            self.assertEqual(names[-1], "_start")
        names, frames = stacks_test.python_functions(self.record(python, script, options=["--no-python"]))
        self.assertEqual(frames, [])
        self.assertEqual(names[-1], "_start")

    def test_a_signal_that_ends_it_keeps_what_was_sent_and_counts_the_rest(self):
        """The runtime is loaded late, and nobody may have looked where its code lies."""
        python = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
        if python is None:
            self.skipTest("no Python that an ordinary user may run")
        script = self.folder() / "ends.py"
        script.write_text(stacks_test.Python.CODE + "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n")
        run = self.record(python, script, code=128 + 15)
        calls = [c for c in run.twin.calls if c["name"] in ("cudaMalloc", "cuMemAlloc_v2")]
        self.assertEqual(len(calls), 6)
        self.assertOnlyThoseStacksLost(run)


class Libraries(PreloadTest):
    def test_a_private_copy_that_comes_late(self):
        folder = self.folder()
        copy = folder / "libcudart-0a1b2c3d.so.13.0.0"
        shutil.copy(libraries() / "libcudart.so.13", copy)
        self.assertAsExpected(self.record(program("late"), copy))

    def test_a_library_that_needs_the_runtime_and_is_loaded_for_itself_alone(self):
        """Its runtime is in no global scope: the wrapper must find it by who calls."""
        plugin = program("plugin", "-shared", "-fPIC", "-l:libcudart.so.13", "-l:libcuda.so.1",
                         f"-Wl,-rpath,{libraries()}")
        self.assertAsExpected(self.record(program("loads", "-ldl"), plugin))

    def test_two_copies_of_the_runtime_are_each_called_by_their_own_users(self):
        folder = self.folder()
        plugins = []
        for name in ("one", "two"):
            (folder / name).mkdir()
            shutil.copy(libraries() / "libcudart.so.13", folder / name)
            plugins.append(folder / f"plugin_{name}.so")
            subprocess.run(["gcc", "-std=gnu17", "-shared", "-fPIC", "-I", HERE.parent / "standin", "-o", plugins[-1],
                            source_of("plugin.c"), "-L", folder / name, "-L", libraries(),
                            "-l:libcudart.so.13", "-l:libcuda.so.1", f"-Wl,-rpath,{folder / name}:{libraries()}"],
                           check=True)
            (folder / name / "libcudart.so.13").chmod(0o755)
        self.assertAsExpected(self.record(program("loads", "-ldl"), *plugins))

    def test_a_runtime_linked_statically_is_seen_at_the_driver(self):
        path = program("static_runtime", "-Wl,--export-dynamic-symbol=none", "-l:libcudart_static.a",
                       "-lstdc++", "-l:libcuda.so.1", source="plain")
        run = self.record(path)
        self.assertEqual({c["plane"] for c in run.twin.calls}, {"driver"})
        self.assertEqual(driver_calls(run.twin), run.logged)
        wanted = {**run.expected[0], "failures": 1}  # of the driver; the runtime's is not seen
        self.assertProcess(run.twin, run.twin.process(pid=wanted["pid"]), wanted)

    def test_a_static_program_is_said_not_to_load_the_library(self):
        path = program("static_all", "-static", "-l:libgpu_static.a", "-lstdc++", source="threads")
        run = self.record(path, 4, 3)
        self.assertEqual(run.twin.calls, [])
        self.assertIn("linked statically", run.err)
        # Though it ended before a look could find it, the file names it, too.
        row, = run.twin.rows("SELECT p.pid, p.name, p.exit_status, u.reason FROM unwatched u JOIN processes p "
                             "USING(process_id)")
        self.assertEqual((row["name"], row["exit_status"]), ("static_all", 0))
        self.assertIn("did not load the library", row["reason"])
        report = subprocess.run([BINARY, "report", run.path], capture_output=True, text=True, check=True).stdout
        self.assertIn(f"static_all (pid {row['pid']})", report)

    def test_a_program_without_the_library_is_named(self):
        """Its caller has emptied LD_PRELOAD: it uses CUDA, and sends nothing."""
        run = self.record("env", "LD_PRELOAD=", program("paced"), 40, 100)
        self.assertEqual(run.twin.calls, [])
        row, = run.twin.rows("SELECT u.reason, u.figures, p.pid, p.name, p.end_reason FROM unwatched u "
                             "JOIN processes p USING(process_id)")
        self.assertEqual(row["name"], "paced")
        self.assertEqual(row["pid"], run.expected[0]["pid"])
        self.assertIn("LD_PRELOAD was changed", row["reason"])
        report = subprocess.run([BINARY, "report", run.path], capture_output=True, text=True, check=True).stdout
        self.assertIn("paced", report)
        self.assertNotIn("pid 0", report)
        for said in (report, run.err):  # where a reader looks for the reason
            self.assertIn("LD_PRELOAD was changed", said.replace("\n", " "))

    def test_without_a_gpu_a_program_finds_no_driver(self):
        """The wrappers are there, what they wrap is not: as if this library were not there."""
        run = self.record(program("asks", "-ldl"))
        self.assertEqual(run.twin.calls, [])


class Processes(PreloadTest):
    def test_python_in_forked_children_that_end_at_once(self):
        """They have ended when the recorder looks: Python's frames are where their parent's are, not behind `_start`."""
        python, self.ordinary = stacks_test.python_with_names(self, ORDINARY, [])
        run = self.record(python, source_of("forked_children.py"), "libcudart.so.13")
        self.assertEqual(len({c["process_id"] for c in run.twin.calls}), 4)
        for pick in ("1", "2", "3", "4"):
            done = subprocess.run([BINARY, "query", "--pick", pick, "--format", "json", run.path,
                                   "SELECT DISTINCT text FROM stacks WHERE text LIKE '%<module>%'"],
                                  capture_output=True, text=True, check=True, timeout=LIMIT_S)
            (stack,) = json.loads(done.stdout)
            names = [frame.rsplit(" ", 1)[-1] for frame in stack["text"].split("\n")]
            self.assertLess(names.index("allocate"), names.index("<module>"), names)
            self.assertLess(names.index("<module>"), len(names) - 1, names)
            self.assertNotIn("_PyEval_EvalFrameDefault", names)
            self.assertEqual("forked" in names, pick != "1")

    def test_fork_and_exec_in_children(self):
        run = self.record(program("forks"))
        self.assertIn(" calls of 3 processes in ", run.err)  # who becomes another program by exec is no new one
        self.assertAsExpected(run)
        child, became, parent = (run.twin.process(pid=said["pid"]) for said in run.expected)
        self.assertEqual(child.row["parent_pid"], parent.row["pid"])
        before = [p for p in run.twin.processes.values() if p.row["pid"] == became.row["pid"]]
        self.assertEqual([p.row["end_reason"] for p in before], ["exec", "exit"])

    def test_exec_ends_one_program_and_begins_another(self):
        run = self.record(program("exec"))
        self.assertIn(" calls of 1 process in ", run.err)
        self.assertOnlyThoseStacksLost(run)
        first, second = [p for p in run.twin.processes.values() if p.allocations]
        self.assertEqual(first.row["pid"], second.row["pid"])
        self.assertEqual((first.live["device"], second.live["device"]), (111111, 222))
        self.assertLessEqual(first.row["ended_ns"], second.row["began_ns"])

    def test_sixty_four_processes(self):
        run = self.record(program("many"), 64, program("plain"))
        self.assertEqual(len(run.expected), 64)
        self.assertAsExpected(run)

    def test_killed_with_memory_in_hand(self):
        run = self.record(program("killed"), code=128 + 9)
        self.assertAsExpected(run)
        row = run.twin.process(pid=run.expected[0]["pid"]).row
        self.assertEqual((row["exit_status"], row["end_reason"]), (9, "exit"))

    def test_the_recorder_by_kill_9(self):
        """The file is valid, the command continues to its end, nothing is left over."""
        folder = self.folder()
        recorder = subprocess.Popen([*self.command(folder), "--", program("pairs"), "300000", "say"],
                                    env=self.environment(folder), stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        self.assertEqual(recorder.stdout.readline(), "started\n")
        end = time.monotonic() + 60
        while calls_in(folder / "run.sqlite") < 100:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        recorder.kill()
        recorder.wait()
        while not live.twins.has_expectation(folder / "expected.json"):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        recorder.stdout.close()
        recorder.stderr.close()
        names = {c["name"] for c in Twin(folder / "run.sqlite").calls}  # checks the file's integrity
        self.assertLessEqual({"cudaMalloc", "cuMemFree_v2"}, names)
        asked = subprocess.run([BINARY, "query", folder / "run.sqlite", "SELECT figures, reason FROM incomplete",
                                "--format", "json"], capture_output=True, text=True, check=True).stdout
        self.assertIn("its recorder was killed", asked)
        self.assertIn("launches", asked)

    def test_a_stopped_recorder_loses_and_says_how_much(self):
        folder = self.folder()
        recorder = subprocess.Popen([*self.command(folder, "--ring", "64KiB"), "--", program("pairs"), "20000",
                                     "say"], env=self.environment(folder, FAKE_GPU_CALLS=""),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(recorder.stdout.readline(), "started\n")
        recorder.send_signal(signal.SIGSTOP)
        end = time.monotonic() + 60
        while not live.twins.has_expectation(folder / "expected.json"):
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        recorder.send_signal(signal.SIGCONT)
        _, err = recorder.communicate(timeout=LIMIT_S)
        self.assertIn("incomplete", err)
        twin = Twin(folder / "run.sqlite")
        lost = twin.losses()["memory ring full"]
        self.assertEqual(len([c for c in twin.calls if c["kind"] == "device"]) + lost, 4 * 20000)


class Words(PreloadTest):
    def test_what_excludes_it_is_said(self):
        for words in (["-p", "1"], ["--all"], ["--args", "2", "--", "true"]):
            done = subprocess.run([BINARY, "record", "--preload", *words], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)

    def test_without_privilege_it_is_named(self):
        if not ORDINARY:
            self.skipTest("needs root, to see an ordinary user refused")
        folder = self.folder()
        done = subprocess.run([*ORDINARY, BINARY, "record", "-o", folder / "x.sqlite", "--", "true"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 4)
        self.assertIn("--preload", done.stderr)

    def test_a_library_that_is_preloaded_already_stays(self):
        run = self.record("sh", "-c", 'case "$LD_PRELOAD" in /proc/*/fd/*:libc.so.6) exit 7;; esac', code=7,
                          LD_PRELOAD="libc.so.6")
        self.assertEqual(run.twin.calls, [])


def calls_in(path):
    try:
        return len(Twin(path).calls)
    except Exception:  # the file is being made
        return 0


if __name__ == "__main__":
    live.main()
