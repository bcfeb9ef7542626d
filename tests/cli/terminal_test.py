#!/usr/bin/env python3
"""What a terminal sees: widths, hostile numbers, files that fail, outputs that cannot be written."""

import fcntl
import os
import pathlib
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import unicodedata
import unittest

ROOT = pathlib.Path(os.environ.get("TIDEGAUGE_SOURCE_DIR",
                                   pathlib.Path(__file__).resolve().parents[2]))
BINARY = os.environ.get("TIDEGAUGE_BINARY")
COMMANDS = ("view", "report", "query", "frag", "diff", "categories", "export")


def environment(columns):
    kept = {key: value for key, value in os.environ.items()
            if key == "PATH" or key.endswith("SAN_OPTIONS")}
    kept |= {"LC_ALL": "C.UTF-8", "TERM": "xterm", "NO_COLOR": "1"}
    return kept | ({} if columns is None else {"COLUMNS": str(columns)})


def run(*arguments, columns=None, **options):
    return subprocess.run([BINARY, *map(str, arguments)], env=environment(columns), text=True,
                          stdin=subprocess.DEVNULL, timeout=300,
                          **({"capture_output": True} | options))


def on_terminal(columns, *arguments):
    """What a terminal that wide gets; COLUMNS says otherwise."""
    mine, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    process = subprocess.Popen([BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=its,
                               stderr=subprocess.DEVNULL, env=environment(333))
    os.close(its)
    got = b""
    while True:
        try:
            part = os.read(mine, 65536)
        except OSError:  # Linux: the other side has closed
            break
        if not part:
            break
        got += part
    os.close(mine)
    process.wait()
    return got.decode().replace("\r\n", "\n")


def width(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


def widest(text):
    return max(map(width, text.splitlines()), default=0)


class Terminal(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.at = pathlib.Path(cls.folder.name)
        for name in ("a", "b"):
            (cls.at / name).mkdir()
            shutil.copy(ROOT / "examples/oom.pickle.zst", cls.at / name / "rank.pickle.zst")
        cls.file = cls.at / "a/rank.pickle.zst"
        cls.other = cls.at / "b/rank.pickle.zst"

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def pages(self):
        return (("report", "--full", self.file), ("frag", self.file, "--request", "512MiB"),
                ("diff", self.file, self.other), ("diff", self.file, self.other, self.file))

    # ---- width ----------------------------------------------------------------------------------

    def test_a_pipe_is_as_wide_as_columns_says(self):
        for page in self.pages():
            for columns in (40, 80, 100, 160):
                text = run(*page, columns=columns).stdout
                self.assertLessEqual(widest(text), columns, page)
        for columns in (40, 80, 100, 160):  # a line to copy is never broken
            lines = run("report", self.file, columns=columns).stdout.splitlines()
            copied = [line for line in lines if "PYTORCH_CUDA_ALLOC_CONF=" in line]
            rest = "\n".join(line for line in lines if line not in copied)
            self.assertEqual(len(copied), 1)
            self.assertLessEqual(widest(rest), columns)
            self.assertLessEqual(len(lines), 80 if columns < 80 else 48 if columns < 100 else 40)
        for page in (("report", self.file), ("frag", self.file)):
            self.assertGreater(widest(run(*page, columns=100).stdout), 80, page)

    def test_other_columns_mean_a_hundred(self):
        for page in self.pages():
            usual = run(*page).stdout
            self.assertLessEqual(widest(usual), 100)
            for columns in ("", "0", "39", "401", "-80", "80x", "1e2", "9" * 30, " 80"):
                self.assertEqual(run(*page, columns=columns).stdout, usual, (page, columns))

    def test_a_terminal_is_as_wide_as_it_is(self):
        for page in self.pages():
            for columns in (60, 80, 160):
                self.assertEqual(on_terminal(columns, *page), run(*page, columns=columns).stdout)

    def test_help_fits_too(self):
        for command in COMMANDS:
            for columns in (40, 80, 100):
                text = run(command, "--help", columns=columns).stdout
                self.assertLessEqual(widest(text), columns, command)
        for command in ("report", "frag", "diff"):
            self.assertIn("COLUMNS (40 to 400), else 100", run(command, "--help").stdout)

    def test_numbers_are_never_cut_and_names_keep_both_ends(self):
        size = re.compile(r"\d[\d,.]* [KMGT]?i?B")
        for page in self.pages():
            wide = set(size.findall(run(*page, columns=160).stdout))
            narrow = " ".join(run(*page, columns=80).stdout.split())
            self.assertEqual({number for number in wide if number not in narrow}, set(), page)
            for line in run(*page, columns=80).stdout.splitlines():
                self.assertFalse(line.endswith("…"), line)

    # ---- numbers --------------------------------------------------------------------------------

    def refused(self, *arguments):
        found = run(*arguments)
        self.assertEqual(found.returncode, 2, (arguments, found.stderr))
        self.assertEqual(found.stdout, "")
        self.assertRegex(found.stderr, r"^tidegauge: .+\n$")
        return found.stderr

    def test_hostile_numbers_are_refused(self):
        hostile = ("99999999999999999999", "18446744073709551616", "-1", "", "1e999", "1e3", "5x",
                   "nan", "inf", "0x10", " 5", "5 ", "+5", "1,000", "1.5")
        counts = {"frag": ("--samples", "--rows", "--page", "--small", "--count"),
                  "report": ("--top",), "query": ("--limit", "--pick")}
        for command, options in counts.items():
            for option in options:
                for number in (*hostile, "0"):
                    said = self.refused(command, self.file, option, number)
                    self.assertIn(f"{option} must be a whole number from", said)
        for number in (*hostile, "0"):
            self.assertIn("--top must be", self.refused("diff", self.file, self.other, "--top", number))
        for number in hostile[:-1]:
            self.assertIn("--port must be", self.refused("view", self.file, "--port", number))
        for option in ("--alpha", "--interval"):
            for number in (*hostile[:5], "nan", "inf", "5x"):
                self.assertIn(f"{option} must be a number", self.refused("frag", self.file, option, number))

    def test_hostile_sizes_are_refused(self):
        hostile = ("99999999999999999999", "18446744073709551616", "-1", "", "1e999", "1e3", "5x", "0",
                   "0MiB", "nan", "inf", "0x10", " 5", "5 MiB", "+5", "1,000", "1.5", "1.5B", "2EiB",
                   "1025TiB", "MiB", "1MiBB", "1..5MiB")
        for command, option in (("frag", "--request"), ("report", "--capacity"), ("export", "--max-size")):
            to = ("--to", "html", "-o", "-") if command == "export" else ()
            for size in hostile:
                said = self.refused(command, self.file, *to, option, size)
                self.assertIn(f"{option} must be a size from ", said)
                self.assertIn(f"“{size}”", said)
        for limit in ("pinned>99999999999999999999", "pinned>-1", "pinned>1e999", "pinned>", "score>1e999"):
            self.assertIn("--fail-on needs", self.refused("frag", self.file, "--fail-on", limit))
        for limit in ("growth>99999999999999999999", "growth>-1", "growth>1e999MiB", "growth>", "new>5x"):
            self.assertIn("--fail-on needs a metric, a comparison and a value",
                          self.refused("diff", self.file, self.other, "--fail-on", limit))

    def test_usual_sizes_are_taken(self):
        for size in ("1", "512", "1b", "1.5MiB", "512mb", "4G", "1PiB", "1024TiB"):
            found = run("frag", self.file, "--request", size)
            self.assertEqual((found.returncode, found.stderr), (0, ""), size)

    def test_limits_of_rows_are_in_the_help(self):
        self.assertIn("Number of table rows, 2 to ", " ".join(run("frag", "--help").stdout.split()))
        self.assertEqual(run("frag", self.file, "--rows", "2").returncode, 0)
        self.refused("frag", self.file, "--rows", "1")
        self.refused("frag", self.file, "--rows", "1000001")

    # ---- files ----------------------------------------------------------------------------------

    def test_diff_says_what_an_unreadable_file_means(self):
        missing = self.at / "nope.pickle"
        found = run("diff", self.file, missing)
        self.assertEqual((found.returncode, found.stdout), (3, ""))
        self.assertIn(f"nothing was compared, because 1 of 2 files could not be read ({missing}).", found.stderr)
        found = run("diff", self.file, self.other, missing)
        self.assertEqual(found.returncode, 3)
        self.assertIn("2 ranks at the peak", found.stdout)
        self.assertIn(f"1 of 3 files could not be read ({missing}). Tidegauge compares the others.",
                      found.stderr)
        found = run("diff", missing, missing, self.file)
        self.assertEqual((found.returncode, found.stdout), (3, ""))
        self.assertIn("nothing was compared, because 2 of 3 files", found.stderr)

    def test_files_of_one_name_are_distinguished_by_folder(self):
        for page in (("report", self.file, self.other), ("diff", self.file, self.other),
                     ("diff", self.file, self.other, self.file)):
            text = run(*page).stdout
            self.assertIn("a/rank.pickle.zst", text)
            self.assertIn("b/rank.pickle.zst", text)

    def test_the_hint_of_plot_names_plot(self):
        picture = self.at / "there.svg"
        picture.write_text("kept")
        found = run("frag", self.file, "--plot", picture)
        self.assertEqual(found.returncode, 2)
        self.assertIn("Choose another file with --plot, or overwrite it with --force.", found.stderr)
        self.assertEqual(picture.read_text(), "kept")
        own = self.at / "in.svg"
        shutil.copy(self.file, own)
        before = own.read_bytes()
        found = run("frag", own, "--plot", own, "--force")
        self.assertEqual(found.returncode, 2)
        self.assertIn("Choose another file with --plot.", found.stderr)
        self.assertNotIn("-o", found.stderr.split("in.svg", 1)[1])
        self.assertEqual(own.read_bytes(), before)
        self.assertIn("Give the name of a file with --plot", self.plot_into_a_folder())

    def plot_into_a_folder(self):
        (self.at / "folder.svg").mkdir()
        found = run("frag", self.file, "--plot", self.at / "folder.svg")
        self.assertEqual(found.returncode, 2)
        return found.stderr

    def test_what_is_no_snapshot_is_named(self):
        empty = self.at / "empty.pickle"
        empty.touch()
        for path in (self.at, empty, "/dev/null", self.at / "nope.pickle"):
            for page in (("report", path), ("frag", path), ("diff", path, self.file)):
                found = run(*page)
                self.assertEqual((found.returncode, found.stdout), (3, ""), page)
                self.assertIn(str(path), found.stderr)

    # ---- outputs --------------------------------------------------------------------------------

    def test_a_reader_that_goes_away_is_no_error(self):
        for page in (*self.pages(), ("frag", self.file, "--csv"), ("query", self.file, "SELECT * FROM events")):
            line = " ".join([BINARY, *(f"'{word}'" for word in page)])
            found = subprocess.run(["bash", "-c", f"set -o pipefail; {line} | head -1"], text=True,
                                   capture_output=True, env=environment(100), timeout=300)
            self.assertEqual(found.stderr, "", page)
            self.assertIn(found.returncode, (0, 141), page)

    def test_a_full_disk_is_reported(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full; any Linux has it")
        picture = self.at / "full.svg"
        picture.symlink_to("/dev/full")
        pages = [*self.pages(), ("frag", self.file, "--csv"), ("frag", self.file, "--json"),
                 ("diff", self.file, self.other, "--csv"), ("frag", "--help")]
        for page in pages:
            with open("/dev/full", "w") as full:
                found = run(*page, capture_output=False, stdout=full, stderr=subprocess.PIPE)
            self.assertEqual(found.returncode, 5, page)
            self.assertIn("could not be written: No space left", found.stderr)
        found = run("frag", self.file, "--plot", picture)
        self.assertEqual(found.returncode, 5)
        self.assertIn("No space left", found.stderr)


if __name__ == "__main__":
    if BINARY is None:
        sys.exit("TIDEGAUGE_BINARY names the program; ctest sets it")
    sys.exit(unittest.main())
