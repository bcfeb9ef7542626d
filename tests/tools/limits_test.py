#!/usr/bin/env python3
"""Every test that docs/use/limits.md names exists: the page's features stay proven."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def named(text):
    """(file, test) of each row of the tables of features that names one."""
    rows = re.findall(r"^\| [^|]+ \| ([^|]+) \|$", text, re.MULTILINE)
    return [row.split(": ", 1) for row in rows if not row.startswith(("shown by", "not yet: "))]


class Limits(unittest.TestCase):
    def test_every_named_test_exists(self):
        rows = named((ROOT / "docs/use/limits.md").read_text())
        self.assertGreater(len(rows), 20)
        for name, test in rows:
            source = (ROOT / "tests/web" / f"{name}.test.mjs").read_text()
            self.assertIn(f'it("{test}"', source, f"docs/use/limits.md names a test of {name}")

    def test_a_missing_name_is_found(self):
        self.assertEqual(named("| feature | shown by |\n|---|---|\n| a | page: b: c |\n| d | not yet: e |\n"),
                         [["page", "b: c"]])


if __name__ == "__main__":
    sys.exit(unittest.main())
