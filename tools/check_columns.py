#!/usr/bin/env python3
"""Checks that lines of C and C++ have at most 100 columns. `./dev format --check` runs it.

    tools/check_columns.py              the files of this checkout (git ls-files, new ones included)
    tools/check_columns.py --self-test  proves that a long line is found

clang-format keeps code within 100 columns, but neither wraps comments, because of their drawings,
nor breaks string literals, because of their words. Raw strings are texts of their own: not checked.
"""

import pathlib
import re
import subprocess
import sys

MAX_COLUMNS = 100
SUFFIXES = {".c", ".h", ".cpp", ".S"}
RAW_STRING = re.compile(r'R"([^(\s]*)\((?:.|\n)*?\)\1"')


def without_raw_strings(text):
    """The text with each raw string as its line breaks alone, so that lines keep their numbers."""
    return RAW_STRING.sub(lambda raw: "\n" * raw[0].count("\n"), text)


def long_lines(text):
    for number, line in enumerate(without_raw_strings(text).split("\n"), 1):
        if len(line) > MAX_COLUMNS:
            yield number, len(line)


def self_test():
    cases = [
        ("// " + "x" * 97, 0),
        ("// " + "x" * 98, 1),
        ("// " + "×" * 97, 0),  # columns, not bytes
        ('auto a = R"(' + "x" * 200 + ')";', 0),
        ('auto a = R"(x\n' + "x" * 200 + '\n)";\n// ' + "x" * 98, 1),
    ]
    for text, expected in cases:
        assert len(list(long_lines(text))) == expected, text
    print(f"{len(cases)} cases as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(__file__).resolve().parent.parent
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=root, capture_output=True, check=True)
    count = 0
    for name in filter(None, listing.stdout.decode().split("\0")):
        path = root / name
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        for number, columns in long_lines(path.read_text(encoding="utf-8", errors="replace")):
            print(f"{name}:{number}: {columns} columns, at most {MAX_COLUMNS}")
            count += 1
    if count:
        sys.exit(f"{count} lines are too long")


if __name__ == "__main__":
    main()
