#!/usr/bin/env python3
"""bench/report with tiny files: every table has its shape, and only the generated section of a page changes."""
import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", ROOT / "build/dev-live/tidegauge"))
sys.path.insert(0, str(ROOT / "bench" / "report"))
# pylint: disable=wrong-import-position
import kept  # noqa: E402
import run  # noqa: E402
import section  # noqa: E402
import table  # noqa: E402
from files import name_of  # noqa: E402

PAGE = f"# Page\n\nBefore.\n\n{section.BEGIN}\nold\n{section.END}\n\nAfter.\n"


class Sections(unittest.TestCase):
    def test_only_what_is_between_the_markers_changes(self):
        page = section.replaced(PAGE, "new\n")
        self.assertEqual(page, PAGE.replace("old", "new"))
        self.assertEqual(section.replaced(page, "new"), page)

    def test_a_page_without_markers_is_refused(self):
        for page in ("", section.BEGIN, section.END + section.BEGIN, PAGE + section.BEGIN):
            with self.subTest(page=page), self.assertRaises(ValueError):
                section.replaced(page, "new")


class Tables(unittest.TestCase):
    def test_a_row_has_as_many_cells_as_titles(self):
        it = table.Table("Heading", "command", ["a", "b"])
        with self.assertRaises(AssertionError):
            it.add("one")

    def test_names(self):
        self.assertEqual([name_of(events) for events in (10_000, 1_000_000, 50_000_000, 1234)],
                         ["10k", "1m", "50m", "1234"])

    def test_tiny_files_give_all_tables(self):
        with tempfile.TemporaryDirectory() as scratch:
            page = pathlib.Path(scratch) / "page.md"
            page.write_text(PAGE, encoding="utf-8")
            run.main(["--binary", str(BINARY), "--bench", scratch, "--data", scratch, "--sizes", "500", "2000",
                      "--memory-viz", scratch, "--runs", "1", "--page", str(page)])
            text = page.read_text(encoding="utf-8")
        self.assertTrue(text.startswith("# Page\n\nBefore.\n") and text.endswith("\nAfter.\n"))
        self.assertRegex(text, r"Measured on \d{4}-\d\d-\d\d at commit \S+: ")
        headings = re.findall(r"^### (.*)$", text, re.MULTILINE)
        self.assertEqual([it for it in headings if it != "memory_viz in Python"],  # where a test has torch
                         ["Whole commands", "SQLite on the exported tables", "What-if", "Answers, the first time",
                          "Archives", "Time per event, by the size of the file",
                          "Memory per event, by the size of the file"])
        for part in text.split("### ")[1:]:
            lines = [line for line in part.splitlines() if line.startswith("| ")]
            self.assertGreaterEqual(len(lines), 3, part)
            self.assertEqual(len({line.count(" | ") for line in lines}), 1, part)
            self.assertEqual(part.count("```"), 2)  # its command
        times, memory = text.split("### ")[-2:]
        self.assertRegex(times, r"\| 500 \| [\d,]+ ns \| ")
        self.assertRegex(memory, r"\| 2,000 \| [\d,]+ bytes \| ")


class KeptSections(unittest.TestCase):
    def test_a_section_is_kept_for_its_program_and_shown_for_others(self):
        one = table.Table("Heading", "command", ["a"])
        one.add("1")
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch) / "measured"
            now, later = kept.Kept(folder, ["key"], "today"), kept.Kept(folder, ["other key"], "tomorrow")
            self.assertIsNone(now.text("reading"))
            now.put("reading", [one])
            self.assertTrue(now.has("reading"))
            self.assertEqual(now.text("reading"), one.markdown())
            self.assertFalse(later.has("reading"))
            self.assertIn("### Heading\n\nMeasured on today.\n\n```sh\n", later.text("reading"))

    def test_a_part_that_is_unknown_is_refused(self):
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()):
            run.parsed(["--only", "nothing"])


if __name__ == "__main__":
    unittest.main()
