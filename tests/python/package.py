"""What the tests share: the example files, and the command's own answers."""
import functools
import json
import os
import pathlib
import pickle
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "examples").glob("*.zst"))
OOM = "examples/oom.pickle.zst"
TWO_GPUS = "examples/two_gpus.pickle.zst"
COMMAND = os.environ["TIDEGAUGE_COMMAND"]


def said(*words, code=0):
    """Standard output of the command."""
    # A library that loads readline sets COLUMNS for all programs that follow.
    done = subprocess.run([COMMAND, *words], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
                          env=os.environ | {"COLUMNS": "100"})
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout


def said_json(*words):
    return json.loads(said(*words))


@functools.lru_cache(maxsize=None)
def unpacked(path):
    """The bytes of an example's pickle."""
    return subprocess.run(["zstd", "-dcq", ROOT / path], capture_output=True, check=True).stdout


def objects(path):
    """The example as torch.cuda.memory._snapshot() would return it."""
    return pickle.loads(unpacked(path))
