#!/usr/bin/env python3
"""Runs the tests of the Python package with the libraries of requirements.txt.

    tests/python/run.py --build build/dev [PATTERN]

The virtual environment is kept in build/python-tests; pip looks only if requirements.txt changed."""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def environment():
    """The Python that has the requirements."""
    folder = ROOT / "build/python-tests"
    wanted = (HERE / "requirements.txt").read_bytes()
    stamp = folder / hashlib.sha256(wanted + sys.version.encode()).hexdigest()[:16]
    python = folder / "bin/python"
    if not stamp.exists():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--only-binary=:all:", "-r",
                        HERE / "requirements.txt"], check=True)
        stamp.touch()
    return python


def main():
    parser = argparse.ArgumentParser(description="Run the tests of the Python package.")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder with python/ and tidegauge")
    parser.add_argument("pattern", nargs="?", default="*_test.py", help="names of files (default: all)")
    options = parser.parse_args()
    build = options.build.resolve()
    if not (build / "python/tidegauge/_engine.abi3.so").exists():
        raise SystemExit(f"run.py: {build} has no Python package: configure it with -DTIDEGAUGE_PYTHON=ON")
    words = [environment(), "-X", "faulthandler", "-W", "error::ResourceWarning", "-m", "unittest", "discover", "-s", HERE, "-p",
             options.pattern, "-t", HERE]
    done = subprocess.run(list(map(str, words)), cwd=ROOT, check=False, env=os.environ | {
        "PYTHONPATH": str(build / "python"), "TIDEGAUGE_COMMAND": str(build / "tidegauge")})
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
