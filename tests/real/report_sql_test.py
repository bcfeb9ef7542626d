#!/usr/bin/env python3
"""Every number in `report` is what the SQL beside it gives (tools/check_sentences has the rules).

    TIDEGAUGE_BINARY=build/dev/tidegauge tests/real/report_sql_test.py

Files: examples, generated ones, and the shared small ones if they are there. The suite `sentences` reads
the real ones, too.
"""
import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared")) / "data"
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
GENERATED = {
    "leak": ["--workload", "train", "--leak", "1MiB", "--events", "6000", "--annotations"],
    "sawtooth": ["--workload", "sawtooth", "--leak", "64KiB", "--events", "6000"],
    "oom": ["--oom", "3", "--events", "3000", "--annotations", "--capacity", "2GiB"],
    "midrun": ["--shape", "midrun", "--events", "3000", "--devices", "2"],
    "overflow": ["--shape", "overflow", "--events", "3000", "--streams", "3", "--pools", "2"],
    "names": ["--names", "--oom", "--events", "600", "--live", "60", "--devices", "2"],
    "no_stacks": ["--stacks", "0", "--events", "1000"],
}


def load():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("check_sentences",
                                                  str(ROOT / "tools" / "check_sentences"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


sentences = load()


class Report(unittest.TestCase):
    def check(self, path):
        self.assertGreater(sentences.check(BINARY, path), 0)

    def test_a_wrong_number_is_found(self):
        path = ROOT / "examples" / "oom.pickle.zst"
        with sentences.Database(BINARY, path) as database, self.assertRaises(sentences.Mismatch):
            sentences.in_result("12,345 blocks", database, "SELECT events FROM file")

    def test_examples(self):
        for path in sorted((ROOT / "examples").glob("*.zst")):
            with self.subTest(path.name):
                self.check(path)

    def test_generated_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, options in GENERATED.items():
                with self.subTest(name):
                    path = pathlib.Path(folder, name + ".pickle")
                    subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", "-o", path,
                                    *options], check=True)
                    self.check(path)
                    for capacity in ("80GiB", "64MiB"):  # the second is less than there was
                        given = ["--capacity", capacity]
                        with sentences.Database(BINARY, path) as database:
                            sentences.check_text(database, *given)
                            sentences.check_text(database, "--full", *given)
                            sentences.check_json(database, *given)

    def test_field_files(self):
        if not SHARED.is_dir():
            self.skipTest(f"no real snapshots at {SHARED} (set TIDEGAUGE_SHARED)")
        for path in sentences.files_in(SHARED / "field"):
            with self.subTest(f"{path.parent.name}/{path.name}"):
                self.check(path)


if __name__ == "__main__":
    unittest.main()
