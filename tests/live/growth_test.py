#!/usr/bin/env python3
"""Growth of programs that end well: Python frees everything at its end, and what was kept
until then is still reported; a program that keeps what it needs is not blamed."""
import json
import subprocess
import sys
import unittest

import live

KIB = 1 << 10


class Growth(live.LiveTest):
    def grown(self, how):
        run = self.record(sys.executable, live.source_of("ends_well.py"), how)
        told = subprocess.run([live.BINARY, "report", run.path, "--json"], capture_output=True, text=True,
                              timeout=live.LIMIT_S, check=True)
        device = json.loads(told.stdout)["devices"][0]
        self.assertEqual(device["never_freed"]["bytes"], 0)
        growth = device["growth"]
        self.assertEqual(growth["verdict"], "told")
        self.assertIsNotNone(growth["clean_up_step"])
        return growth

    def test_a_leak_that_python_frees_at_its_end_is_reported(self):
        growth = self.grown("leak")
        self.assertEqual(len(growth["rows"]), 1, growth["rows"])
        row = growth["rows"][0]
        self.assertEqual(row["retained_bytes"], 300 * 16 * KIB)
        self.assertEqual(row["given_back_bytes"], 300 * 16 * KIB)
        self.assertEqual(row["blocks"], 300)
        self.assertIn("freed it only in the clean-up", growth["sentences"][0]["text"])
        self.assertRegex(row["label"], r"^ends_well\.py:\d+ [\w.]*__init__")

    def test_one_that_frees_at_its_end_what_it_needed_is_not_blamed(self):
        growth = self.grown("behaves")
        self.assertEqual(growth["rows"], [])


if __name__ == "__main__":
    live.main()
