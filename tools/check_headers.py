#!/usr/bin/env python3
"""Checks that each header of src/ compiles alone: it includes what it names. A suite of ./dev test --all.

    tools/check_headers.py                         all headers, flags of build/dev/compile_commands.json
    tools/check_headers.py --build build/release   flags of another build folder
    tools/check_headers.py src/base src/cli/x.h    some folders or headers
    tools/check_headers.py --self-test             proves that a header without its include is refused

A build does not show this: unity builds and precompiled headers give a header what others included
before it. Here each header is a compilation of its own, with g++ and, where there is one, clang++.
Of the flags only -I, -isystem, -D and -std count. Headers of bpf/, preload/ and injection/ are C; those that
src/ includes are checked as the C++ that reads them. Cost: about 0.8 s per header and compiler.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
COMPILERS = ("g++", "clang++")
LIBRARY = re.compile(r"CMakeFiles/tidegauge_(\w+?)(?:_once)?\.dir/")
INCLUDE = re.compile(r'^\s*#\s*include\s+"((?:bpf|preload|injection)/[^"]+\.h)"', re.MULTILINE)
MAX_LINES = 6  # of what a compiler says about one header


def flags_of(command):
    """-I, -isystem, -D and -std of a command line; nothing that includes a file."""
    words, flags = shlex.split(command), []
    for at, word in enumerate(words):
        if word == "-isystem":
            flags += [word, words[at + 1]]
        elif word.startswith(("-I", "-D", "-std=")):
            flags.append(word)
    return flags


def flags_by_library(commands):
    """The flags of each library of src/, by the folder that it is made of."""
    found = {}
    for entry in commands:
        match = LIBRARY.search(entry["command"])
        if match and entry["file"].endswith((".cpp", ".cxx")):
            folder = re.sub("^readers_", "readers/", match.group(1))
            found.setdefault(folder, flags_of(entry["command"]))
    return found


def library_of(name, flags):
    """The folder of the library that a header of src/ belongs to; None: this build has none."""
    parts = pathlib.PurePosixPath(name).parts[1:-1]
    for end in (2, 1):
        if "/".join(parts[:end]) in flags:
            return "/".join(parts[:end])
    return None


def complaint(compiler, flags, path, folder):
    """What the compiler says; empty: it is content."""
    run = subprocess.run([compiler, *flags, "-w", "-fsyntax-only", "-x", "c++-header", str(path)],
                         cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return ""
    return "\n".join(run.stderr.strip().split("\n")[:MAX_LINES]) or f"exit code {run.returncode}"


def refused(jobs, how_many):
    """(header, compiler, what it says) of each compilation that fails, in the order of jobs."""
    with concurrent.futures.ThreadPoolExecutor(how_many) as pool:
        outcomes = pool.map(lambda job: complaint(job[0], job[1], job[2], job[3]), jobs)
        for (compiler, _, path, _), said in zip(jobs, outcomes):
            if said:
                yield path, compiler, said


def headers_of(root, wanted):
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard",
                              "src/*.h"], cwd=root, capture_output=True, text=True, check=True)
    names = sorted(name for name in listing.stdout.split("\0") if name and (root / name).is_file())
    for name in names:
        if not wanted or any(name == word or name.startswith(word.rstrip("/") + "/")
                             for word in wanted):
            yield name


def read_as_cpp(root, flags):
    """(folder of a library, header) for what src/ includes of bpf/, preload/ and injection/."""
    found = {}
    for path in sorted((root / "src").rglob("*")):
        if path.suffix in {".h", ".cpp"}:
            for name in INCLUDE.findall(path.read_text(encoding="utf-8")):
                found.setdefault(name, library_of(path.relative_to(root).as_posix(), flags))
    return sorted((name, library) for name, library in found.items() if library)


def self_test():
    commands = [{"file": "x_cxx.cxx", "command": "c++ -I. -DREAL -isystem /nowhere -O2 -include cmake_pch.hxx "
                 "-std=c++20 -o CMakeFiles/tidegauge_readers_torch.dir/x.o -c x_cxx.cxx"}]
    flags = flags_by_library(commands)
    assert flags == {"readers/torch": ["-I.", "-DREAL", "-isystem", "/nowhere", "-std=c++20"]}, flags
    assert library_of("src/readers/torch/pickle/a.h", flags) == "readers/torch"
    assert library_of("src/record/a.h", flags) is None
    cases = [
        ("with.h", "#pragma once\n#include <string>\ninline std::string name();\n", True),
        ("without.h", "#pragma once\ninline std::string name();\n", False),
        ("through.h", '#pragma once\n#include "with.h"\ninline std::string other();\n', True),
        ("wrong.h", "#pragma once\n#ifdef REAL\nint f(\n#endif\n", False),
    ]
    compilers = [name for name in COMPILERS if shutil.which(name)]
    assert compilers, "there is no compiler"
    with tempfile.TemporaryDirectory() as folder:
        for name, text, _ in cases:
            pathlib.Path(folder, name).write_text(text)
        jobs = [(compiler, flags["readers/torch"], name, folder)
                for compiler in compilers for name, _, _ in cases]
        said = list(refused(jobs, 2))
    expected = [(name, compiler) for compiler in compilers for name, _, good in cases if not good]
    assert [(name, compiler) for name, compiler, _ in said] == expected, said
    assert all(name in words for name, _, words in said), said
    print(f"{len(jobs)} compilations as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=ROOT / "build/dev", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("-j", "--jobs", default=os.cpu_count(), type=int)
    parser.add_argument("--compiler", action="append", help="in place of g++ and clang++")
    parser.add_argument("wanted", nargs="*", metavar="HEADER|FOLDER")
    options = parser.parse_args()
    commands = options.build / "compile_commands.json"
    if not commands.exists():
        sys.exit(f"{commands} does not exist: cmake --preset dev")
    flags = flags_by_library(json.loads(commands.read_text(encoding="utf-8")))
    compilers = options.compiler or [name for name in COMPILERS if shutil.which(name)]
    pairs, left_out = [], []
    for name in headers_of(ROOT, options.wanted):
        library = library_of(name, flags)
        (pairs.append((name, library)) if library else left_out.append(name))
    if not options.wanted:
        pairs += read_as_cpp(ROOT, flags)
    jobs = [(compiler, flags[library], ROOT / name, options.build)
            for compiler in compilers for name, library in pairs]
    count = 0
    for path, compiler, said in refused(jobs, options.jobs):
        print(f"{path.relative_to(ROOT)} does not compile alone with {compiler}:\n{said}\n")
        count += 1
    for name in left_out:
        print(f"skipped {name}: this build has no library for it")
    print(f"{len(pairs)} headers, {' and '.join(compilers)}")
    print(f"{len(jobs) - count} passed, {count} failed, {len(left_out)} skipped")
    sys.exit(1 if count else 0)


if __name__ == "__main__":
    main()
