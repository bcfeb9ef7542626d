"""mypy --strict on the package, and on a user's program."""
import doctest
import pathlib
import subprocess
import sys
import tempfile
import unittest

from package import ROOT

USER = """
import os
import tidegauge

with tidegauge.open("x.pickle") as trace:
    report = trace.report(capacity="80GiB")
    texts: list[str] = [advice.text for advice in report.advice]
    peak: int = trace.peak().active_bytes
    for holder in trace.holders():
        print(holder.label, holder.bytes, holder.share)
    rows = trace.sql("SELECT 1").rows()
    best = trace.whatif().best
    print("" if best is None else best.settings, len(rows), peak, texts)
    change = tidegauge.diff(trace, trace).change_bytes
touched = tidegauge.wss(os.getpid(), 0.1).touched_bytes
"""


class Types(unittest.TestCase):
    def clean(self, *paths):
        done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / "build/mypy"), *map(str, paths)],
                              cwd=ROOT, capture_output=True, text=True, check=False,
                              env={"MYPYPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_package(self):
        self.clean(ROOT / "python/tidegauge")

    def test_a_users_program(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "program.py")
            program.write_text(USER, encoding="utf-8")
            self.clean(program)

    def test_the_examples_of_the_documentation(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder, "examples.py")
            text = (ROOT / "docs/python.md").read_text(encoding="utf-8")
            program.write_text(doctest.script_from_examples(text), encoding="utf-8")
            self.clean("--config-file", ROOT / "pyproject.toml", program)  # it names libraries without types

    def test_the_package_says_that_it_has_types(self):
        self.assertTrue((ROOT / "python/tidegauge/py.typed").exists())


if __name__ == "__main__":
    unittest.main()
