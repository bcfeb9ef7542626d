#!/usr/bin/env python3
"""The README's promise on fresh systems: `./dev view --no-browser` shows the example.

    tests/distros/distros_test.py                   all of CASES, two hours on two cores
    tests/distros/distros_test.py trixie-clang++    those named

Each case gets a Debian root of its own by debootstrap, with a clone of this checkout and nothing
but the named compiler, in a mount and process namespace of its own. ./dev installs the rest, builds
and serves the example; the page is then fetched.

Needs root, debootstrap, and the package registries. Roots stay below build/distros for the next
run, which clones and builds anew in them; --fresh makes new ones. The last line counts:
"3 passed, 1 failed, 0 skipped".
"""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ROOTS = ROOT / "build/distros"
LIMIT_S = 3600

CASES = [  # Debian, compiler
    ("bookworm", "g++"),  # 12
    ("bookworm", "clang++"),
    ("trixie", "g++"),  # 14
    ("trixie", "g++-13"),
    ("trixie", "clang++"),
]

# Settings of this machine's package managers, by name.
SETTINGS = ["etc/apt/apt.conf.d", "etc/pip.conf", "root/.npmrc", "root/.config/pip",
            "etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"]


def mirror():
    """The address from which this machine's own apt fetches Debian."""
    sources = [pathlib.Path("/etc/apt/sources.list"),
               *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]
    for path in filter(pathlib.Path.is_file, sources):
        found = re.search(r"^(?:URIs:|deb(?: \[.*?\])?) *(\S+/debian)/?\s", path.read_text(), re.MULTILINE)
        if found:
            return found[1]
    sys.exit("no Debian mirror in /etc/apt: distros_test needs a Debian machine")


def make_root(suite, folder):
    """A root with the checkout in /src."""
    made = folder / "made"  # last: a run may have been ended before
    if not made.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        subprocess.run(["debootstrap", "--variant=minbase", "--include=ca-certificates,git,procps",
                        suite, folder, mirror()], check=True, stdout=subprocess.DEVNULL)
        made.touch()
    for name in SETTINGS:  # files alone follow no link out of the root
        source, target = pathlib.Path("/", name), folder / name
        if source.is_dir():
            shutil.copytree(source, target, dirs_exist_ok=True)
        elif source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.unlink(missing_ok=True)
            shutil.copy(source, target)
    checkout = folder / "src"
    shutil.rmtree(checkout, ignore_errors=True)
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, checkout], check=True)


def inside(folder, script, log):
    """A process that runs the script in the root; its processes end with it."""
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "chroot", folder, "bash",
               "-c", "mount -t proc proc /proc && mount -t devtmpfs dev /dev 2>/dev/null; "
               f"export HOME=/root CCACHE_DISABLE=1 DEBIAN_FRONTEND=noninteractive; cd /src && {script}"]
    return subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, text=True)


def view_works(folder, compiler, log_path):
    """`./dev view` prints an address, at which the page is."""
    script = f"CXX={compiler} ./dev view --no-browser"
    if compiler != "g++":  # which ./dev installs
        package = compiler.replace("clang++", "clang")
        script = ("apt-get update -qq && apt-get install -y -qq --no-install-recommends "
                  f"{package} && {script}")
    # First what a run that was ended left half installed.
    script = f"dpkg --configure -a && apt-get install -y -qq -f && {script}"
    with open(log_path, "w") as log:
        process = inside(folder, script, log)
        try:
            end = time.monotonic() + LIMIT_S
            while time.monotonic() < end and process.poll() is None:
                found = re.search(r"http://127\.0\.0\.1:\d+/\S+", log_path.read_text(errors="replace"))
                if found:
                    with urllib.request.urlopen(found[0], timeout=30) as page:
                        return b"<!doctype html" in page.read().lower()
                time.sleep(1)
            return False
        finally:
            process.kill()  # unshare ignores SIGTERM; its processes end with it
            process.wait()


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that `finally` ends the build
    names = [name for name in sys.argv[1:] if not name.startswith("--")]
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        print("skipped: needs root and debootstrap (apt-get install debootstrap)")
        print("0 passed, 0 failed, 1 skipped")
        sys.exit(77)
    passed = failed = 0
    for suite, compiler in CASES:
        if names and f"{suite}-{compiler}" not in names:
            continue
        folder = ROOTS / f"{suite}-{compiler}"
        if "--fresh" in sys.argv:
            shutil.rmtree(folder, ignore_errors=True)
        began = time.monotonic()
        make_root(suite, folder)
        log_path = ROOTS / f"{suite}-{compiler}.log"
        works = view_works(folder, compiler, log_path)
        passed, failed = passed + works, failed + (not works)
        print(f"{'ok' if works else 'not ok'} {suite} {compiler}: {time.monotonic() - began:.0f} s"
              f"{'' if works else f', see {log_path.relative_to(ROOT)}'}", flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
