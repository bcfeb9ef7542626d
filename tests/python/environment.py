"""A virtual environment with exactly the libraries of a requirements file, made once."""
import hashlib
import pathlib
import subprocess
import sys
import venv


def python_with(folder: pathlib.Path, requirements: pathlib.Path) -> pathlib.Path:
    """The Python of the environment in `folder`; pip looks only if the file or this Python changed."""
    stamp = folder / hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:16]
    python = folder / "bin/python"
    if not stamp.exists():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "-r", requirements], check=True)
        stamp.touch()
    return python
