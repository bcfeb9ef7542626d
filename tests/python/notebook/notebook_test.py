#!/usr/bin/env python3
"""A trace and its page in a real JupyterLab, looked at with a real Chromium.

    tests/python/notebook/notebook_test.py --build build/dev [--screenshots FOLDER]"""
import argparse
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))
from environment import python_with  # noqa: E402

CELLS = ["import tidegauge\nt = tidegauge.open(EXAMPLE)\nt", "t.view(height_pixels=500)", "t.events", "w = t.plot.widget()\nw",
         "print('chosen', w.step)"]
options = None


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Lab:
    """A JupyterLab below a base path, with one notebook."""

    def __init__(self, folder, base, proxy):
        self.port, self.base = free_port(), base
        cells = [{"cell_type": "code", "id": f"c{i}", "metadata": {}, "execution_count": None, "outputs": [],
                  "source": source.replace("EXAMPLE", repr(str(ROOT / "examples/oom.pickle.zst")))} for i, source in enumerate(CELLS)]
        (folder / "try.ipynb").write_text(json.dumps(
            {"nbformat": 4, "nbformat_minor": 5, "cells": cells,
             "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}}))
        self.log = open(folder / "lab.log", "wb")
        words = ["-m", "jupyterlab", "--no-browser", f"--port={self.port}", f"--ServerApp.base_url={base}", "--IdentityProvider.token=",
                 "--ServerApp.password=", "--allow-root", "--LabApp.expose_app_in_browser=True",
                 f"--ServerApp.jpserver_extensions={{'jupyter_server_proxy': {proxy}}}", f"--ServerApp.root_dir={folder}"]
        self.process = subprocess.Popen([python_with(ROOT / "build/notebook-tests", HERE / "requirements.txt"), *words], cwd=folder, stdout=self.log, stderr=self.log, env=os.environ | {
            "PYTHONPATH": str(options.build / "python"), "TIDEGAUGE_COMMAND": str(options.build / "tidegauge"), "HOME": str(folder),
            "JUPYTER_CONFIG_DIR": str(folder / "config"), "IPYTHONDIR": str(folder / "ipython")})

    def wait(self):
        end = time.monotonic() + 90
        while time.monotonic() < end:
            try:
                with urllib.request.urlopen(f"http://localhost:{self.port}{self.base}api", timeout=5):
                    return
            except OSError:
                time.sleep(0.3)
        raise AssertionError("JupyterLab does not answer")

    def stop(self):
        self.process.terminate()
        self.process.wait(30)
        self.log.close()


class Notebook(unittest.TestCase):
    def looked_at(self, name, base, proxy):
        with tempfile.TemporaryDirectory() as made:
            folder = pathlib.Path(made)
            lab = Lab(folder, base, proxy)
            try:
                lab.wait()
                words = ["node", HERE / "lab.mjs", f"http://localhost:{lab.port}{base}lab/tree/try.ipynb?reset"]
                if options.screenshots:
                    words.append(options.screenshots / f"{name}.png")
                done = subprocess.run(list(map(str, words)), cwd=ROOT / "web", capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(done.returncode, 0, done.stderr + (folder / "lab.log").read_text(errors="replace")[-3000:])
                return lab, json.loads(done.stdout.splitlines()[-1])
            finally:
                lab.stop()

    def check(self, shown):
        self.assertIn("The program requested 576 MiB", shown["trace"])
        self.assertGreaterEqual(shown["svg"], 1)
        self.assertIn("oom.pickle.zst", shown["page"])
        self.assertIn("625 MiB were free inside segments", shown["page"])  # from the engine
        self.assertEqual(shown["errors"], [])
        # In the middle of 37,378 steps; the picture is some 700 pixels wide.
        chosen = int(shown["chosen"].removeprefix("chosen "))
        self.assertLess(abs(chosen - 37378 / 2), 200)
        self.assertEqual(shown["marked"], f"step {chosen:,}")

    def test_directly(self):
        _, shown = self.looked_at("directly", "/", False)
        self.check(shown)
        self.assertRegex(shown["frame"], r"^http://127\.0\.0\.1:\d+/[0-9a-f]{32}/")

    def test_through_a_proxy_below_a_path(self):
        lab, shown = self.looked_at("proxied", "/user/someone/", True)
        self.check(shown)
        self.assertRegex(shown["frame"], rf"^http://localhost:{lab.port}/user/someone/proxy/\d+/[0-9a-f]{{32}}/")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--screenshots", type=pathlib.Path)
    options, rest = parser.parse_known_args()
    options.build = options.build.resolve()
    if shutil.which("node") is None and (ROOT / "build/node/bin").exists():
        os.environ["PATH"] = f"{ROOT / 'build/node/bin'}:{os.environ['PATH']}"
    unittest.main(argv=[sys.argv[0], *rest])
