#!/usr/bin/env python3
"""tools/gpu_check as a whole, with real PyTorch on the stand-in GPU: there the ledger equals what
PyTorch, cudaMemGetInfo and NVML say to the byte, and `whatif` what the program does.

Needs a Python with torch and CUDA's headers, as ../pytorch_test.py does. How long steps take is not
looked at: here they show how busy this machine is."""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import live  # noqa: E402  # beside this folder

CHECK = pathlib.Path(__file__).resolve().parents[3] / "tools" / "gpu_check"
CONTEXT_BYTES = 300 << 20  # of the stand-in: tools/gpu_check/stand_in.py
SECONDS = 1500  # nothing is left out on a slow machine


class GpuCheck(live.LiveTest):
    def check(self, *options):
        """(what it found, the page that it wrote)."""
        folder = self.folder()
        page = folder / "page.md"
        page.write_text("# Title\n<!-- measured -->\nNot tried.\n<!-- end -->\n")
        done = subprocess.run(
            [sys.executable, CHECK, "--stand-in", "--binary", live.BINARY, "--seconds", str(SECONDS),
             "--json", folder / "found.json", "--write", page, *options],
            env={**self.environment(folder), "TIDEGAUGE_LIVE": str(live.FOLDER)},
            capture_output=True, text=True, timeout=SECONDS, check=False)
        if done.returncode == 77:
            self.skipTest(done.stderr.strip())
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        found = json.loads((folder / "found.json").read_text())
        self.assertEqual((found["problems"], found["not_run"]), ([], {}))
        return found, page.read_text()

    def assert_ledger(self, found, has_blocks):
        for name in ("default", "expandable"):
            figures = found["parts"]["ledger"][name]
            with self.subTest(name):
                self.assertEqual((figures["moments"], figures["exact_moments"]), (100, 100))
                nothing, context = ({"least": it, "most": it} for it in (0, CONTEXT_BYTES))
                self.assertEqual(figures["segments"], nothing)
                self.assertEqual(figures["outside"], nothing)
                self.assertEqual(figures["blocks"], nothing if has_blocks else None)
                for told in ("driver_used", "nvml_device", "nvml_process"):
                    self.assertEqual(figures[told], context)
                self.assertGreater(figures["reserved_at_most_bytes"], 500 << 20)

    def test_the_ledger_to_the_byte(self):
        found, page = self.check("--parts", "ledger")
        self.assertIsNone(found["why_preload"])
        self.assert_ledger(found, has_blocks=True)
        self.assertIn("| default | 100 | 100 | 0 bytes | 0 bytes | 0 bytes |", page)
        self.assertNotIn("Not tried", page)

    def test_the_ledger_to_the_byte_with_the_library(self):
        found, page = self.check("--parts", "ledger", "--preload")
        self.assert_ledger(found, has_blocks=False)
        self.assertIn("with `--preload`", page)

    def test_the_cost_has_all_steps_of_each_way(self):
        for options in ((), ("--preload",)):
            with self.subTest(options):
                found, _ = self.check("--parts", "cost", "--steps", "8", *options)
                figures = found["parts"]["cost"]
                self.assertEqual(figures["left_out"], [])
                for way in ("neither", "record", "history", "both"):
                    self.assertEqual(figures[way]["steps"], 8)
                    self.assertGreaterEqual(figures[way]["p99_ns"], figures[way]["median_ns"])
                    self.assertGreater(figures[way]["median_ns"], 0)
                self.assertEqual(figures["neither"]["times_neither"], 1)

    def test_twelve_settings_do_what_whatif_forecasts(self):
        found, page = self.check("--parts", "settings")
        rows = found["parts"]["settings"]["rows"]
        self.assertEqual(len(rows), 12)
        self.assertEqual([row["differs"] for row in rows], [{}] * 12)
        self.assertTrue(all(row["same_requests"] for row in rows))
        # The settings change something: else the comparison says nothing.
        self.assertGreater(len({row["peak_reserved_bytes"] for row in rows}), 5)
        self.assertEqual(page.count("all equal"), 12)


if __name__ == "__main__":
    live.main()
