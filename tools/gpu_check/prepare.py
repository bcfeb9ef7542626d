"""What the check needs and finds: a Python with PyTorch, a built tidegauge, a way to record.

    Tools.find(options)      .python, .binary, .record (options of `record`), .why_preload, .environment

Nothing need be installed by hand: PyTorch is installed by name into build/gpu_check/venv, and
tidegauge is built into build/gpu_check/build. Where a registry or a compiler is missing, it says so
(exit code 77). Neither counts into the time limit of the check.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import stand_in
from outcome import Missing, WrongUse, last_line

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "gpu_check"
TORCH = "torch==2.15.0"
INSTALL_LIMIT_S, BUILD_LIMIT_S, TRY_LIMIT_S = 1200, 3600, 300
BUILT = ("release", "gpu_check/build", "dev", "dev-live")


def say(text):
    print(f"gpu_check: {text}", file=sys.stderr, flush=True)


class Tools:
    """What is used, and the two ways of `record`: eBPF, or the library where BPF is refused."""

    def __init__(self, python, binary, environment, ways=((), ("--preload",))):
        self.python, self.binary, self.environment = str(python), str(binary), environment
        self.record, self.why_preload = self._how_to_record(ways)

    @classmethod
    def find(cls, options):
        binary = _binary(options.binary)
        if options.stand_in:
            python, environment = stand_in.environment(options.python)
        else:
            python, environment = _python(options.python), dict(os.environ)
        if options.preload:
            return cls(python, binary or _build(), environment, [("--preload",)])
        return cls(python, binary or _build(), environment)

    @property
    def has_blocks(self):
        """Whether PyTorch's own blocks are recorded."""
        return "--preload" not in self.record

    def torch_version(self):
        return subprocess.run([self.python, "-c", "import torch; print(torch.__version__)"], text=True,
                              capture_output=True, env=self.environment, check=True).stdout.strip()

    def _how_to_record(self, ways):
        """([option], why not by eBPF): the first way that this machine permits."""
        why = "--preload was given" if len(ways) == 1 else None
        refused = None
        for way in ways:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    done = subprocess.run(
                        [self.binary, "record", *way, "--no-summary",
                         "-o", os.path.join(folder, "try.sqlite"), "--", "true"],
                        capture_output=True, text=True, timeout=TRY_LIMIT_S, check=False)
                    if done.returncode == 0:
                        return list(way), why
                    refused = last_line(done.stderr)
                except subprocess.TimeoutExpired:
                    refused = f"`record -- true` did not end within {TRY_LIMIT_S} s"
            why = why or refused
        raise Missing(f"nothing can be recorded here: {refused}")


def _binary(given):
    """The binary that was given, or one that is built; None: there is none."""
    if given:
        if not os.access(given, os.X_OK) or pathlib.Path(given).is_dir():
            raise WrongUse(f"--binary {given} is not a program that can be run")
        return pathlib.Path(given).resolve()
    for name in BUILT:
        path = ROOT / "build" / name / "tidegauge"
        if os.access(path, os.X_OK):
            return path
    return shutil.which("tidegauge")


def _build():
    for program in ("cmake", "ninja", "g++", "clang"):
        if not shutil.which(program):
            raise Missing(f"no tidegauge: none is built in build/, and {program} is not here to build one. "
                          "--binary FILE names one")
    say("building tidegauge into build/gpu_check/build; it takes some minutes")
    out = FOLDER / "build"
    for words in (["cmake", "--preset", "release", "-B", str(out), "-DTIDEGAUGE_WEB=OFF",
                   "-DTIDEGAUGE_WARNINGS_AS_ERRORS=OFF"],
                  ["cmake", "--build", str(out), "--target", "tidegauge"]):
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=BUILD_LIMIT_S,
                              check=False)
        if done.returncode != 0:
            raise Missing(f"no tidegauge: {' '.join(words[:2])} failed: {last_line(done.stderr or done.stdout)}. "
                          "./dev view installs what the build needs; --binary FILE names a built one")
    return out / "tidegauge"


def _has_torch(python):
    """Whether this Python has PyTorch built for CUDA."""
    done = subprocess.run([python, "-c", "import torch, sys; sys.exit(torch.version.cuda is None)"],
                          capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=False)
    return done.returncode == 0


def _python(given):
    if given:
        if not os.access(given, os.X_OK) or pathlib.Path(given).is_dir():
            raise WrongUse(f"--python {given} is not a program that can be run")
        if not _has_torch(given):
            raise WrongUse(f"--python {given} has no PyTorch built for CUDA")
        return given
    own = FOLDER / "venv" / "bin" / "python"
    for python in (sys.executable, own):
        if pathlib.Path(python).exists() and _has_torch(python):
            return python
    say(f"installing {TORCH} into build/gpu_check/venv; it takes some minutes")
    try:
        subprocess.run([sys.executable, "-m", "venv", FOLDER / "venv"], capture_output=True, text=True,
                       timeout=INSTALL_LIMIT_S, check=True)
        subprocess.run([own, "-m", "pip", "install", "-q", "--retries", "1", "--timeout", "20", TORCH],
                       capture_output=True, text=True, timeout=INSTALL_LIMIT_S, check=True)
    except subprocess.CalledProcessError as error:
        raise Missing(f"no PyTorch: this Python has none, and pip could not install {TORCH}: "
                      f"{last_line(error.stderr)}. --python FILE names a Python that has it") from None
    except subprocess.TimeoutExpired:
        raise Missing(f"no PyTorch: pip did not install {TORCH} within {INSTALL_LIMIT_S} s. "
                      "--python FILE names a Python that has it") from None
    if not _has_torch(own):
        raise Missing(f"no PyTorch: {TORCH} was installed, and it is not built for CUDA")
    return own
