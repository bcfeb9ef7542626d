"""A kernel built from Debian's sources, for what no Debian kernel has:

    Guest(own_kernel.build("idle.config", "build/dev/vm"))

tinyconfig and a fragment; two to three minutes on two cores, once: it is kept in `cache` by the version of
the sources and by what the fragment says. The sources are fetched by apt (150 MB) and not kept.
"""
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

LINE = "6.12"
# A program each, and the package it is in; then headers.
NEEDED = {"flex": "flex", "bison": "bison", "bc": "bc", "make": "make", "gcc": "gcc", "xz": "xz-utils"}


def why_not():
    """What is missing to build one here; empty if nothing is."""
    missing = [package for program, package in NEEDED.items() if shutil.which(program) is None]
    if not pathlib.Path("/usr/include/gelf.h").exists():
        missing.append("libelf-dev")
    return f"needs {' '.join(missing)} (apt-get install)" if missing else ""


def build(fragment, cache):
    """The bzImage of tinyconfig with the file `fragment`; `cache` is a folder."""
    package = f"linux-source-{LINE}"
    shown = subprocess.run(["apt-cache", "show", "--no-all-versions", package], capture_output=True, text=True,
                           check=True)
    version = re.search(r"Version: (\S+)", shown.stdout)[1]
    wanted = pathlib.Path(fragment).read_bytes()
    name = f"linux-{version}-{hashlib.sha256(wanted).hexdigest()[:12]}"
    kernel = pathlib.Path(cache, name).resolve()
    if kernel.exists():
        return kernel
    kernel.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=kernel.parent) as work:
        log = kernel.with_name(f"{name}.log")
        with log.open("w", encoding="utf8") as out:
            def run(*words, folder=work):
                done = subprocess.run(list(map(str, words)), cwd=folder, stdout=out, stderr=subprocess.STDOUT,
                                      stdin=subprocess.DEVNULL, check=False)
                if done.returncode != 0:
                    raise AssertionError(f"{' '.join(map(str, words))} failed: see {log}")

            run("apt-get", "-qq", "download", package)
            run("dpkg-deb", "-x", next(pathlib.Path(work).glob("*.deb")), "package")
            run("tar", "xf", next(pathlib.Path(work).glob("package/usr/src/*.tar.xz")))
            tree = next(pathlib.Path(work).glob("linux-source-*/Makefile")).parent
            (tree / "wanted.config").write_bytes(wanted)
            run("make", "tinyconfig", folder=tree)
            run("scripts/kconfig/merge_config.sh", "-m", ".config", "wanted.config", folder=tree)
            run("make", "olddefconfig", folder=tree)
            got = (tree / ".config").read_text().splitlines()
            lost = [line for line in wanted.decode().splitlines() if line.startswith("CONFIG_") and line not in got]
            if lost:
                raise AssertionError(f"this kernel cannot have {' '.join(lost)}")
            run("make", f"-j{os.cpu_count()}", "bzImage", folder=tree)
            shutil.move(tree / "arch/x86/boot/bzImage", kernel)
    return kernel
