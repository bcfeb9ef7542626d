"""Pinned host memory in a working set: a recording of the process says where it lies, wss which of it is touched."""
import contextlib
import json
import sqlite3
import subprocess
import time
import unittest

import live

MIB = 2 ** 20


class Pinned(live.LiveTest):
    def wss(self, *words, code=0):
        done = subprocess.run([live.BINARY, "wss", *map(str, words)], capture_output=True, text=True,
                              timeout=live.LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def recorded_pid(self, path):
        """The process of the recording that is being written; it is there when it has made its calls."""
        for _ in range(600):
            rows = []
            if path.exists():
                with contextlib.closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as recording:
                    with contextlib.suppress(sqlite3.OperationalError):  # no tables yet
                        rows = recording.execute("SELECT pid FROM processes WHERE (SELECT count(*) FROM calls) >= 4").fetchall()
            if rows:
                return rows[0][0]
            time.sleep(0.1)
        raise AssertionError("no calls were written")

    def test_of_a_program_that_is_being_recorded(self):
        folder = self.folder()
        path = folder / "run.sqlite"
        recorder = subprocess.Popen([*self.command(folder), "--", live.program("pinned")], env=self.environment(folder),
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(recorder.stdout.readline(), "ready\n")
            pid = self.recorded_pid(path)
            answer = json.loads(self.wss("--json", "--by", "kind", "--with", path, pid, 0.2).stdout)
            kinds = {group["kind"]: group["bytes"] for group in answer["rows"][0]["groups"]}
            self.assertEqual(kinds["pinned"]["rss"], 12 * MIB)
            self.assertEqual(kinds["pinned"]["referenced"], 3 * MIB)
            self.assertGreaterEqual(kinds["anonymous"]["rss"], 16 * MIB)
            self.assertIn("DMA", " ".join(answer["limits"]))
            plain = json.loads(self.wss("--json", "--by", "kind", pid, 0.2).stdout)["rows"][0]
            self.assertNotIn("pinned", [group["kind"] for group in plain["groups"]])
            self.assertEqual(plain["bytes"]["rss"], answer["rows"][0]["bytes"]["rss"])
            kept = folder / "kept.jsonl"
            self.wss("--by", "kind", "--with", path, "-o", kept, pid, 0.2)
            told = [line.split() for line in self.wss("--top", 1000, kept).stdout.splitlines()]
            pinned = [words for words in told if words[4:5] == ["pinned"]]
            self.assertAlmostEqual(sum(float(words[1]) for words in pinned), 12, delta=0.05)
            self.assertAlmostEqual(sum(float(words[0]) for words in pinned), 3, delta=0.05)
            heat = self.wss("--rolling", 2, "--heat", "-d", 0.5, "--with", path, pid, 0.1).stdout
            self.assertIn("pinned host", heat)
            wrong = self.wss("--by", "kind", "--with", path, recorder.pid, 0.1, code=2)
            self.assertIn(f"contains nothing about process {recorder.pid}", wrong.stderr)
        finally:
            recorder.communicate("\n", timeout=live.LIMIT_S)
        self.assertEqual(recorder.returncode, 0)


if __name__ == "__main__":
    live.main()
