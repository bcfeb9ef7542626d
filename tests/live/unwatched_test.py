#!/usr/bin/env python3
"""What a recorder could not watch is in the file, and marks the figures that it touches, of the
processes that have it, and nothing else."""
import json
import shutil
import signal
import sqlite3
import subprocess
import time

import twin
from live import BINARY, LIMIT_S, LiveTest, libraries, main, program

MEMORY_SECTIONS = ("initial", "final", "holders_at_peak")


def ask(*words):
    done = subprocess.run([BINARY, *words], capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Unwatched(LiveTest):
    def report(self, path):
        return json.loads(ask("report", "--json", path))

    def test_of_a_run_that_was_seen_whole_nothing_is_marked(self):
        run = self.record(program("plain"))
        self.assertAsExpected(run)
        self.assertEqual(self.report(run.path)["incomplete"], [])
        self.assertNotIn("ncomplete", ask("report", run.path))
        self.assertEqual(ask("query", "--format", "csv", run.path, "SELECT count(*) AS n FROM incomplete"),
                         "n\n0\n")

    def test_a_function_that_begins_with_a_lock_prefix(self):
        run = self.record(program("driver"), LD_LIBRARY_PATH=f"{libraries() / 'locked'}:{libraries()}")
        row, = run.twin.unwatched()
        self.assertEqual((row["function"], row["figures"]), ("cuMemAlloc_v2", "memory"))
        self.assertTrue(row["library"].endswith("locked/libcuda.so.1"), row)
        self.assertIsNotNone(row["process_id"])
        self.assertIn("cuMemAlloc_v2 is not watched", run.err)
        said = self.report(run.path)
        self.assertEqual([it["figures"] for it in said["incomplete"]], [["memory"]])
        self.assertIn("cuMemAlloc_v2", said["incomplete"][0]["reason"])
        for device in said["devices"]:
            for section in MEMORY_SECTIONS:
                self.assertIn("cuMemAlloc_v2", device[section]["incomplete"][0])
        text = ask("report", "--full", run.path)
        self.assertIn("(incomplete)", text)
        self.assertIn("cuMemAlloc_v2 of libcuda.so.1", text)

    def test_it_marks_only_the_processes_that_map_it(self):
        path = program("driver")
        run = self.record("sh", "-c", f"LD_LIBRARY_PATH={libraries() / 'locked'}:{libraries()} {path}; {path}")
        marked = {row["process_id"] for row in run.twin.unwatched(function="cuMemAlloc_v2")}
        called = sorted({c["process_id"] for c in run.twin.calls})
        self.assertEqual(len(called), 2)
        self.assertEqual(marked, {called[0]})

    def test_a_stripped_program_with_the_runtime_inside(self):
        """Its calls are seen at the driver, so memory is whole; names of kernels are not."""
        whole = program("static_runtime", "-Wl,--export-dynamic-symbol=none", "-l:libcudart_static.a",
                        "-lstdc++", "-l:libcuda.so.1", source="plain")
        stripped = self.folder() / "stripped"
        nothing = stripped.with_name("nothing")
        nothing.write_text("kernels")
        subprocess.run(["objcopy", "--strip-all", "--add-section", f".nv_fatbin={nothing}", whole,
                        stripped], check=True)
        run = self.record(stripped)
        row, = run.twin.unwatched()
        self.assertEqual((row["function"], row["figures"]), (None, "kernel names"))
        self.assertIn("stripped", row["reason"])
        self.assertIn("stripped", run.err)
        said = self.report(run.path)
        self.assertEqual([it["figures"] for it in said["incomplete"]], [["kernel names"]])
        for device in said["devices"]:
            for section in MEMORY_SECTIONS:
                self.assertNotIn("incomplete", device[section])

    def test_all_in_one_static_and_stripped(self):
        """No process is seen, so no figure is there to be marked; the file says why all the same."""
        whole = program("static_all", "-static", "-l:libgpu_static.a", "-lstdc++", source="threads")
        stripped = self.folder() / "stripped"
        nothing = stripped.with_name("nothing")
        nothing.write_text("kernels")
        subprocess.run(["objcopy", "--strip-all", "--add-section", f".nv_fatbin={nothing}", whole,
                        stripped], check=True)
        run = self.record(stripped, 4, 3)
        self.assertEqual(run.twin.calls, [])
        row, = run.twin.unwatched()
        self.assertIn("stripped", row["reason"])
        self.assertIn("stripped", run.err)


class AtOnce(LiveTest):
    """Programs that map a library at the same time, which nobody has mapped before: one may wait, the others do not.
    Each is recorded as a whole, or the file says that it is not; also if it ends before it can be examined."""

    def test_each_is_whole_or_marked(self):
        folder = self.folder()
        new = shutil.copytree(libraries(), folder / "new", symlinks=True)  # files of which nothing is known
        path = folder / "run.sqlite"
        recorder = subprocess.Popen([str(BINARY), "record", "-o", path, "--no-summary", "--all"],
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(lambda: (recorder.kill(), recorder.wait(), recorder.stderr.close()))
        deadline = time.monotonic() + LIMIT_S
        while not path.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        time.sleep(1)
        programs = [subprocess.Popen([program("plain")], stdout=subprocess.DEVNULL,
                                     env=self.environment(folder, LD_LIBRARY_PATH=str(new)))
                    for _ in range(6)]
        for one in programs:
            self.assertEqual(one.wait(timeout=LIMIT_S), 0)
        time.sleep(1)
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(timeout=LIMIT_S), 0)
        found = twin.Twin(path)
        wanted = {one["pid"]: one for one in twin.expectations(folder / "expected.json")}
        marked = {row["pid"] for row in found.unwatched()}
        for one in programs:
            with self.subTest(pid=one.pid):
                process = found.process(pid=one.pid)
                if one.pid not in marked:
                    self.assertProcess(found, process, wanted[one.pid])
        said = self.report_of(path)
        for pid in marked & set(wanted):
            self.assertIn(f"{pid}", said)

    def report_of(self, path):
        return " ".join(ask("report", "--full", path).split())


class Attached(LiveTest):
    """Programs that call as fast as they can, which is as fast as the recorder reads: it ends all the same."""
    END_S = 60

    def busy(self, *words):
        process = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True,
                                   env=self.environment(self.folder(), FAKE_GPU_CALLS=""))
        self.addCleanup(lambda: (process.kill(), process.wait(), process.stdout.close()))
        self.assertEqual(process.stdout.readline(), "started\n")
        return process

    def test_what_ran_before_may_hold_older_memory(self):
        process = self.busy(program("pairs"), 100_000_000, "say")
        path = self.folder() / "run.sqlite"
        began_ns = time.time_ns()
        subprocess.run([BINARY, "record", "-o", path, "--no-summary", "-p", str(process.pid),
                        "--duration", "1"], check=True, capture_output=True, timeout=self.END_S)
        said = self.report_rows(path)
        self.assertEqual([row["figures"] for row in said], ["memory"])
        self.assertIsNone(said[0]["begin_ns"])
        self.assertTrue(began_ns < said[0]["end_ns"] < time.time_ns())

    def test_the_first_calls_have_stacks(self):
        process = self.busy(program("pairs"), 100_000_000, "say")
        path = self.folder() / "run.sqlite"
        subprocess.run([BINARY, "record", "-o", path, "--no-summary", "-p", str(process.pid),
                        "--duration", "1"], check=True, capture_output=True, timeout=self.END_S)
        calls = json.loads(ask_sqlite(path, "SELECT json_array(count(*), count(stack_id)) FROM calls "
                                            "WHERE code = 0"))
        self.assertGreater(calls[0], 100)
        self.assertEqual(calls[0], calls[1])

    def report_rows(self, path):
        return [json.loads(line) for line in ask_sqlite(
            path, "SELECT json_object('begin_ns', begin_ns, 'end_ns', end_ns, 'figures', figures, "
                  "'reason', reason) FROM unwatched").splitlines()]


def ask_sqlite(path, sql):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as file:
        return "\n".join(row[0] for row in file.execute(sql))


if __name__ == "__main__":
    main()
