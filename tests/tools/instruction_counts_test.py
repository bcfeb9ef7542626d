#!/usr/bin/env python3
"""Reading takes as many instructions per event as bench/report/counts.json says, to 10 %.

Fewer fail, too: then the file is to be updated, or the next 10 % would go unnoticed. Skipped without valgrind,
and for a program with sanitizers.
"""
import json
import os
import pathlib
import shutil
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", ROOT / "build/dev-live/tidegauge"))
sys.path.insert(0, str(ROOT / "bench" / "report"))
import counts  # noqa: E402  pylint: disable=wrong-import-position


class InstructionCounts(unittest.TestCase):
    def test_reading_an_event(self):
        if shutil.which("valgrind") is None:
            self.skipTest("valgrind is not installed")
        if b"__asan_init" in BINARY.read_bytes():
            self.skipTest("valgrind cannot run a program with sanitizers")
        kept = json.loads(counts.FILE.read_text(encoding="utf-8"))
        wanted = kept["query_instructions_per_event"]
        counted = counts.per_event(BINARY)
        self.assertLess(abs(counted - wanted), wanted / 10,
                        f"{counted:.1f} instructions per event instead of {wanted}. If that is meant: {kept['update']}")


if __name__ == "__main__":
    unittest.main()
