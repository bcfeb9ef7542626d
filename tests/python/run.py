#!/usr/bin/env python3
"""Runs the tests of the Python package with the libraries of requirements.txt.

    tests/python/run.py --build build/dev [PATTERN]

The virtual environment is kept in build/python-tests; pip looks only if requirements.txt changed."""
import argparse
import os
import pathlib
import subprocess
import sys

from environment import python_with

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def main():
    parser = argparse.ArgumentParser(description="Run the tests of the Python package.")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder with python/ and tidegauge")
    parser.add_argument("pattern", nargs="?", default="*_test.py", help="names of files (default: all)")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "python/tidegauge/_engine.abi3.so").exists():
        raise SystemExit(f"run.py: {build} has no Python package: configure it with -DTIDEGAUGE_PYTHON=ON")
    words = [python_with(ROOT / "build/python-tests", HERE / "requirements.txt"), "-X", "faulthandler", "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s", HERE, "-p",
             options.pattern, "-t", HERE]
    done = subprocess.run(list(map(str, words)), cwd=ROOT, check=False, env=os.environ | {
        "PYTHONPATH": str(build / "python"), "TIDEGAUGE_COMMAND": str(build / "tidegauge")})
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
