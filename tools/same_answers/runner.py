"""Runs the old and the new binary with the same words, with a limit of time.

    pair = Pair("build/old/tidegauge", "build/new/tidegauge", renames)
    old, new = pair.run(["report", "--json", "a.pickle"])    Answer(code, out, err); None: too slow

Everything that may change a text is fixed: columns, language, time zone. Where words may change,
the page is so wide that no name is cut.
"""

import dataclasses
import os
import subprocess

LIMIT_S = 120


@dataclasses.dataclass(frozen=True)
class Answer:
    code: int
    out: bytes
    err: bytes


class Pair:
    def __init__(self, old, new, renames, limit_s=LIMIT_S, columns=100):
        self.binaries = (os.path.abspath(old), os.path.abspath(new))
        self.renames, self.limit_s, self.columns = renames, limit_s, columns

    def words(self, words):
        """The command line of each of the two."""
        words = [str(word) for word in words]
        return words, self.renames.in_command(words)

    def run(self, words):
        return [self.run_one(number, its) for number, its in enumerate(self.words(words))]

    def run_one(self, number, words):
        try:
            done = subprocess.run([self.binaries[number], *words], stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=self.limit_s,
                                  env=self._environment(), check=False)
        except subprocess.TimeoutExpired:
            return None
        return Answer(done.returncode, done.stdout, done.stderr)

    def start(self, number, words, **streams):
        return subprocess.Popen([self.binaries[number], *map(str, words)], env=self._environment(),
                                stdin=subprocess.DEVNULL, **streams)

    def _environment(self):
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "HOME", "TMPDIR")}
        return kept | {"LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": str(self.columns), "NO_COLOR": "1"}
