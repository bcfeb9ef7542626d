#!/usr/bin/env python3
"""The commands on recordings whose truth is known: make_recording writes the calls of three made-up
processes and keeps their books; what report, query, frag and diff say must be what the books say.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/recording/recording_test.py --make MAKE_RECORDING
"""
import argparse
import csv
import io
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "real"))
from report_sql_test import sentences  # noqa: E402  # found beside this folder

BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKE = None


def tidegauge(*arguments, code=0):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == code, f"{arguments}: exit {done.returncode}\n{done.stderr}"
    return done.stdout


class Recording(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.files = []
        for seed in (1, 2):
            path = pathlib.Path(cls.folder.name, f"run{seed}")  # no suffix: recognised by content
            truth = subprocess.run([MAKE, path, str(seed), "2000"], check=True,
                                   capture_output=True, text=True).stdout
            cls.files.append((path, json.loads(truth)["traces"]))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def each(self):
        for path, truth in self.files:
            for number, trace in enumerate(truth, 1):
                with self.subTest(file=path.name, trace=trace["name"]):
                    yield path, number, trace

    def test_report_says_what_the_books_say(self):
        for path, truth in self.files:
            reports = json.loads(tidegauge("report", path, "--json"))
            self.assertEqual([r["file"]["name"] for r in reports],
                             [f"{path}/{t['name']}" for t in truth])
            for report, trace in zip(reports, truth):
                devices = {str(d["device"]): d for d in report["devices"]}
                self.assertEqual(sorted(devices), sorted(trace["devices"]))
                for ordinal, books in trace["devices"].items():
                    found = devices[ordinal]
                    self.assertEqual(found["final"]["reserved_bytes"], books["reserved"])
                    self.assertEqual(found["final"]["requested_bytes"], books["requested"])
                    self.assertEqual(found["peak"]["reserved"]["bytes"], books["reserved_peak"])
                    self.assertEqual(len(found["ooms"]), min(books["ooms"], len(found["ooms"])))
                    self.assertTrue(all(i["holds"] for i in found["identities"]), found)
                self.assertEqual(report["issues"], [])

    def worked(self):
        """A recording in which the first process also launched, copied and was killed."""
        path = pathlib.Path(self.folder.name, "worked")
        if path.exists():
            return path
        subprocess.run([MAKE, path, "1", "2000"], check=True, capture_output=True)
        db = sqlite3.connect(path)
        process, began = db.execute("SELECT process_id, began_ns FROM processes WHERE pid = 101").fetchone()
        db.execute("UPDATE processes SET ended_ns = ?, exit_status = 9, end_reason = 'exit', command = "
                   "'python train.py --steps 12345 it''s', parent_pid = 77 WHERE process_id = ?",
                   (began + 12_345_678_901, process))
        function = db.execute("SELECT max(function_id) FROM functions").fetchone()[0] + 1
        db.execute("INSERT INTO functions(function_id, name, plane) VALUES (?, 'cuLaunchKernel', 'driver')",
                   (function,))
        for kernel, name in ((900, "sgemm"), (901, None)):
            db.execute("INSERT INTO kernels(kernel_id, process_id, handle, name) VALUES (?, ?, ?, ?)",
                       (kernel, process, kernel, name))
        for kernel, x, count in ((900, 64, 9000), (900, 64, 345), (901, 8, 12), (902, 1, 7),
                                 *((900, 100 + i, 5) for i in range(20))):
            db.execute("INSERT INTO launches VALUES (1, 2, ?, ?, ?, ?, 8, 1, 256, 1, 1, ?)",
                       (process, kernel, function, x, count))
        for direction, submitted, count, size, host, failures in (
                ("host to device", 0, 4, 5 << 30, 1_234_567_890, 1),
                ("device to host", 1, 300, 7 << 20, 55_000, 0), ("set", 0, 2, 4096, 0, 0)):
            db.execute("INSERT INTO copies VALUES (1, 2, ?, ?, ?, ?, ?, ?, ?, ?)",
                       (process, direction, function, submitted, count, size, host, failures))
        db.commit()
        db.close()
        return path

    def test_every_number_of_the_report_has_its_sql(self):
        path = self.worked()
        for pid in (101, *(r["recording"]["process"]["pid"]
                           for r in json.loads(tidegauge("report", path, "--json"))[1:])):
            with self.subTest(pid=pid):
                self.assertGreater(sentences.check(BINARY, path, "--pid", pid), 0)

    def test_the_table_of_processes_has_its_sql_and_needs_no_choice(self):
        path = self.worked()
        found, _ = sentences.statements(tidegauge("report", "--sql", path))
        above, sql = next(one for one in found
                          if "3 processes called for memory, launched or copied" in one[0])
        self.assertIn("FROM all_processes", sql)
        with sentences.Database(BINARY, path) as database:
            for line in above:
                sentences.in_result(line, database, sql)
        rows = json.loads(tidegauge("query", path, "SELECT pid, peak_bytes, live_bytes FROM all_processes ORDER BY "
                                    "pid", "--format", "json"))
        truth = json.loads(subprocess.run([MAKE, path.with_name("again"), "1", "2000"], check=True,
                                          capture_output=True, text=True).stdout)["traces"]
        sums = [[int(trace["name"].split()[1]), *(sum(books[key] for ordinal, books in trace["devices"].items()
                                                     if int(ordinal) >= 0) for key in ("reserved_peak", "reserved"))]
                for trace in truth]
        self.assertEqual([list(row.values()) for row in rows], sums)
        # The answer before it: who held what when it ended.
        answer, answer_sql = found[0]
        self.assertIn("FROM all_held", answer_sql)
        held, = json.loads(tidegauge("query", path, answer_sql.rstrip(";"), "--format", "json"))
        self.assertEqual(held, {"bytes": sum(row[2] for row in sums), "holders": sum(row[2] > 0 for row in sums),
                                "processes": 3})
        self.assertIn(f"of device memory were held by {held['holders']} of 3 processes when they, or the recording, "
                      "ended.", " ".join(" ".join(answer).split()))
        by_process = next(sql for _, sql in found[1:] if "FROM all_held" in sql)
        of = {}
        for row in json.loads(tidegauge("query", path, by_process.rstrip(";"), "--format", "json")):
            if row["kind"] not in ("pinned host", "registered host"):
                of[row["pid"]] = of.get(row["pid"], 0) + row["bytes"]
        self.assertEqual(of, {row[0]: row[2] for row in sums if row[2] > 0})
        refused = subprocess.run([BINARY, "query", path, "SELECT count(*) FROM events"], capture_output=True,
                                 text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("Choose one with --pid", refused.stderr)
        for sql, error in (("SELECT heaps FROM events", "no such column: heaps"),
                           ("SELEC 1", "syntax error")):
            wrong = subprocess.run([BINARY, "query", path, sql], capture_output=True, text=True, check=False)
            self.assertEqual(wrong.returncode, 2)
            self.assertIn(error, wrong.stderr)  # which no choice of a process makes right
            self.assertNotIn("--pid", wrong.stderr)

    def test_a_page_of_one_process(self):
        path = self.worked()
        out = path.with_name("page.html")
        words = [BINARY, "export", path, "--to", "html", "-o", out]
        refused = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("contains 3 processes, and a page shows one. Choose one with --pid PID.", refused.stderr)
        for name in ("pid 101 trainer", "pid 102 server", "pid 103 leaker"):
            self.assertIn(name, refused.stderr)
        self.assertFalse(out.exists())
        unknown = subprocess.run([*words, "--pid", "9"], capture_output=True, text=True, check=False)
        self.assertEqual(unknown.returncode, 2)
        self.assertIn("101, 102, 103", unknown.stderr)
        done = subprocess.run([*words, "--pid", "103"], capture_output=True, text=True, check=False)
        if "has no page in it" in done.stderr:
            self.skipTest("the program has no page in it: build with TIDEGAUGE_WEB=ON")
        self.assertEqual(done.returncode, 0, done.stderr)
        said = done.stdout
        self.assertIn("opens in a browser", said)
        events = json.loads(tidegauge("query", path, "--pid", "103", "SELECT events FROM devices WHERE device = 0",
                                      "--format", "json"))[0]["events"]
        self.assertIn(f"all {events:,} steps", said)

    def test_report_shows_the_process_its_launches_and_copies(self):
        path = self.worked()
        text = " ".join(tidegauge("report", path, "--pid", 101, "--full").split())
        for words in ("it was killed by SIGKILL (9)", "seen for 12.3 s", "9,345", "sgemm", "name not known",
                      "kernel at 0x385 (no name)",
                      "device to host, submitted", "Not freed when it ended", "out of memory"):
            self.assertIn(words, text)
        report = json.loads(tidegauge("report", path, "--pid", 101, "--json"))["recording"]
        self.assertEqual(report["kernels"]["launches"], 9000 + 345 + 12 + 7 + 100)
        self.assertEqual(report["copies"]["failures"], 1)
        self.assertIsNone(report["copies"]["rows"][1]["bytes_per_second"])
        rows = json.loads(tidegauge("query", path, "--pid", "101", "--format", "json",
                                    "SELECT submitted, direction, host_ns, transfer_ns FROM copies"))
        self.assertIn(True, [row["submitted"] == 1 for row in rows])
        for row in rows:
            waits = not row["submitted"] and row["direction"] in ("host to device", "device to host", "host to host")
            self.assertEqual(row["transfer_ns"], row["host_ns"] if waits else None, row)
        self.assertEqual(report["process"]["exit_status"], 9)
        books = {t["name"]: t for t in self.files[0][1]}
        self.assertEqual(len(books), 3)

    def test_json_is_what_the_schema_says(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("no jsonschema: pip install jsonschema")
        schema = json.loads((ROOT / "docs" / "schema" / "report.schema.json").read_text(encoding="utf-8"))
        for path in (self.worked(), *(path for path, _ in self.files)):
            report = json.loads(tidegauge("report", path, "--json"))
            errors = [f"{error.json_path}: {error.message[:200]}"
                      for error in jsonschema.Draft202012Validator(schema).iter_errors(report)]
            self.assertEqual(errors, [], path.name)

    def test_from_standard_input_it_is_refused_in_clear_words(self):
        path, _ = self.files[0]
        with open(path, "rb") as file:
            done = subprocess.run([BINARY, "report", "-"], stdin=file, capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("standard input: this is an SQLite file, which Tidegauge can only open by its file name", done.stderr)
        self.assertIn("Give the name of the recording", done.stderr)

    def test_a_row_of_refusals_says_how_many_and_since_when(self):
        """The driver said no twice more, right before: one event, which stands for three."""
        path = self.files[0][0].with_name("refused")
        path.write_bytes(self.files[0][0].read_bytes())
        db = sqlite3.connect(path)
        columns = [row[1] for row in db.execute("PRAGMA table_info(calls)") if row[1] != "call_id"]
        end = db.execute("SELECT max(end_ns) FROM calls WHERE code = 2 AND in_runtime").fetchone()[0]
        for earlier in (1800, 1500):  # the runtime asked, after calls of the driver alone
            db.execute(f"INSERT INTO calls ({', '.join(columns)}) SELECT "
                       + ", ".join({"start_ns": f"end_ns - {earlier + 10}", "end_ns": f"end_ns - {earlier}",
                                    "in_runtime": "0"}.get(c, c) for c in columns)
                       + " FROM calls WHERE end_ns = ?", (end,))
        db.commit()
        pid = db.execute("SELECT pid FROM processes JOIN calls USING(process_id) WHERE end_ns = ?", (end,)).fetchone()[0]
        db.close()
        ooms = [oom for device in json.loads(tidegauge("report", path, "--pid", pid, "--json"))["devices"]
                for oom in device["ooms"]]
        alone = [oom for device in json.loads(tidegauge("report", self.files[0][0], "--pid", pid, "--json"))["devices"]
                 for oom in device["ooms"]]
        self.assertEqual(len(ooms), len(alone))
        self.assertEqual({oom["refusals"] for oom in alone}, {1})
        self.assertEqual([oom["first_refused_time_us"] for oom in alone], [oom["time_us"] for oom in alone])
        self.assertEqual([(oom["refusals"], oom["first_refused_time_us"]) for oom in ooms
                          if oom["time_us"] == end // 1000], [(3, (end - 1800) // 1000)])
        self.assertIn("3 times in a row, first at", " ".join(tidegauge("report", path, "--pid", pid).split()))

    def damaged(self):
        """The pages of copies are overwritten, as a disk does it, and a call names a function that is none."""
        path = self.worked().with_name("damaged")
        path.write_bytes(self.worked().read_bytes())
        with sqlite3.connect(path) as db:
            db.execute("UPDATE calls SET function_id = 9999 WHERE call_id = (SELECT max(call_id) FROM calls)")
            page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'copies'").fetchone()[0]
            size = db.execute("PRAGMA page_size").fetchone()[0]
        db.close()
        with open(path, "r+b") as file:
            file.seek((page - 1) * size)
            file.write(b"\x5a" * size)
        return path

    def test_damage_is_reported_by_every_command(self):
        path = self.damaged()
        for words in (["report", path], ["query", path, "SELECT pid FROM all_processes"], ["query", path, "--pid", 101],
                      ["frag", path], ["frag", path, "--watch", "--count", 1], ["diff", path, path],
                      ["export", path, "--to", "html", "--pid", 101, "--force"], ["view", path, "--no-browser"]):
            with self.subTest(command=words[0]):
                run = subprocess.Popen([BINARY, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       text=True, cwd=path.parent)
                if words[0] == "view":
                    url = run.stdout.readline().split(" at ")[-1].strip()
                    urllib.request.urlopen(f"{url}api/table?name=phases", timeout=60).close()  # it serves by now
                    run.send_signal(signal.SIGINT)
                told, said = run.communicate()
                if "has no page in it" in said:
                    continue
                self.assertEqual(run.returncode, 3, said)
                self.assertIn(f"{path} is damaged, so its figures may be wrong. "
                              "These tables could not be read to the end: copies (", said)
                self.assertIn("Tidegauge ignored 1 row that contradicts the rest.", said)
                self.assertEqual(said.count("is damaged"), 2 if words[0] == "diff" else 1)
                self.assertTrue(told or words[0] == "view")
        wrong = subprocess.run([BINARY, "query", path, "SELEC"], capture_output=True, check=False)
        self.assertEqual(wrong.returncode, 2)
        whole = subprocess.run([BINARY, "report", self.worked()], capture_output=True, text=True, check=True)
        self.assertEqual(whole.stderr, "")

    def test_every_figure_of_a_file_cut_short_is_marked(self):
        whole = self.worked()
        cut = whole.with_name("cut short")
        cut.write_bytes(whole.read_bytes()[:-4096])

        def told(*words):
            done = subprocess.run([BINARY, *map(str, words)], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn("It is truncated: its last page is incomplete.", done.stderr)
            return done.stdout, done.stderr

        self.assertRegex(" ".join(told("report", "--full", cut, "--pid", 101)[0].split()),
                         r"peak reserved memory was [0-9.,]+ \w+ \(incomplete\)\.")
        report = json.loads(told("report", cut, "--pid", 101, "--json")[0])
        self.assertIn("memory", report["incomplete"][-1]["figures"])
        self.assertIn("cut short", report["incomplete"][-1]["reason"])
        self.assertIn("(incomplete)\n", told("frag", cut)[0])
        diff = told("diff", cut, cut)[0]
        self.assertEqual(diff.count("(incomplete)"), 6)  # each process of both
        self.assertIn("Incomplete: figures of memory", told("query", cut, "--pid", 101, "SELECT 1")[1])

    def test_a_file_that_ends_inside_its_head(self):
        path = self.worked().with_name("cut")
        path.write_bytes(self.worked().read_bytes()[:50])
        done = subprocess.run([BINARY, "report", path], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 3)
        self.assertIn("the SQLite file is truncated, because it is shorter than its header of 100 bytes (at byte 50). Copy it again", done.stderr)
        self.assertNotIn("pipe", done.stderr)

    def test_several_processes_are_summed_up_first(self):
        path, truth = self.files[0]
        text = tidegauge("report", path)
        answer, head = text.split("\n\n")[:2]
        self.assertIn("Held at the end", answer)
        self.assertIn("3 processes", head)
        for trace in truth:
            self.assertIn(trace["name"].removeprefix("pid "), head)
        one = tidegauge("report", path, "--pid", 101)
        self.assertNotIn("processes called", one)
        done = subprocess.run([BINARY, "report", path, "--pid", "7"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("this file has no process 7", done.stderr)
        self.assertIn("101", done.stderr)

    def test_query_counts_the_same(self):
        for path, number, trace in self.each():
            rows = csv.DictReader(io.StringIO(tidegauge(
                "query", path, "--pick", number, "--format", "csv",
                "SELECT device, final_reserved_bytes, final_requested_bytes, "
                "(SELECT count(*) FROM events e WHERE e.device = d.device AND action = 'oom') AS ooms "
                "FROM devices d")))
            for row in rows:
                books = trace["devices"][row["device"]]
                self.assertEqual(int(row["final_reserved_bytes"]), books["reserved"])
                self.assertEqual(int(row["final_requested_bytes"]), books["requested"])
                self.assertEqual(int(row["ooms"]), books["ooms"])

    def test_stacks_and_times_are_there(self):
        path, _ = self.files[0]
        row = next(csv.DictReader(io.StringIO(tidegauge(
            "query", path, "--pick", 3, "--format", "csv",
            "SELECT count(DISTINCT stack_id) AS stacks, count(*) FILTER (WHERE time_us IS NULL) AS untimed "
            "FROM events"))))
        self.assertEqual(int(row["stacks"]), 19)
        self.assertEqual(int(row["untimed"]), 0)

    def test_frag_and_diff_work(self):
        (one, truth), (other, _) = self.files
        reports = json.loads(tidegauge("frag", one, "--json"))
        self.assertEqual(len(reports), len(truth))
        tidegauge("frag", one)
        tidegauge("diff", one, other)
        text = tidegauge("report", one)
        self.assertIn("--pid PID shows another", " ".join(text.split()))
        self.assertIn("pid 101 trainer", tidegauge("report", "--full", one))

    def test_a_limit_on_a_score_that_is_none_does_not_pass(self):
        """pid 103, alone, takes memory of the driver as it is; beside it are devices with an allocator."""
        path = self.files[0][0].with_name("driver_alone")
        path.write_bytes(self.files[0][0].read_bytes())
        with sqlite3.connect(path) as db:
            others = "process_id IN (SELECT process_id FROM processes WHERE pid <> 103)"
            db.execute(f"DELETE FROM calls WHERE {others}")
            db.execute(f"DELETE FROM processes WHERE {others}")
        db.close()
        for metric in ("score", "forecast"):
            done = subprocess.run([BINARY, "frag", path, "--fail-on", f"{metric}>100"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(f"this recording has no blocks of an allocator, so {metric} is not defined", done.stderr)
            self.assertIn("reserved>40GiB", done.stderr)
            self.assertEqual(done.stdout, "")
        tidegauge("frag", path, "--fail-on", "reserved>1TiB")
        tidegauge("frag", self.files[0][0], "--fail-on", "score>100")

    def test_falling_requests_of_one_place_are_reported_together(self):
        """The refusal of pid 101 comes twice more, each time for half as much, a microsecond apart."""
        path = self.files[0][0].with_name("falling")
        path.write_bytes(self.files[0][0].read_bytes())
        db = sqlite3.connect(path)
        columns = [row[1] for row in db.execute("PRAGMA table_info(calls)") if row[1] != "call_id"]
        end = db.execute("SELECT max(end_ns) FROM calls WHERE code = 2 AND in_runtime").fetchone()[0]
        size = db.execute("SELECT size_bytes FROM calls WHERE end_ns = ?", (end,)).fetchone()[0]
        for half in (1, 2):
            changed = {"start_ns": f"end_ns + {half * 1000 - 10}", "end_ns": f"end_ns + {half * 1000}",
                       "size_bytes": f"size_bytes >> {half}"}
            db.execute(f"INSERT INTO calls ({', '.join(columns)}) SELECT "
                       + ", ".join(changed.get(c, c) for c in columns)
                       + " FROM calls WHERE end_ns = ?", (end,))
        db.commit()
        pid = db.execute("SELECT pid FROM processes JOIN calls USING(process_id) WHERE end_ns = ?", (end,)).fetchone()[0]
        db.close()
        ooms = [oom for device in json.loads(tidegauge("report", path, "--pid", pid, "--json"))["devices"]
                for oom in device["ooms"] if oom["time_us"] >= end // 1000]
        self.assertEqual([oom["requested_bytes"] for oom in ooms], [size, size // 2, size // 4])
        self.assertEqual(len({oom["series"] for oom in ooms}), 1)
        self.assertIn("Requests of its call site failed 3 times in a row, from ",
                      " ".join(tidegauge("report", path, "--pid", pid).split()))

    def test_it_is_a_database_that_anything_opens(self):
        path, _ = self.files[0]
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
            calls, = db.execute("SELECT count(*) FROM call_log").fetchone()
            raw, = db.execute("SELECT count(*) FROM calls").fetchone()
            views = [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type='view'")]
            for view in views:
                db.execute(f"SELECT * FROM {view} LIMIT 5").fetchall()
        db.close()
        self.assertEqual(calls, raw)

    def test_the_documentation_names_every_table_column_and_view(self):
        text = (ROOT / "docs" / "formats" / "recording.md").read_text(encoding="utf-8")
        rows = {line.split("|")[1].strip(" `"): line for line in text.splitlines()
                if line.startswith("| `")}
        path, _ = self.files[0]
        db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        for name, kind in db.execute("SELECT name, type FROM sqlite_schema WHERE type <> 'index'"):
            if kind == "view":
                self.assertIn(f"`{name}`", text)
                continue
            for _, column, *_ in db.execute(f"PRAGMA table_info({name})"):
                self.assertIn(f"`{column}`", rows[name], name)
        db.close()

    def test_other_databases_are_refused(self):
        path = pathlib.Path(self.folder.name, "other.db")
        db = sqlite3.connect(path)
        db.execute("CREATE TABLE t(x)")
        db.commit()
        db.close()
        done = subprocess.run([BINARY, "report", path], capture_output=True, text=True)
        self.assertEqual(done.returncode, 3)
        self.assertIn("is not a recording of Tidegauge", done.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--make", required=True)
    known, rest = parser.parse_known_args()
    MAKE = pathlib.Path(known.make).resolve()
    unittest.main(argv=[sys.argv[0], *rest])
