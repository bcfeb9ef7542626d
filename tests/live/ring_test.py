#!/usr/bin/env python3
"""A recording that is kept below a size (--max-size): the last part alone is as exact as a recording of
everything, however many parts are gone."""
import collections
import json
import re
import sqlite3
import stat
import subprocess
import threading
import time
import unittest

import live

MIB = 1 << 20
MOST = 16 * MIB
HELD = [1000 * (i + 1) for i in range(40) if i % 2]  # ring.c never frees these


class Sizes(threading.Thread):
    """The largest that the files of a folder were together."""

    def __init__(self, folder):
        super().__init__()
        self.folder, self.most, self.ended = folder, 0, threading.Event()

    def run(self):
        while not self.ended.wait(0.002):
            total = 0
            for path in self.folder.glob("run*"):
                try:
                    total += path.stat().st_size
                except FileNotFoundError:
                    pass
            self.most = max(self.most, total)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()


def query(path, sql):
    done = subprocess.run([live.BINARY, "query", path, sql, "--format", "json"], capture_output=True,
                          text=True, timeout=live.LIMIT_S, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{path}: {done.stderr}")
    return json.loads(done.stdout)


def number(path):
    return int(re.fullmatch(r"run\.(\d+)\.sqlite", path.name)[1])


class Ring(live.LiveTest):
    def test_the_last_part_alone_says_what_is_live(self):
        folder = self.folder()
        with Sizes(folder) as sizes:
            done = subprocess.run([*self.command(folder, "--max-size", "16MiB"), "--",
                                   live.program("ring"), "900"], env=self.environment(folder),
                                  capture_output=True, text=True, timeout=live.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        run = live.Run(folder, done)
        expected = run.expected[0]
        parts = sorted(folder.glob("run.*.sqlite"), key=number)
        numbers = [number(part) for part in parts]
        self.assertGreater(len(numbers), 1)
        self.assertEqual({stat.S_IMODE(path.stat().st_mode) for path in folder.glob("run*")}, {0o600})
        self.assertGreater(numbers[0], 1, "the oldest part is still there")
        self.assertEqual(numbers, list(range(numbers[0], numbers[-1] + 1)))
        own = sqlite3.connect(run.path).execute("SELECT count(*) - (SELECT value FROM meta WHERE key = 'carried_calls')"
                                                " FROM calls").fetchone()[0]
        last = done.stderr[done.stderr.index(f", in {numbers[-1] + 1} parts; the last part, "):]
        self.assertIn(f", contains {own:,} of them.", last)
        self.assertIn(parts[0].name, done.stderr)
        self.assertRegex(done.stderr, r"MiB of 16.0 MiB in total. The recorder deleted the calls before 20\d\d-[-0-9]+ [:0-9]+ UTC\.")
        self.assertLessEqual(sizes.most, MOST)
        self.assertGreater(sum(path.stat().st_size for path in folder.glob("run*")), MOST // 2)
        self.assertEqual(sorted(path.name for path in folder.glob("run*")),
                         sorted([*(part.name for part in parts), "run.sqlite"]))

        held = collections.Counter()
        for row in query(run.path, "SELECT kind, sum(bytes) AS bytes FROM held_at_end GROUP BY kind"):
            held[row["kind"]] = row["bytes"]
        self.assertEqual(dict(held), {kind: n for kind, n in expected["live"].items() if n})
        # They are there since before the oldest part that is left, with the stacks of that time.
        old = sqlite3.connect(run.path).execute(
            "SELECT size_bytes, (SELECT group_concat(s.function) FROM stack_lines s WHERE s.stack_id = "
            "c.stack_id), start_ns FROM calls c JOIN functions f USING(function_id) WHERE call_id <= (SELECT value "
            "FROM meta WHERE key = 'carried_calls') AND f.kind = 'device' AND size_bytes % 1000 = 0 "
            "AND verb = 'allocate' ORDER BY 1").fetchall()
        self.assertLessEqual(set(HELD), {row[0] for row in old})
        self.assertEqual({"oldOne" in row[1] and "main" in row[1] for row in old}, {True})
        first = sqlite3.connect(parts[0]).execute("SELECT min(end_ns) FROM calls").fetchone()[0]
        self.assertTrue(all(row[2] < first for row in old))

        for part in [*parts, run.path]:
            with self.subTest(part.name):
                report = subprocess.run([live.BINARY, "report", part], capture_output=True, text=True,
                                        timeout=live.LIMIT_S, check=False)
                self.assertEqual(report.returncode, 0, report.stderr)
                said = " ".join(report.stdout.split())
                at = number(part) if part != run.path else numbers[-1] + 1
                self.assertIn(f"Part {at} of a recording that is kept below a size", said)
                self.assertIn(f"It continues run.{at - 1}.sqlite at 20", said)
                gone, here = numbers[0] - 1, at - numbers[0]
                if here > 1:
                    self.assertIn(f"Of {at - 1} parts before it {here} are beside it (run.{numbers[0]}.sqlite to "
                                  f"run.{at - 1}.sqlite), {gone} {'is' if gone == 1 else 'are'} gone.", said)
                initial = query(part, "SELECT sum(initial_bytes) AS n FROM all_processes")[0]["n"]
                self.assertGreater(initial, sum(HELD))
                # What makes physical memory without an address, and no contradiction, is none here.
                self.assertEqual(query(part, "SELECT kind, count, bytes, detail FROM issues"), [])
                self.assertEqual(query(part, "SELECT * FROM incomplete"), [])
                counted = query(part, "SELECT count(*) AS n FROM events WHERE action = 'segment_alloc'")
                calls = sqlite3.connect(part).execute(
                    "SELECT count(*) FROM calls JOIN functions USING(function_id) WHERE plane = 'driver' AND "
                    "kind IN ('device', 'pool', 'pinned host') AND verb = 'allocate' AND call_id > coalesce((SELECT "
                    "CAST(value AS INTEGER) FROM meta WHERE key = 'carried_calls'), 0)").fetchone()
                self.assertEqual(counted[0]["n"], calls[0], "carried memory counts as handed out")

    def test_each_part_begins_with_what_the_one_before_ended_with(self):
        folder = self.folder()
        subprocess.run([*self.command(folder, "--max-size", "16MiB"), "--", live.program("ring"), "500"],
                       env=self.environment(folder), capture_output=True, timeout=live.LIMIT_S, check=True)
        parts = sorted(folder.glob("run.*.sqlite"), key=number) + [folder / "run.sqlite"]
        for before, after in zip(parts, parts[1:]):
            with self.subTest(after.name):
                ended = {(row["kind"], row["bytes"], row["count"], row["oldest_ns"]) for row in query(
                    before, "SELECT kind, sum(bytes) AS bytes, sum(count) AS count, min(oldest_ns) AS oldest_ns "
                            "FROM held_at_end GROUP BY kind")}
                carried = folder / "carried.sqlite"
                source = sqlite3.connect(after)
                copy = sqlite3.connect(carried)
                source.backup(copy)
                copy.execute("DELETE FROM calls WHERE call_id > (SELECT CAST(value AS INTEGER) FROM meta WHERE "
                             "key = 'carried_calls')")
                copy.commit()
                copy.close()
                source.close()
                begun = {(row["kind"], row["bytes"], row["count"], row["oldest_ns"]) for row in query(
                    carried, "SELECT kind, sum(bytes) AS bytes, sum(count) AS count, min(oldest_ns) AS oldest_ns "
                             "FROM held_at_end GROUP BY kind")}
                self.assertEqual(ended, begun)
                self.assertEqual(sqlite3.connect(after).execute(
                    "SELECT value FROM meta WHERE key = 'continues'").fetchone()[0],
                    before.name)
                carried.unlink()

    def test_readers_that_overlap_keep_no_part_from_ending(self):
        folder = self.folder()
        path, ended, answers = folder / "run.sqlite", threading.Event(), []

        def read():
            while not ended.is_set():
                began = time.monotonic()
                answer = subprocess.run([live.BINARY, "query", path, "SELECT number FROM part", "--format", "csv"],
                                        capture_output=True, text=True, timeout=live.LIMIT_S, check=False)
                answers.append((answer, began, time.monotonic()))

        readers = [threading.Thread(target=read) for _ in range(3)]
        recorder = subprocess.Popen([*self.command(folder, "--max-size", "16MiB"), "--", live.program("steady"), "25"],
                                    env=self.environment(folder), stderr=subprocess.PIPE, text=True)
        try:
            while not path.exists() and recorder.poll() is None:
                time.sleep(0.01)
            for reader in readers:
                reader.start()
            _, said = recorder.communicate(timeout=live.LIMIT_S)
        finally:
            ended.set()
            for reader in readers:
                if reader.ident:
                    reader.join()
        self.assertEqual(recorder.returncode, 0, said)
        self.assertGreater(len(list(folder.glob("run.*.sqlite"))), 1)
        self.assertEqual({(answer.returncode, answer.stderr) for answer, *_ in answers}, {(0, "")})
        # Of the first part there is none, before it has begun. It is not seen again by who asks after it had ended.
        seen = [("".join(answer.stdout.split()[1:]), began, done) for answer, began, done in answers]
        self.assertLessEqual({"2", "3"}, {part for part, *_ in seen})
        second = min(done for part, _, done in seen if part == "2")
        self.assertEqual([part for part, began, _ in seen if part == "" and began > second], [])

    def test_parts_of_an_older_ring(self):
        folder = self.folder()
        words = ["--max-size", "16MiB"]
        once = lambda *more: subprocess.run(
            [*self.command(folder, *words, *more), "--", live.program("plain")],
            env=self.environment(folder), capture_output=True, text=True, timeout=live.LIMIT_S, check=False)
        self.assertEqual(once().returncode, 0)
        old = folder / "run.3.sqlite"
        (folder / "run.sqlite").rename(old)
        refused = once()
        self.assertEqual(refused.returncode, 2)
        self.assertIn("run.3.sqlite already exists", refused.stderr)
        self.assertEqual(once("--force").returncode, 0)
        self.assertFalse(old.exists())
        old.write_text("mine")
        self.assertEqual(once("--force").returncode, 2)
        self.assertEqual(old.read_text(), "mine")

    def test_a_size_that_is_too_small(self):
        done = subprocess.run([live.BINARY, "record", "--max-size", "15MiB", "--", "true"],
                              capture_output=True, text=True, timeout=live.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("at least 16MiB", done.stderr)


if __name__ == "__main__":
    live.main()
