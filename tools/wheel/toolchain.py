"""The compiler of the wheel: clang from PyPI's ziglang, for an old glibc.

    cc, c++, ar, ranlib in FOLDER/bin, each a line of shell that calls `python -m ziglang`

Zig brings the headers and symbol versions of every glibc, libc++ and libunwind, so that no old
system is needed to build for one. Binaries need glibc 2.28 and nothing else of the system's."""
import hashlib
import os
import pathlib
import shlex
import subprocess
import sys
import venv

ZIG = "ziglang==0.17.1"
GLIBC = "2.28"
TARGET = f"x86_64-linux-gnu.{GLIBC}"
# Without this, zig chooses the processor that it runs on.
PROCESSOR = "x86_64_v2"
TAG = f"manylinux_{GLIBC.replace('.', '_')}_x86_64"
TOOLS = {"cc": f"cc -target {TARGET} -mcpu={PROCESSOR}", "c++": f"c++ -target {TARGET} -mcpu={PROCESSOR}",
         "ar": "ar", "ranlib": "ranlib", "objcopy": "objcopy"}


def python_in(folder, requirements):
    """The Python of a virtual environment in `folder` that has exactly these requirements."""
    folder = pathlib.Path(folder)
    stamp = folder / hashlib.sha256(" ".join(requirements).encode()).hexdigest()[:16]
    python = folder / "bin/python"
    if not stamp.exists():
        venv.create(folder, clear=True, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *requirements], check=True)
        stamp.touch()
    return python


class Toolchain:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        self.python = python_in(self.folder / "zig", [ZIG])
        self.bin = self.folder / "bin"
        self.bin.mkdir(parents=True, exist_ok=True)
        for name, words in TOOLS.items():
            tool = self.bin / name
            tool.write_text(f'#!/bin/sh\nexec {shlex.quote(str(self.python))} -m ziglang {words} "$@"\n')
            tool.chmod(0o755)

    def environment(self):
        """For configure, make and CMake."""
        tools = {"CC": "cc", "CXX": "c++", "AR": "ar", "RANLIB": "ranlib"}
        return os.environ | {name: str(self.bin / tool) for name, tool in tools.items()} | {
            "ZIG_GLOBAL_CACHE_DIR": str(self.folder / "cache"), "ZIG_LOCAL_CACHE_DIR": str(self.folder / "cache"),
            "CFLAGS": "-O2 -fPIC", "CXXFLAGS": "-O2 -fPIC"}

    def source_of(self, part):
        """The folder of a library that zig brings as source."""
        found = subprocess.run([self.python, "-c", "import ziglang; print(ziglang.__path__[0])"], check=True, text=True,
                               capture_output=True)
        return pathlib.Path(found.stdout.strip()) / "lib" / part

    def version(self):
        return subprocess.run([self.python, "-m", "ziglang", "version"], check=True, text=True,
                              capture_output=True).stdout.strip()


if __name__ == "__main__":
    print(Toolchain(sys.argv[1]).version())
