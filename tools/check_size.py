#!/usr/bin/env python3
"""Checks that no file written by hand is longer than 800 lines. Runs as a test.

    tools/check_size.py              the files of this checkout (git ls-files, new ones included)
    tools/check_size.py --self-test  proves that a long file is found

A newcomer must understand the largest file, not the average one. Near 200 lines is the aim.
"""

import fnmatch
import pathlib
import subprocess
import sys
import tempfile

MAX_LINES = 800

# Not written by hand, or not meant to be read from top to bottom.
EXCEPTIONS = [
    "web/package-lock.json",  # made by npm
    "LICENSE",  # the licence's own text
    "tests/data/*",  # inputs
    "tests/fuzz/corpus/*",  # inputs
    "examples/*",  # inputs
    "docs/images/*",  # pictures
    "docs/schema/report.schema.json",  # made by tools/make_schema.py
    "docs/contract.md",  # made by tools/list_contract
]


def is_exception(name):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in EXCEPTIONS)


def line_count(path):
    """Lines of a text file; 0 for anything else."""
    data = path.read_bytes()
    return 0 if b"\0" in data else data.count(b"\n")


def too_long(root, names):
    for name in names:
        path = root / name
        if not is_exception(name) and path.is_file() and not path.is_symlink():
            lines = line_count(path)
            if lines > MAX_LINES:
                yield f"{name}: {lines} lines, at most {MAX_LINES} are allowed; split it by idea"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "tests/data").mkdir(parents=True)
        (root / "fits.cpp").write_text("x\n" * MAX_LINES)
        (root / "long.cpp").write_text("x\n" * (MAX_LINES + 1))
        (root / "picture.png").write_bytes(b"\0" + b"\n" * 1000)
        (root / "tests/data/long.txt").write_text("x\n" * 1000)
        found = list(too_long(root, ["fits.cpp", "long.cpp", "picture.png", "tests/data/long.txt"]))
        assert len(found) == 1 and found[0].startswith("long.cpp: 801 lines"), found
    print("4 cases as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(__file__).resolve().parent.parent
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=root, capture_output=True, check=False)
    if listing.returncode != 0:
        print("skipped: this is not a git checkout, so the files written by hand are not known")
        sys.exit(77)
    names = listing.stdout.decode().split("\0")
    problems = list(too_long(root, filter(None, names)))
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} files are too long")
    print(f"no file over {MAX_LINES} lines")


if __name__ == "__main__":
    main()
