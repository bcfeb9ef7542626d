"""The program `tidegauge`: where it is, and runs of it."""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import IO, Any, NoReturn, Optional, Sequence

from .errors import MissingFeatureError, of

KINDS = {2: "usage", 3: "usage", 4: "missing_feature"}  # exit codes
_PREFIX = "tidegauge: "


def command() -> str:
    """The path of the program `tidegauge`: of this installation, else the first on the PATH.

    The environment variable TIDEGAUGE_COMMAND names another one.

    Raises:
        MissingFeatureError: There is none.
    """
    given = os.environ.get("TIDEGAUGE_COMMAND")
    for path in [given] if given else _candidates():
        if path and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    raise MissingFeatureError(f"the program {given or 'tidegauge'} is missing", advice="Install the wheel again: pip install --force-reinstall tidegauge")


def _is_this_version(path: str) -> bool:
    """Is it Tidegauge of the package's own version? Another program may have the name."""
    from ._engine import version

    try:
        said = subprocess.run([path, "--version"], capture_output=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return False
    return said.split()[:2] == [b"tidegauge", version.encode()]


def _candidates() -> list[Optional[str]]:
    import sysconfig

    found: list[Optional[str]] = []
    try:
        from importlib.metadata import files

        found += [os.path.normpath(str(file.locate())) for file in files("tidegauge") or [] if file.name == "tidegauge"]
    except ImportError:  # not installed: a checkout on the PYTHONPATH
        pass
    found.append(os.path.join(sysconfig.get_path("scripts"), "tidegauge"))
    found.append(os.path.join(os.path.dirname(sys.executable), "tidegauge"))
    package = os.path.dirname(os.path.abspath(__file__))
    found.append(os.path.join(os.path.dirname(package), "bin", "tidegauge"))  # pip install --target
    other = shutil.which("tidegauge")
    if other and _is_this_version(other):
        found.append(other)
    return found


def run(arguments: Sequence[str], timeout_seconds: Optional[float] = None) -> str:
    """Standard output of the command; what it says on standard error becomes the exception."""
    done = subprocess.run([command(), *arguments], capture_output=True, timeout=timeout_seconds, check=False)
    if done.returncode != 0:
        raise_for(done.returncode, done.stderr)
    return done.stdout.decode()


def raise_for(code: int, said: bytes) -> NoReturn:
    """Raises what the command said last, by its exit code."""
    text = said.decode(errors="replace").strip()
    lines = [line for line in text.splitlines() if line.startswith(_PREFIX)]
    what, _, advice = (lines[-1] if lines else text).removeprefix(_PREFIX).partition(". ")
    raise of(KINDS.get(code, "unreadable"), what.rstrip(".") or f"tidegauge ended with {code}", None, advice)


def said_in(file: IO[Any]) -> bytes:
    """What a program wrote into a temporary file so far. A file never fills up, as a pipe does."""
    return os.pread(file.fileno(), 1 << 16, 0)
