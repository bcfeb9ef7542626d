#!/usr/bin/env python3
"""Runs the tests of tidegauge.torch on real PyTorch over the stand-in GPU: the suite python_torch.

    tests/python/torch/run.py --build build/dev-live [FILE…]

Needs BUILD/live/torch of tests/standin/get_torch.sh. The other libraries (transformers, Lightning, pytest;
requirements.txt; the oldest pytest: requirements_oldest.txt) come without what they need themselves, which is PyTorch with 3 GB of NVIDIA's."""
import argparse
import hashlib
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]


def libraries(python, name="requirements.txt", folder="build/python-torch-tests"):
    """The folder with a list of requirements installed."""
    folder = ROOT / folder
    wanted = (HERE / name).read_bytes()
    stamp = folder / hashlib.sha256(wanted).hexdigest()[:16]
    if not stamp.exists():
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps", "--upgrade", "--target", folder,
                        "-r", HERE / name], check=True)
        stamp.touch()
    return folder


def main():
    parser = argparse.ArgumentParser(description="Run the tests of tidegauge.torch on real PyTorch.")
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build folder with python/, tidegauge and live/torch")
    parser.add_argument("files", nargs="*", default=[str(HERE)])
    options = parser.parse_args()
    build = options.build.resolve()
    python = build / "live/torch/venv/bin/python"
    for path in (python, build / "python/tidegauge/_engine.abi3.so", build / "tidegauge"):
        if not path.exists():
            raise SystemExit(f"run.py: there is no {path}; ./dev test --all python_torch makes it")
    environment = os.environ | {
        "PYTHONPATH": str(libraries(python)), "TIDEGAUGE_BINARY": str(build / "tidegauge"), "TIDEGAUGE_COMMAND": str(build / "tidegauge"),
        "TIDEGAUGE_LIVE": str(build / "live"), "TIDEGAUGE_TORCH_PYTHON": str(python), "TIDEGAUGE_PYTHON_PACKAGE": str(build / "python"),
        "TIDEGAUGE_OLDEST_PYTEST": str(libraries(python, "requirements_oldest.txt", "build/python-torch-tests-oldest")),
        "TIDEGAUGE_CUDA_INCLUDE": str(build / "live/torch/include"), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [python, "-m", "pytest", "-q", "-n", str(min(4, os.cpu_count() or 1)), "-p", "no:cacheprovider", *options.files]
    sys.exit(subprocess.run(list(map(str, words)), cwd=ROOT, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
