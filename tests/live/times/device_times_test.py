#!/usr/bin/env python3
"""`record --device-times`: what the device measured, from CUPTI's records to the report.

There is no device here. A stand-in libcupti hands out records that the test describes, in the layouts of the
real versions (../../standin/cupti.c; cupti_layout_test.py compares them with the real headers). It shows that
every record arrives with its values, and that what does not work is named. Whether a real CUPTI measures
rightly, and what it costs, needs a real GPU. The real libcupti from its wheels is tried too: without a driver
it refuses, and that is what must be said."""
import functools
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import cupti_layout_test  # noqa: E402  # beside this file
import devices_test  # noqa: E402  # beside this folder
import live  # noqa: E402
import preload_test  # noqa: E402
from live import BINARY, LIMIT_S, program  # noqa: E402

VERSIONS = (18, 28, 130001, 130301, 130500)
SCRIPT = """kernel 0 1 7 1000 2500 42 _Z5sgemmPfS_
kernel 0 1 7 2000 4000 43 _Z5sgemmPfS_
copy 1 63000 0 1 8 10000 12000 44
copy 2 4000 0 1 8 20000 21000 45
deliver
copy 8 500 0 1 8 22000 22100 46
copy 3 8 0 1 8 23000 23100 47
set 100 0 1 7 24000 24100 48
peer 200 1 2 9 25000 25100 49
nameless 0 26000 26100
other 9
"""
ACTIVITIES = [  # kind, direction, device, context, stream, bytes, start, end, correlation, kernel
    ("kernel", None, 0, 1, 7, None, 1000, 2500, 42, "sgemm(float*, float*)"),
    ("kernel", None, 0, 1, 7, None, 2000, 4000, 43, "sgemm(float*, float*)"),
    ("copy", "host to device", 0, 1, 8, 63000, 10000, 12000, 44, None),
    ("copy", "device to host", 0, 1, 8, 4000, 20000, 21000, 45, None),
    ("copy", "device to device", 0, 1, 8, 500, 22000, 22100, 46, None),
    ("copy", "host to device", 0, 1, 8, 8, 23000, 23100, 47, None),
    ("set", "set", 0, 1, 7, 100, 24000, 24100, 48, None),
    ("copy", "peer to peer", 1, 2, 9, 200, 25000, 25100, 49, None),
    ("kernel", None, 0, 0, 0, None, 26000, 26100, 0, None),
]


@functools.cache
def cupti():
    """The folder of the stand-in libcupti."""
    out = live.FOLDER / "cupti" / "standin"
    out.mkdir(parents=True, exist_ok=True)
    live.standin.run("gcc", "-std=gnu17", "-O1", "-Wall", "-Wextra", "-shared", "-fPIC", "-fvisibility=hidden",
                     "-Wl,-soname,libcupti.so.13", "-o", out / "libcupti.so.13", live.standin.HERE / "cupti.c",
                     "-lpthread")
    return out


class Times(live.LiveTest):
    def start(self, script, *words, options=(), folder=None, library=None, **env):
        """`record --device-times` with the stand-in CUPTI, or with another folder that has one."""
        folder = folder or self.folder()
        said = folder / "cupti.txt"
        said.write_text(script)
        said.chmod(0o644)
        environment = self.environment(folder, STANDIN_CUPTI=str(said), **env)
        environment.pop("VIRTUAL_ENV", None)
        environment["LD_LIBRARY_PATH"] += f":{library or cupti()}"
        words = words or (program("launches"),)
        return folder, subprocess.run([*self.command(folder, "--device-times", *options), "--", *map(str, words)],
                                      env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)

    def rows(self, folder, sql):
        file = sqlite3.connect(f"file:{folder / 'run.sqlite'}?mode=ro", uri=True)
        try:
            return file.execute(sql).fetchall()
        finally:
            file.close()

    def activities(self, folder):
        """As in ACTIVITIES, with times from the first start on."""
        rows = self.rows(folder, "SELECT kind, direction, device, context, stream, size_bytes, start_ns, end_ns, "
                                 "correlation, name FROM device_activities LEFT JOIN device_names USING(name_id) "
                                 "ORDER BY start_ns")
        began = rows[0][6] - 1000 if rows else 0
        return [(*row[:6], row[6] - began, row[7] - began, *row[8:]) for row in rows]

    def assertRecorded(self, folder, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.activities(folder), ACTIVITIES)
        self.assertEqual(self.rows(folder, "SELECT outcome, reason FROM device_programs"), [("timed", None)])
        self.assertEqual(self.rows(folder, "SELECT reason, count FROM losses"), [])
        self.assertIn("9 activities were timed by the device", done.stderr)
        cost = done.stderr.index("with --device-times, each kernel, copy or set costs ")
        self.assertLess(cost, done.stderr.index("timed by the device"))
        self.assertRegex(done.stderr, r"each kernel, copy or set costs [1-9]\d* ns on a CUPTI thread")

    def test_every_record_arrives_with_its_values_in_each_version(self):
        for version in VERSIONS:
            with self.subTest(version):
                folder, done = self.start(f"version {version}\n{SCRIPT}")
                self.assertRecorded(folder, done)
                self.assertEqual(self.rows(folder, "SELECT version, clock_error_ns FROM device_programs"),
                                 [(version, 0)])
                process, = self.rows(folder, "SELECT name, a.process_id = p.process_id FROM processes p, "
                                             "(SELECT DISTINCT process_id FROM device_activities) a "
                                             "WHERE p.name = 'launches'")
                self.assertEqual(process, ("launches", 1))

    def test_a_program_cannot_cut_what_it_shares_with_the_recorder(self):
        cut = ("import os\nfor name in ('TIDEGAUGE_DEVICE_TIMES', 'TIDEGAUGE_PRELOAD'):\n"
               "  if name in os.environ:\n"
               "    try: os.ftruncate(os.open(os.environ[name], os.O_RDWR), 0)\n"
               "    except PermissionError: print(name)")
        _, done = self.start(SCRIPT, "python3", "-c", cut)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("TIDEGAUGE_DEVICE_TIMES\n", done.stdout)
        if "--preload" in done.args:
            self.assertIn("TIDEGAUGE_PRELOAD\n", done.stdout)

    def test_times_are_of_the_recordings_clock(self):
        before = time.time_ns()
        folder, done = self.start(SCRIPT)
        after = time.time_ns()
        self.assertEqual(done.returncode, 0, done.stderr)
        first, last = self.rows(folder, "SELECT min(start_ns), max(end_ns) FROM device_activities")[0]
        self.assertLess(before - 10**9, first)
        self.assertLess(last, after + 10**9)
        began, ended = self.rows(folder, "SELECT began_ns, ended_ns FROM processes WHERE name = 'launches'")[0]
        self.assertLessEqual(began, first)
        self.assertLessEqual(last, ended)

    def test_a_cupti_with_its_own_clock_is_converted(self):
        folder, done = self.start(f"own_clock {3600 * 10**9}\n{SCRIPT}")
        self.assertEqual(done.returncode, 0, done.stderr)
        began, ended = self.rows(folder, "SELECT began_ns, ended_ns FROM processes WHERE name = 'launches'")[0]
        first, last = self.rows(folder, "SELECT min(start_ns), max(end_ns) FROM device_activities")[0]
        self.assertEqual(len(self.activities(folder)), len(ACTIVITIES))
        error, = self.rows(folder, "SELECT clock_error_ns FROM device_programs")[0]
        self.assertGreater(error, 0)
        self.assertLess(began - 10**7, first)  # an hour ahead, it would be after the end
        self.assertLess(last, ended + 10**7)

    def test_bad_records_are_counted_and_left_out(self):
        hour = 3600 * 10**9
        folder, done = self.start(
            f"kernel 0 1 7 1000 2500 42 good\nunmeasured 0 nothing\nkernel 0 1 7 5000 4000 1 backwards\n"
            f"kernel 0 1 7 {-hour} {-hour + 5} 1 long_ago\nkernel 0 1 7 {hour} {hour + 5} 1 to_come\n"
            f"kernel 70000 1 7 10 20 1 no_such_device\ncopy 1 {2**62} 0 1 7 3000 4000 1\ndropped 5\n"
            f"endless 0 2600 2700\ncopy 77 12 0 1 7 3000 4000 9\nother 3000\ncut\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.activities(folder), [
            ("kernel", None, 0, 1, 7, None, 1000, 2500, 42, "good"),
            ("kernel", None, 0, 0, 0, None, 2600, 2700, 0, "n" * 4096),
            ("copy", "by the pointers", 0, 1, 7, 12, 3000, 4000, 9, None)])
        losses = dict(self.rows(folder, "SELECT reason, sum(count) FROM losses GROUP BY 1"))
        self.assertEqual(losses, {"device times not measured": 1, "device times not plausible": 5,
                                  "device times dropped by CUPTI": 5, "device times not readable": 1})
        self.assertIn("incomplete: 5 × device times dropped by CUPTI", done.stderr)

    def test_more_than_there_is_room_for_is_counted(self):
        count = 400_000
        folder, done = self.start("".join(f"kernel 0 1 7 {i} {i + 1} {i} k{i % 5}\n" for i in range(count)))
        self.assertEqual(done.returncode, 0, done.stderr)
        rows, distinct = self.rows(folder, "SELECT count(*), count(DISTINCT correlation) FROM device_activities")[0]
        lost = dict(self.rows(folder, "SELECT reason, sum(count) FROM losses GROUP BY 1"))
        self.assertEqual(rows, distinct)
        self.assertEqual(rows + lost.get("no room for device times", 0), count)
        self.assertGreater(rows, 100_000)  # what fits into the ring at once

    def test_a_killed_program_leaves_what_was_delivered(self):
        folder = self.folder()
        said = folder / "cupti.txt"
        said.write_text(SCRIPT)
        environment = self.environment(folder, STANDIN_CUPTI=str(said))
        environment["LD_LIBRARY_PATH"] += f":{cupti()}"
        process = subprocess.Popen([*self.command(folder, "--device-times"), "--", program("killed"), "wait"],
                                   env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)

        def rows():
            if not (folder / "run.sqlite").exists():
                return []
            return self.rows(folder, "SELECT (SELECT pid FROM processes WHERE name = 'killed') FROM "
                                     "device_activities")
        pid = devices_test.until(lambda: len(rows()) == 4 and rows()[0][0], "the first four activities")
        os.kill(pid, signal.SIGKILL)
        self.assertEqual(process.wait(LIMIT_S), 128 + signal.SIGKILL)
        self.assertEqual(self.activities(folder), ACTIVITIES[:4])
        done = subprocess.run([BINARY, "query", folder / "run.sqlite", "SELECT figures, reason FROM incomplete", "--format",
                               "json"], capture_output=True, text=True, timeout=LIMIT_S, check=True)
        self.assertIn({"figures": "device times", "reason": "a signal ended the program: what CUPTI had not delivered "
                                                            "by then is missing"}, json.loads(done.stdout))

    def test_without_cupti_that_is_said(self):
        empty = self.folder()
        folder, done = self.start(SCRIPT, library=empty)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.activities(folder), [])
        (outcome, reason), = self.rows(folder, "SELECT outcome, reason FROM device_programs")
        self.assertEqual(outcome, "no library")
        self.assertIn("libcupti was not found", reason)
        self.assertRegex(done.stderr, r"no device times of launches, pid \d+: libcupti was not found")
        report = self.report(folder)
        self.assertEqual((report["device_times"]["asked"], report["device_times"]["activities"]), (True, 0))
        self.assertIn("libcupti was not found", report["device_times"]["programs"][0]["reason"])

    def test_a_refusal_is_named(self):
        for call, code in (("cuptiActivityEnable", 999), ("cuptiActivityRegisterCallbacks", 3),
                           ("cuptiGetVersion", 15)):
            with self.subTest(call):
                folder, done = self.start(f"fail {call} {code}\n{SCRIPT}")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.activities(folder), [])
                self.assertEqual(self.rows(folder, "SELECT outcome FROM device_programs"), [("refused",)])
                self.assertRegex(done.stderr, rf"{call}\(\) of CUPTI[ .\d]* refused: {code}")
        folder, done = self.start(f"version 140000\n{SCRIPT}")
        self.assertEqual(self.rows(folder, "SELECT outcome FROM device_programs"), [("new version",)])
        self.assertIn("CUPTI 14.0 is not one whose records are known", done.stderr)
        folder, done = self.start("version 130500\n")
        self.assertIn("was switched on and delivered no kernel, copy or set", done.stderr)

    def test_the_real_libraries_refuse_without_a_driver(self):
        for name in ("nvidia-cuda-cupti==13.5.25", "nvidia-cuda-cupti-cu12==12.9.79",
                     "nvidia-cuda-cupti-cu11==11.8.87"):
            with self.subTest(name):
                library = next(cupti_layout_test.fetched(name).rglob("libcupti.so.1*")).parent
                folder, done = self.start(SCRIPT, library=library)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stderr, r"cupti\w+\(\) of CUPTI[ \w.]* refused: (15|999)")
                (outcome, path), = self.rows(folder, "SELECT outcome, library FROM device_programs")
                self.assertEqual((outcome, pathlib.Path(path).parent), ("refused", library))

    def test_another_injection_stays(self):
        folder, done = self.start(SCRIPT, CUDA_INJECTION64_PATH="/elsewhere.so")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("CUDA_INJECTION64_PATH is set already, to /elsewhere.so, and stays so", done.stderr)
        self.assertEqual(self.rows(folder, "SELECT * FROM device_programs"), [])
        self.assertEqual(self.rows(folder, "SELECT * FROM meta WHERE key = 'device_times'"), [])
        said = subprocess.run([*self.command(folder, "--force", "--device-times"), "--", "printenv",
                               "CUDA_INJECTION64_PATH"], env=self.environment(folder, CUDA_INJECTION64_PATH="/x.so"),
                              capture_output=True, text=True, timeout=LIMIT_S, check=False)
        self.assertEqual(said.stdout, "/x.so\n")

    def test_a_program_that_never_asks_is_said(self):
        folder, done = self.start(SCRIPT, "true")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("no program loaded the library of --device-times", done.stderr)

    def test_the_holder_is_gone_afterwards(self):
        folder, done = self.start(SCRIPT, "sh", "-c", "echo $CUDA_INJECTION64_PATH; ls -l $CUDA_INJECTION64_PATH")
        self.assertEqual(done.returncode, 0, done.stderr)
        path = pathlib.Path(done.stdout.splitlines()[0])
        self.assertRegex(str(path), r"^/proc/\d+/fd/\d+$")
        self.assertIn("memfd:tidegauge-device-times", done.stdout)
        self.assertFalse(path.exists())

    def report(self, folder):
        done = subprocess.run([BINARY, "report", "--json", folder / "run.sqlite"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=True)
        return json.loads(done.stdout)["recording"]

    def test_the_report_has_rates_and_the_share_of_the_link(self):
        folder = self.folder()
        said = folder / "nvml.txt"
        said.write_text(f"device Stand-in {80 << 30} 0\nlink 5 16\n")
        # It stays until NVML was asked.
        _, done = self.start(SCRIPT, "sh", "-c", f"sleep 2; exec {program('launches')}", folder=folder,
                             library=f"{cupti()}:{devices_test.nvml()}", STANDIN_NVML=str(said))
        self.assertEqual(done.returncode, 0, done.stderr)
        report = self.report(folder)
        times, copies = report["device_times"], report["device_copies"]
        # The two kernels overlap by 500 ns: 3000 busy, 3500 summed.
        self.assertEqual(times["busy_ns"], 3000 + 2000 + 1000 + 5 * 100)
        self.assertEqual(times["activities"], 9)
        self.assertEqual((times["rows"][0]["name"], times["rows"][0]["device_ns"], times["rows"][0]["launches"]),
                         ("sgemm(float*, float*)", 3500, 2))
        self.assertEqual(copies["link_bytes_per_second"], 63015384615)
        up = copies["rows"][0]
        self.assertEqual((up["direction"], up["copies"], up["size_bytes"], up["busy_ns"]),
                         ("host to device", 2, 63008, 2100))
        self.assertAlmostEqual(up["gb_per_s"], 63008 / 2100, places=6)
        self.assertAlmostEqual(up["link_share"], 63008 / 2100 * 1e9 / 63015384615, places=6)
        self.assertIsNone(next(row for row in copies["rows"] if row["direction"] == "set")["link_share"])
        text = subprocess.run([BINARY, "report", "--full", folder / "run.sqlite"], capture_output=True, text=True,
                              timeout=LIMIT_S, check=True).stdout
        for words in ("The link carries 63.0 GB/s each way", "47.6 %", "sgemm", "30.0"):
            self.assertIn(words, " ".join(text.split()))
        by_sql = subprocess.run([BINARY, "query", folder / "run.sqlite", times["sql"], "--format", "json"],
                                capture_output=True, text=True, timeout=LIMIT_S, check=True)
        self.assertEqual(json.loads(by_sql.stdout)[0]["busy_ns"], times["busy_ns"])

    def test_without_the_option_nothing_is_loaded(self):
        run = self.record(program("launches"))
        self.assertEqual(self.rows(run.folder, "SELECT count(*) FROM device_programs"), [(0,)])
        report = self.report(run.folder)
        self.assertEqual((report["device_times"]["asked"], report["device_copies"]["rows"]), (False, []))


class OwnPidNamespace(live.LiveTest):
    start, rows, activities, assertRecorded = Times.start, Times.rows, Times.activities, Times.assertRecorded

    def test_a_program_in_a_pid_namespace_of_its_own_has_its_rows(self):
        words = ["unshare", "--pid", "--fork"]
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("no pid namespace can be made here (run as root)")
        folder, done = self.start(SCRIPT, *words, program("launches"))
        self.assertRecorded(folder, done)
        self.assertEqual(self.rows(folder, "SELECT DISTINCT name FROM device_activities "
                                           "JOIN processes USING(process_id)"), [("launches",)])


class WithPreload(preload_test.PreloadTest, Times):
    """The same as an ordinary user, without eBPF."""


if __name__ == "__main__":
    live.main()
