"""Runs short PyTorch programs on the stand-in GPU, for the tests of `tidegauge.torch`.

Each program runs in a process of its own, with `tidegauge` from python/ of this tree. It hands out values
by `give(...)`, as JSON. Without a Python that has torch, and CUDA's headers, these tests are skipped.
"""
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent.parent
BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", ROOT / "build/dev/tidegauge")).resolve()
FOLDER = pathlib.Path(os.environ.get("TIDEGAUGE_LIVE", ROOT / "build/dev/live")).resolve()
PYTHON = pathlib.Path(os.environ.get("TIDEGAUGE_TORCH_PYTHON", FOLDER / "torch/venv/bin/python"))
HEADERS = pathlib.Path(os.environ.get("TIDEGAUGE_CUDA_INCLUDE", FOLDER / "torch/include"))
PACKAGE = pathlib.Path(os.environ.get("TIDEGAUGE_PYTHON_PACKAGE", ROOT / "python"))
LIMIT_S = 240

sys.path.insert(0, str(ROOT / "tests/standin"))
sys.path.insert(0, str(PACKAGE))

BEFORE = """
import json, os, pathlib, sys
RESULT = os.environ["TIDEGAUGE_TEST_RESULT"]
OUT = pathlib.Path(os.environ["TIDEGAUGE_TEST_OUT"])

def give(**values):
    with open(RESULT, "a") as file:
        file.write(json.dumps(values) + "\\n")

def no_math_libraries():
    import torch
    torch.backends.cudnn.enabled = False
    torch.backends.cuda.enable_cudnn_sdp(False) if hasattr(torch.backends.cuda, "enable_cudnn_sdp") else None
    return torch
"""


@functools.cache
def why_not():
    """Why PyTorch cannot run here; empty if it can."""
    for path in (PYTHON, HEADERS / "cuda_runtime_api.h"):
        if not path.exists():
            return (f"no {path}: run tests/standin/get_torch.sh {FOLDER / 'torch'} (1.4 GB), or set "
                    "TIDEGAUGE_TORCH_PYTHON and TIDEGAUGE_CUDA_INCLUDE")
    if not (PACKAGE / "tidegauge/__init__.py").exists():
        return f"no package tidegauge in {PACKAGE}"
    return ""


@functools.cache
def libraries():
    """The stand-in's libraries for the installed torch."""
    import build_torch
    where = subprocess.run([PYTHON, "-c", "import importlib.util as u; "
                            "print(u.find_spec('torch').submodule_search_locations[0])"],
                           capture_output=True, text=True, check=True).stdout.strip()
    return build_torch.build_torch(pathlib.Path(where, "lib"), HEADERS, FOLDER / "torch" / "lib")


class Done:
    """A program that ended: exit code, output, and the values it gave."""

    def __init__(self, process, given):
        self.code, self.out, self.err, self.given = process.returncode, process.stdout, process.stderr, given

    def __getitem__(self, key):
        return next(values[key] for values in reversed(self.given) if key in values)


class TorchTest(unittest.TestCase):
    """A test that runs programs with PyTorch."""

    def setUp(self):
        if why_not():
            self.skipTest(why_not())
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out"
        self.out.mkdir()

    def environment(self, **more):
        path = os.pathsep.join([str(PACKAGE), *filter(None, [os.environ.get("PYTHONPATH")])])
        return {**os.environ, "PYTHONPATH": path, "LD_LIBRARY_PATH": str(libraries()), "FAKE_GPU_BYTES": "256m",
                "TIDEGAUGE_COMMAND": str(BINARY), "TIDEGAUGE_TEST_OUT": str(self.out), "PYTHONWARNINGS": "ignore",
                "TIDEGAUGE_TEST_RESULT": str(self.folder / "result.jsonl"), **more}

    def program(self, *pieces, name="program.py"):
        path = self.folder / name
        path.write_text(BEFORE + "\n".join(map(textwrap.dedent, pieces)))
        return path

    def start(self, *words, code=0, **env):
        """Runs a command; `code` None: any exit code."""
        process = subprocess.run(list(map(str, words)), env=self.environment(**env), capture_output=True, text=True,
                                 timeout=LIMIT_S, check=False, cwd=self.folder)
        if code is not None:
            self.assertEqual(process.returncode, code, process.stdout[-3000:] + process.stderr[-3000:])
        result = self.folder / "result.jsonl"
        given = [json.loads(line) for line in result.read_text().splitlines()] if result.exists() else []
        return Done(process, given)

    def run_torch(self, *pieces, code=0, **env):
        """Runs a program, given as pieces of text, with PyTorch on the stand-in."""
        return self.start(PYTHON, self.program(*pieces), code=code, **env)

    def report(self, path, *options):
        """The JSON that the command reports of a file."""
        done = self.start(BINARY, "report", "--json", *options, path)
        return json.loads(done.out)
