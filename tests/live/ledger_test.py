#!/usr/bin/env python3
"""Step 1 of the ladder: programs on the stand-in GPU, exact ledgers. Each program counts its own
requests (programs/expect.h), the stand-in's driver logs each call, and twin.py works the same numbers
out of the recording: all three must be equal, byte for byte and call by call."""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from live import BINARY, LiveTest, Run, libraries, main, program
from twin import Twin, driver_calls, expectations, has_expectation

FAILURES = "cuMemCreate@2=2;cuMemHostAlloc@1=999;cuDevicePrimaryCtxRetain@1=46"


class Ledgers(LiveTest):
    def test_every_sort_of_memory(self):
        for name in ("plain", "driver", "vmm", "pools", "others", "launches"):
            with self.subTest(name):
                self.assertAsExpected(self.record(program(name)))

    def test_memory_is_charged_to_the_device_that_a_pool_a_stream_or_a_location_names(self):
        dump = self.folder() / "dump.json"
        run = self.record(program("pool_devices"), FAKE_GPU_COUNT="2", DUMP=str(dump))
        self.assertAsExpected(run)
        wanted = {0: 5000 + 6000 + 8000, 1: 10_000_000 + (2 << 20)}
        truth = json.loads(dump.read_text())
        held = dict.fromkeys(wanted, 0)
        for block in run.twin.process(pid=run.expected[0]["pid"]).blocks.values():
            held[block[2]] += block[1]
        held[1] += 2 << 20  # physical memory is apart in the twin
        self.assertEqual(held, wanted)
        rows = json.loads(subprocess.run(
            [BINARY, "query", run.path, "SELECT device, sum(bytes) AS bytes FROM held_at_end GROUP BY device",
             "--format", "json"], capture_output=True, check=True).stdout)
        self.assertEqual({row["device"]: row["bytes"] for row in rows}, wanted)
        self.assertEqual({number: device["asked_bytes"] for number, device in enumerate(truth["devices"][:2])}, wanted)

    def test_a_driver_without_the_stub_is_watched_at_its_entry(self):
        folder = libraries() / "plain"
        run = self.record(program("driver_plain", "-l:libcuda.so.1", f"-Wl,-rpath,{folder}",
                                  "-l:libcudart.so.13", source="driver"), LD_LIBRARY_PATH=str(folder))
        self.assertAsExpected(run)

    def test_failures_are_failures_and_never_live(self):
        run = self.record(program("failures"), FAKE_GPU_BYTES="64m", FAKE_GPU_FAIL=FAILURES)
        self.assertAsExpected(run)
        codes = {(c["name"], c["code"]) for c in run.twin.calls if c["code"]}
        self.assertIn(("cudaMalloc", 46), codes)  # the driver's allocation was not even called
        self.assertIn(("cuMemCreate", 2), codes)

    def test_driver_calls_of_the_runtime_carry_its_stack_and_are_not_charged_twice(self):
        run = self.record(program("plain"))
        calls = run.twin.calls
        inner = [c for c in calls if c["plane"] == "driver" and c["verb"] in ("allocate", "free")]
        self.assertTrue(all(c["in_runtime"] for c in inner))
        outer = {c["end_ns"]: c for c in calls if c["plane"] == "runtime"}
        for call in inner:
            around = [c for c in outer.values() if c["start_ns"] <= call["start_ns"]
                      and c["end_ns"] >= call["end_ns"] and c["thread"] == call["thread"]]
            self.assertEqual([c["inner"] for c in around], [1])
            self.assertEqual(call["stack_id"], around[0]["stack_id"])
        nothing = [c for c in calls if c["name"] == "cudaFree" and c["address"] == 0]
        self.assertEqual([c["inner"] for c in nothing], [0])

    def test_a_thousand_threads(self):
        run = self.record(program("threads"), 1000, 4)
        self.assertAsExpected(run)
        self.assertEqual(len({c["thread"] for c in run.twin.calls}), 1000)

    def test_calls_left_by_longjmp(self):
        run = self.record(program("jump"), FAKE_GPU_FAIL="cuMemAlloc_v2@2=-10")
        self.assertAsExpected(run, calls=False)  # the one that was left has no record
        self.assertEqual(sum(len(c) for c in driver_calls(run.twin).values()),
                         sum(len(c) for c in run.logged.values()))

    def test_calls_after_frames_that_were_left_and_not_overwritten(self):
        """The frame of the call that was left lies untouched in a hole of a later one: what is called
        from there is no part of it. Without rules (no stacks, or none yet) the caller's place says so, unless the
        runtime is in the same file."""
        times = 4
        # Each plan counts the calls that no plan before it has taken.
        jumps = lambda first: ";".join(f"cuMemAlloc_v2@{first + 3 * i}=-10" for i in range(times))
        static = program("left_static_runtime", "-Wl,--export-dynamic-symbol=none", "-l:libcudart_static.a",
                         "-l:libcuda.so.1", "-lstdc++", source="left")
        for how, made, words, first, options in (("rules", program("left"), ["learn"], 5, []),
                                                 ("far away", program("left"), [], 2, ["--stacks", "none"]),
                                                 ("static", static, ["learn"], 5, [])):
            with self.subTest(how):
                run = self.record(made, times, *words, options=options, FAKE_GPU_FAIL=jumps(first))
                self.assertAsExpected(run, calls=False)
                self.assertEqual(run.expected[0]["allocations"]["device"], first - 1 + 3 * times)

    def test_contexts_and_resets_take_their_memory_with_them(self):
        run = self.record(program("contexts"), FAKE_GPU_COUNT="2")
        self.assertAsExpected(run)
        process = run.twin.process(pid=run.expected[0]["pid"])
        self.assertEqual(sorted((b[2], b[1]) for b in process.blocks.values()), [(0, 1000), (1, 6000)])

    def test_contexts_that_are_pushed_deep_come_back_with_their_devices(self):
        run = self.record(program("pushes"), FAKE_GPU_COUNT="2")
        self.assertAsExpected(run)
        process = run.twin.process(pid=run.expected[0]["pid"])
        self.assertEqual(sorted((b[2], b[1]) for b in process.blocks.values()),
                         sorted((int(level % 3 == 0), 1000 * (level + 1)) for level in range(7)))

    def test_kernels_have_names_and_geometry(self):
        run = self.record(program("launches"))
        rows = run.twin.rows("SELECT k.name, f.name AS function, grid_x, grid_y, grid_z, block_x, block_y, "
                             "block_z, sum(count) AS count FROM launches JOIN kernels k USING(kernel_id) "
                             "JOIN functions f USING(function_id) GROUP BY 1, 2, 3, 4, 5, 6, 7, 8")
        found = {(r["name"], r["function"]): (r["count"], r["grid_x"], r["grid_y"], r["grid_z"],
                                              r["block_x"], r["block_y"], r["block_z"]) for r in rows}
        self.assertEqual(found["one(float*)", "cudaLaunchKernel"], (100, 2, 3, 4, 32, 2, 1))
        self.assertEqual(found["two(float*)", "cudaLaunchKernel"], (100, 2, 3, 4, 32, 2, 1))
        self.assertEqual(found["one(float*)", "cudaLaunchKernelExC"], (1, 2, 3, 4, 32, 2, 1))
        self.assertEqual(found["two(float*)", "cuLaunchKernel"], (1, 1, 2, 3, 4, 5, 6))

    def test_a_forked_program_has_the_kernels_of_its_parent(self):
        run = self.record(program("forked"))
        rows = run.twin.rows("SELECT k.process_id, k.name FROM launches JOIN kernels k USING(kernel_id) ORDER BY 1, 2")
        first, second = sorted({row["process_id"] for row in rows})
        names = {process: [row["name"] for row in rows if row["process_id"] == process] for process in (first, second)}
        self.assertEqual(names[second], ["one(float*)", "two(float*)"])
        self.assertEqual(names[first], [None, "one(float*)"])

    def test_stacks_lead_to_the_program(self):
        run = self.record(program("plain"))
        rows = run.twin.rows("SELECT f.name, s.place, s.function FROM stack_lines s "
                             "JOIN calls USING(stack_id) JOIN functions f USING(function_id) WHERE f.plane = 'runtime'")
        for row in rows:
            if row["place"] == 0:
                self.assertEqual(row["function"], row["name"])
        self.assertEqual({row["function"] for row in rows if row["place"] == 1}, {"main"})


class Peaks(LiveTest):
    """Calls of several threads take effect in an order that no recorder sees: the peak says how far off it may
    be, and the driver's own peak is within that."""
    ROUNDS = 12

    def shown(self, path):
        sql = ("SELECT peak_active_bytes AS bytes, peak_uncertain_bytes AS uncertain, peak_reserved_bytes AS reserved, "
               "peak_reserved_uncertain_bytes AS reserved_uncertain, (SELECT peak_bytes FROM all_processes) AS of_all, "
               "(SELECT peak_uncertain_bytes FROM all_processes) AS of_all_uncertain, "
               "(SELECT incomplete FROM all_processes) AS incomplete FROM devices WHERE device = 0")
        done = subprocess.run([BINARY, "query", path, sql, "--format", "json"], capture_output=True, check=True)
        row, = json.loads(done.stdout)
        self.assertEqual((row["reserved"], row["reserved_uncertain"]), (row["bytes"], row["uncertain"]))
        self.assertEqual((row["of_all"], row["of_all_uncertain"]), (row["bytes"], row["uncertain"]))
        return row

    def race(self, seed, threads=8, calls=150, **more):
        dump = self.folder() / "dump.json"
        run = self.record(program("races"), threads, calls, seed, DUMP=str(dump), FAKE_GPU_WANDER_US="60", **more)
        return run, json.loads(dump.read_text())["devices"][0]["asked_peak_bytes"]

    def test_the_true_peak_is_within_what_is_uncertain(self):
        off = 0
        for seed in range(self.ROUNDS):
            with self.subTest(seed):
                run, truth = self.race(seed)
                self.assertEqual(run.twin.losses(), {})
                peak = self.shown(run.path)
                self.assertLessEqual(peak["bytes"], truth)
                self.assertGreaterEqual(peak["bytes"] + peak["uncertain"], truth)
                off += peak["bytes"] != truth
        self.assertGreater(off, 0, "no peak was off: the calls did not overlap")

    def test_of_one_thread_nothing_is_uncertain(self):
        run, truth = self.race(1, threads=1, calls=400)
        peak = self.shown(run.path)
        self.assertEqual((peak["bytes"], peak["uncertain"]), (truth, 0))

    def test_with_losses_it_says_that_it_is_incomplete(self):
        """The recorder is stopped until the program has ended: its ring is too small for all of the calls."""
        folder = self.folder()
        dump = folder / "dump.json"
        recorder = subprocess.Popen(
            [*self.command(folder, "--ring", "64KiB"), "--", str(program("races")), "8", "3000", "1"],
            env=self.environment(folder, DUMP=str(dump), FAKE_GPU_WANDER_US="60"), stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(3000):
                if calls_in(folder / "run.sqlite"):
                    break
                time.sleep(0.01)
            recorder.send_signal(signal.SIGSTOP)
            for _ in range(6000):
                if dump.exists() and dump.read_text():
                    break
                time.sleep(0.01)
        finally:
            recorder.send_signal(signal.SIGCONT)
        _, err = recorder.communicate(timeout=60)
        self.assertEqual(recorder.returncode, 0, err)
        run = Run(folder, recorder)
        self.assertNotEqual(run.twin.losses(), {})
        self.assertIn("memory", self.shown(run.path)["incomplete"])
        report = json.loads(subprocess.run([BINARY, "report", "--json", run.path], capture_output=True,
                                           check=True).stdout)
        self.assertNotEqual(report["devices"][0]["peak"]["active"]["incomplete"], [])

    def test_the_report_says_how_far_off_the_peak_may_be(self):
        run, _ = self.race(2)
        self.assertGreater(self.shown(run.path)["uncertain"], 0)
        text = subprocess.run([BINARY, "report", run.path], capture_output=True, text=True, check=True).stdout
        self.assertIn("Calls of several threads ran at the same time", text)


class Libraries(LiveTest):
    def test_a_private_copy_that_comes_late(self):
        folder = self.folder()
        copy = folder / "libcudart-0a1b2c3d.so.13.0.0"
        shutil.copy(libraries() / "libcudart.so.13", copy)
        self.assertAsExpected(self.record(program("late"), copy))

    def test_in_containers_whose_paths_and_pids_are_their_own(self):
        """The recorder reads through /proc/PID; pids are the host's. Once with a root changed by
        chroot, once as containers have it, where even the mount is another."""
        root = self.folder() / "root"
        listed = subprocess.run(["ldd", program("plain")], capture_output=True, text=True, check=True,
                                env={**os.environ, "LD_LIBRARY_PATH": str(libraries())}).stdout
        driver = libraries() / "libcuda.so.1"  # which the runtime asks for when it runs
        for path in [str(driver), *re.findall(r"(/\S+) \(0x", listed)]:
            place = root / ("opt/gpu" if "libcuda" in path else "lib64")
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        shutil.copy(program("plain"), root / "inside")
        (root / "old").mkdir()
        environment = {"LD_LIBRARY_PATH": "/opt/gpu:/lib64", "EXPECT": "/said", "FAKE_GPU_CALLS": ""}
        spaces = ["unshare", "--mount", "--pid", "--fork"]
        turn = (f"mount --bind {root} {root} && cd {root} && PATH=$PATH:/usr/sbin:/sbin && "
                "pivot_root . old && exec /inside")
        for words in ([*spaces, f"--root={root}", "--wd=/", "/inside"], [*spaces, "sh", "-c", turn]):
            if subprocess.run(words, capture_output=True, check=False,
                              env={**os.environ, **environment}).returncode != 0:
                self.skipTest("no mount and pid namespaces can be made here (run as root)")
            (root / "said").unlink()
            with self.subTest(words):
                run = self.record(*words, **environment)
                wanted, = expectations(root / "said")
                self.assertEqual(wanted["pid"], 1)
                found = run.twin.process(name="inside")
                self.assertNotEqual(found.row["pid"], 1)
                self.assertProcess(run.twin, found, wanted)
                self.assertEqual(run.twin.losses(), {})
                frames = run.twin.rows("SELECT DISTINCT function FROM frames")
                self.assertIn("main", {row["function"] for row in frames})

    def test_a_link_for_each_function_as_on_older_kernels(self):
        self.assertAsExpected(self.record(program("driver"), options=["--link-each"]))

    def test_a_runtime_linked_statically(self):
        path = program("static_runtime", "-Wl,--export-dynamic-symbol=none", "-l:libcudart_static.a",
                       "-lstdc++", "-l:libcuda.so.1", source="plain")
        run = self.record(path)
        self.assertAsExpected(run)
        self.assertIn("cudaMalloc", {c["name"] for c in run.twin.calls})

    def test_a_stripped_static_runtime_is_seen_at_the_driver(self):
        whole = program("static_runtime", "-Wl,--export-dynamic-symbol=none", "-l:libcudart_static.a",
                        "-lstdc++", "-l:libcuda.so.1", source="plain")
        stripped = self.folder() / "stripped"
        subprocess.run(["strip", "-o", stripped, whole], check=True)
        run = self.record(stripped)
        self.assertEqual({c["plane"] for c in run.twin.calls}, {"driver"})
        self.assertEqual(driver_calls(run.twin), run.logged)
        wanted = {**run.expected[0], "failures": 1}  # of the driver; the runtime's is not seen
        self.assertProcess(run.twin, run.twin.process(pid=wanted["pid"]), wanted)

    def test_all_in_one_static_program(self):
        path = program("static_all", "-static", "-l:libgpu_static.a", "-lstdc++", source="threads")
        run = self.record(path, 4, 3)
        self.assertAsExpected(run, calls=False)  # the driver inside has no library to be found in
        self.assertEqual({c["plane"] for c in run.twin.calls}, {"runtime"})

    def test_all_in_one_static_and_stripped_says_that_nothing_was_seen(self):
        whole = program("static_all", "-static", "-l:libgpu_static.a", "-lstdc++", source="threads")
        stripped = self.folder() / "stripped"
        subprocess.run(["strip", "-o", stripped, whole], check=True)
        run = self.record(stripped, 4, 3)
        self.assertEqual(run.twin.calls, [])
        self.assertIn("without symbols (stripped)", run.err)


class Processes(LiveTest):
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

    def test_a_program_that_a_shell_runs_is_seen_from_its_beginning(self):
        """A thread that never chose a device is on device 0, if all of its life was seen."""
        for words in ([program("holds")], ["sh", "-c", f"{program('holds')}; true"]):
            run = self.record(*words, FAKE_GPU_COUNT="0", code=None)
            self.assertEqual([(c["name"], c["device"]) for c in run.twin.calls], [("cudaFree", 0)])

    def test_a_program_that_the_loader_was_started_for(self):
        """As bundles do: the kernel's name of the program is the loader."""
        loader = "/lib64/ld-linux-x86-64.so.2"
        path = program("plain")
        static = program("static_runtime", "-Wl,--export-dynamic-symbol=none", "-l:libcudart_static.a",
                       "-lstdc++", "-l:libcuda.so.1", source="plain")
        for words in ([loader, path], [loader, static], ["sh", "-c", f"{loader} --library-path {libraries()} {path}; true"]):
            with self.subTest(words=words):
                self.assertAsExpected(self.record(*words))

    def test_a_call_site_that_exec_takes_away_is_counted(self):
        run = self.record(program("exec_at_once"), 20)
        calls = run.twin.rows("SELECT stack_id FROM calls JOIN functions USING(function_id) "
                              "WHERE name IN ('cudaMalloc', 'cuMemAlloc_v2')")
        self.assertEqual(len(calls), 2 * 21)
        without = sum(call["stack_id"] is None for call in calls)
        self.assertGreaterEqual(run.twin.losses().get("no stack", 0), without)
        self.assertLessEqual(set(run.twin.losses()), {"no stack"})

    def test_killed_with_memory_in_hand(self):
        run = self.record(program("killed"), code=128 + 9)
        self.assertAsExpected(run)
        row = run.twin.process(pid=run.expected[0]["pid"]).row
        self.assertEqual(row["exit_status"], 9)  # as wait() gives it
        self.assertIsNotNone(row["ended_ns"])

    def test_sixty_four_processes(self):
        run = self.record(program("many"), 64, program("plain"))
        self.assertEqual(len(run.expected), 64)
        self.assertAsExpected(run)

    def test_a_pid_that_is_used_again_is_another_process(self):
        run = self.record(program("same_pid"), code=None)
        if run.code == 77:
            self.skipTest("clone3 with a chosen pid is not allowed here: run as root in the first "
                          "pid namespace")
        self.assertEqual(run.code, 0, run.err)
        first, second = [p for p in run.twin.processes.values() if p.allocations]
        self.assertEqual(first.row["pid"], second.row["pid"])
        self.assertEqual((first.live["device"], second.live["device"]), (1111, 3333))
        self.assertEqual(second.unknown_frees, 0)

    def test_a_process_that_runs_already(self):
        folder = self.folder()
        environment = self.environment(folder)
        target = subprocess.Popen([program("killed"), "wait"], env=environment)
        while not has_expectation(folder / "expected.json"):
            time.sleep(0.01)
        recorder = subprocess.Popen(
            self.command(folder, "-p", str(target.pid)), stderr=subprocess.PIPE, text=True)
        try:
            for _ in range(600):  # until the probes are there and a call was written
                os.kill(target.pid, signal.SIGUSR1)
                time.sleep(0.1)
                if calls_in(folder / "run.sqlite"):
                    break
            target.kill()
            target.wait()
            _, err = recorder.communicate(timeout=60)
        finally:
            for process in (recorder, target):
                if process.poll() is None:
                    process.kill()
        self.assertEqual(recorder.returncode, 0, err)
        run = Run(folder, recorder)
        process = run.twin.process(pid=target.pid)
        self.assertEqual({c["size_bytes"] for c in run.twin.calls}, {77777})
        self.assertEqual(process.live["device"], 77777 * process.allocations["device"])
        self.assertGreater(process.allocations["device"], 0)
        self.assertEqual(process.row["exit_status"], 9)

    def test_every_launch_if_asked_for(self):
        run = self.record(program("launches"), options=("--launch-events", "--args", "2"))
        self.assertAsExpected(run)
        rows = run.twin.rows("SELECT k.name, l.grid_x, l.grid_y, l.grid_z, l.block_x, l.stack_id, l.shared_bytes "
                             "FROM launch_events l JOIN kernels k USING(kernel_id)")
        self.assertEqual(len(rows), run.expected[0]["launches"])
        rows = [tuple(row.values()) for row in rows]
        one = [row for row in rows if row[0] == "one(float*)"]
        self.assertEqual(len(one), 102)  # 100 + by configuration + cooperative
        self.assertEqual({row[1:5] for row in one}, {(2, 3, 4, 32)})
        self.assertEqual(sorted({row[6] for row in one}), [0, 128])
        self.assertNotIn(None, [row[5] for row in rows])

    def test_an_address_that_many_threads_have_one_after_the_other(self):
        """One size for all, so that the driver reuses what another thread is still freeing."""
        run = self.record(program("hot", source="hot"), 16, 2000, code=0)
        self.assertEqual(run.twin.losses(), {})
        report = json.loads(subprocess.run([BINARY, "report", "--json", run.path], capture_output=True,
                                           check=True).stdout)
        kinds = {issue["kind"] for issue in report["issues"]}
        self.assertFalse(kinds & {"alloc_over_live", "free_again"}, report["issues"])
        self.assertEqual(report["devices"][0]["final"]["active_bytes"], 16 * 20 * 4096)
        self.assertLessEqual(report["devices"][0]["peak"]["active"]["bytes"], 16 * 21 * 4096)

    def names_recorded(self, *options, group=None):
        """The programs in a recording of the machine beside which some run; `plain` in the group."""
        folder = self.folder()
        holder = subprocess.Popen([program("holds")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env=self.environment(folder))  # from before; of another name, in no group
        self.addCleanup(holder.communicate)
        self.assertEqual(holder.stdout.readline(), "ready\n")
        recorder = subprocess.Popen(self.command(folder, *options), stderr=subprocess.PIPE, text=True)
        enter = ["sh", "-c", f"echo $$ > {group}/cgroup.procs; exec \"$0\""] if group else []
        try:
            while not (folder / "run.sqlite").exists():
                time.sleep(0.01)
            def run_all():
                for words in (["true"], [program("driver")], [*enter, program("plain")]):
                    subprocess.run(words, env=self.environment(folder), check=True)

            for _ in range(600):
                run_all()
                time.sleep(0.1)
                if calls_in(folder / "run.sqlite"):
                    break
            run_all()  # now that the probes are there
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=60)
        finally:
            if recorder.poll() is None:
                recorder.kill()
        self.assertEqual(recorder.returncode, 0, err)
        twin = Run(folder, recorder).twin
        recorded = {p.row["pid"] for p in twin.processes.values()}
        unwatched = {row["pid"] for row in twin.rows("SELECT pid FROM unwatched WHERE pid > 0")}
        if options == ("--all",):
            self.assertIn(holder.pid, unwatched)
        else:  # nothing is missing of programs that are not recorded
            self.assertLessEqual(unwatched, recorded)
        return {p.row["name"] for p in twin.processes.values()}

    def test_of_the_whole_machine_only_those_that_call(self):
        names = self.names_recorded("--all")
        self.assertLessEqual({"plain", "driver"}, names)
        self.assertNotIn("true", names)

    def test_of_a_name_only_its_programs(self):
        self.assertEqual(self.names_recorded("--comm", "plain"), {"plain"})

    def test_of_a_group_only_its_programs(self):
        with cgroup(self) as group:
            self.assertEqual(self.names_recorded("--cgroup", group, group=group), {"plain"})


@contextlib.contextmanager
def cgroup(case):
    """A cgroup below the root, which is removed after the block."""
    root = pathlib.Path("/sys/fs/cgroup")
    folder = (root if (root / "cgroup.procs").exists() else root / "unified") / f"tidegauge-live-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        case.skipTest(f"no cgroup of version 2 can be made, which needs root: {error}")
    try:
        yield folder
    finally:
        folder.rmdir()


def calls_in(path):
    """How many calls a recording that is being written has; 0 while there is no file."""
    try:
        return len(Twin(path).calls)
    except (sqlite3.Error, AssertionError):
        return 0


if __name__ == "__main__":
    main()
