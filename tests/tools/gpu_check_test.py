#!/usr/bin/env python3
"""tools/gpu_check without a GPU: what it compares, the page that it writes, and how it refuses.

The check itself runs on the stand-in GPU in tests/live/hardware/gpu_check_test.py."""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHECK = ROOT / "tools" / "gpu_check"
sys.path.insert(0, str(CHECK))
import cost  # noqa: E402  # in that folder
import ledger  # noqa: E402
import page  # noqa: E402
import settings  # noqa: E402

MIB = 1 << 20


def run(*words, **environment):
    return subprocess.run([sys.executable, CHECK, *words], capture_output=True, text=True, timeout=120, check=False,
                          env={**os.environ, **environment})


class Ledger(unittest.TestCase):
    """Two segments of PyTorch, 20 and 4 MiB, and 2 MiB beside it; 7 MiB are requested."""

    def setUp(self):
        self.moment = {"at_ns": 5_000_000, "reserved_bytes": 24 * MIB, "requested_bytes": 7 * MIB,
                       "beside_bytes": 2 * MIB, "driver_used_bytes": 326 * MIB, "nvml_device_bytes": 330 * MIB,
                       "nvml_process_bytes": None, "segments": [(0x1000000, 20 * MIB), (0x9000000, 4 * MIB)]}
        self.totals = [(1000, 0, 2 * MIB, 2 * MIB), (4000, 7, 9 * MIB, 26 * MIB), (6000, 8, 2 * MIB, 2 * MIB)]
        # The second segment is mapped in two ranges; one piece ended before, one begins after.
        self.pieces = [(0x1000000, 20 * MIB, 3, 9), (0x9000000, 2 * MIB, 4, 9), (0x9000000 + 2 * MIB, 2 * MIB, 5, 9),
                       (0x100, 2 * MIB, 0, 9), (0x1000000, 8 * MIB, 0, 3), (0x9000000, 4 * MIB, 8, 9)]

    def compare(self, has_blocks=True):
        return ledger.compare(self.moment, ledger.Recorded(self.totals, self.pieces), has_blocks)

    def test_equal_to_the_byte(self):
        self.assertEqual(self.compare(), {"segments": 0, "outside": 0, "blocks": 0, "driver_used": 300 * MIB,
                                          "nvml_device": 304 * MIB, "nvml_process": None})
        self.assertIsNone(self.compare(has_blocks=False)["blocks"])

    def test_a_segment_that_the_ledger_lacks_differs_by_its_size(self):
        del self.pieces[1]
        self.assertEqual(self.compare()["segments"], 2 * MIB)

    def test_a_block_that_the_ledger_lacks_differs_by_its_size(self):
        self.moment["requested_bytes"] += 512
        self.assertEqual(self.compare()["blocks"], -512)

    def test_before_the_first_event_nothing_is_held(self):
        self.moment["at_ns"] = 0
        self.assertEqual(self.compare()["segments"], 24 * MIB)

    def test_a_wrong_moment_is_a_problem_with_its_figures(self):
        right = ledger.summary([self.moment] * 3, ledger.Recorded(self.totals, self.pieces), True)
        self.assertEqual((right["moments"], right["exact_moments"]), (3, 3))
        self.assertEqual(list(ledger.problems({"default": right, "expandable": right})), [])
        self.pieces.pop(0)
        wrong = ledger.summary([self.moment] * 3, ledger.Recorded(self.totals, self.pieces), True)
        said, = ledger.problems({"default": right, "expandable": wrong})
        self.assertIn("at 3 of 3 moments", said)
        self.assertIn(str(20 * MIB), said)


class Cost(unittest.TestCase):
    def test_median_and_99th_percentile(self):
        taken = {"neither": list(range(1, 201)), "record": [201] * 200, "history": [402] * 200, "both": [0] * 100}
        self.assertEqual(cost.figures_of(taken)["neither"],
                         {"steps": 200, "median_ns": 100, "p99_ns": 198, "times_neither": 1.0})
        self.assertEqual(cost.figures_of(taken)["record"]["times_neither"], 2.0)
        self.assertEqual(cost.p99([5]), 5)
        self.assertEqual(cost.p99(list(range(1, 101))), 99)


class Settings(unittest.TestCase):
    def row(self, **changes):
        stats = {key: 7 for key in settings.KEYS.values()}
        said = dict.fromkeys(settings.KEYS, 7)
        base, really = ({"stats": {**stats, "allocation.all.allocated": 100}} for _ in range(2))
        really["stats"].update(changes)
        return settings.compare("a:1", 0.0, said, base, really)

    def test_twelve_settings(self):
        self.assertEqual(len({setting for setting, _ in settings.SETTINGS}), 12)

    def test_what_differs_is_named(self):
        self.assertEqual(self.row()["differs"], {})
        row = self.row(**{"reserved_bytes.all.peak": 9})
        self.assertEqual(row["differs"], {"peak_reserved_bytes": {"forecast": 7, "was": 9}})
        self.assertEqual(len(list(settings.problems({"rows": [row]}))), 1)

    def test_other_requests_are_not_compared(self):
        said, = settings.problems({"rows": [self.row(**{"allocation.all.allocated": 99})]})
        self.assertIn("not compared", said)


class Page(unittest.TestCase):
    RESULT = {"machine": {"name": "Card", "driver": "1.2"}, "date": "2026-01-02", "torch": "2.0", "kernel": "6.6",
              "why_preload": None, "parts": {}, "not_run": {"cost": "no time was left"}}
    EMPTY = f"# Title\n\n{page.BEGIN}\n{page.NOT_TRIED}\n{page.END}\nafter\n"

    def test_the_first_section_takes_the_place_of_not_tried(self):
        text = page.with_section(self.EMPTY, self.RESULT)
        self.assertTrue(text.startswith(f"# Title\n\n{page.BEGIN}\n### Card, driver 1.2\n"), text)
        self.assertTrue(text.endswith(f"\n{page.END}\nafter\n"), text)
        self.assertNotIn(page.NOT_TRIED, text)
        self.assertIn("Left out: no time was left.", text)

    def test_a_card_has_one_section_and_others_stay(self):
        first = page.with_section(self.EMPTY, self.RESULT)
        other = page.with_section(first, {**self.RESULT, "machine": {"name": "Other", "driver": "1.2"}})
        again = page.with_section(other, {**self.RESULT, "date": "2026-03-04"})
        self.assertEqual(again.count("### Card, driver 1.2"), 1)
        self.assertEqual(again.count("### Other, driver 1.2"), 1)
        self.assertEqual((again.count("2026-01-02"), again.count("2026-03-04")), (1, 1))

    def test_the_page_of_the_project_has_the_marks(self):
        text = (ROOT / "docs/hardware.md").read_text(encoding="utf-8")
        self.assertIn("### Card", page.with_section(text, self.RESULT))


class Refusals(unittest.TestCase):
    def refused(self, *words, **environment):
        done = run(*words, **environment)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stderr

    def test_wrong_use(self):
        self.assertIn("--steps", self.refused("--steps", "0"))
        self.assertIn("--seconds", self.refused("--seconds", "-1"))
        self.assertIn("invalid choice", self.refused("--parts", "speed"))
        self.assertIn("is not hardware", self.refused("--stand-in", "--write"))
        self.assertIn("No such file", self.refused("--write", "/nowhere/page.md"))
        with tempfile.NamedTemporaryFile("w", suffix=".md") as file:
            self.assertIn("has no lines", self.refused("--write", file.name))

    def test_a_binary_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertIn("--binary", self.refused("--stand-in", "--binary", f"{folder}/nothing"))

    def test_without_a_gpu_it_is_skipped_and_says_so(self):
        try:
            has_gpu = ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
        except OSError:
            has_gpu = False
        if has_gpu:
            self.skipTest("this machine has a GPU: python3 tools/gpu_check checks it")
        done = run()
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("no GPU", done.stderr)
        self.assertFalse(done.stdout)

    def test_without_pytorch_for_the_stand_in_it_says_what_fetches_it(self):
        with tempfile.TemporaryDirectory() as folder:
            done = run("--stand-in", TIDEGAUGE_LIVE=folder)
        self.assertEqual(done.returncode, 77, done.stderr)
        self.assertIn("get_torch.sh", done.stderr)


if __name__ == "__main__":
    unittest.main()
