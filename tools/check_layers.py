#!/usr/bin/env python3
"""Checks that the folders of src/ include only what lies below them. Runs as a test.

    tools/check_layers.py              the tree: every #include "folder/…", every CMake edge
    tools/check_layers.py --table      prints ALLOWED as the table of docs/architecture.md, which must equal it
    tools/check_layers.py --self-test  proves on made-up files that a violation is found

ALLOWED is the architecture: a folder may include itself and what its row names. "New format" and
"new question" stay independent because readers and analysis never see each other.
"""

import pathlib
import re
import sys
import tempfile

ALLOWED = {
    "base": set(),
    "assets": {"base"},
    "model": {"base"},
    "readers": {"base", "model"},
    "replay": {"base", "model"},
    "analysis": {"base", "model", "replay"},
    "view": {"base", "model", "analysis"},
    "query": {"base", "model", "analysis"},
    "store": {"base", "model"},
    "report": {"base", "model", "analysis"},
    "export": {"base", "model", "analysis", "view", "report", "assets", "wss"},
    "bpf": set(),  # beside src/: what the BPF programs and the recorder say to each other
    "preload": {"bpf"},  # beside src/ too: the library of `record --preload`
    "record": {"base", "model", "store", "bpf", "preload"},
    "watch": {"base", "model", "record"},
    "doctor": {"base", "record"},
    "wss": {"base", "model", "store", "bpf"},
    "server": {"base", "model", "readers", "analysis", "view", "query", "report", "assets"},
}
ALLOWED["cli"] = set(ALLOWED)

PURPOSE = {
    "base": "results, ids, strings, formatting, files: nothing about memory",
    "assets": "the built page and the category rules, as bytes in the binary",
    "model": "`Trace`: what was recorded about one process, and the ledger that derives it from calls",
    "readers": "bytes of a file to a `Trace`: `torch` for snapshots, `recording` for recordings",
    "replay": "PyTorch's caching allocator as a simulator",
    "analysis": "one question about a trace per file: peak, out of memory, layout, growth, …",
    "view": "geometry without drawing: tiles of the timeline and the map, filters, tables",
    "query": "SQL over the columns of a trace",
    "store": "writes recordings",
    "report": "the words and the JSON of reports",
    "export": "files for other tools: the one-file page, plots",
    "bpf": "the BPF programs, and what they and the engine share",
    "preload": "the library of `record --preload`",
    "record": "probes, decoding, stacks and the session that writes a recording",
    "watch": "`top` and `monitor`: figures of running programs",
    "doctor": "what this machine allows",
    "wss": "working sets of host memory",
    "server": "HTTP, and the answers that the page requests",
    "cli": "the commands",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
LIBRARY = re.compile(r"^tidegauge_library\(\s*(\w+)\s+([\w/]+)([^)]*)\)", re.MULTILINE)


def unit_of(path):
    """The part of src/ that a path belongs to: "model", or "readers/torch" for one format."""
    parts = pathlib.PurePosixPath(path).parts
    return "/".join(parts[:2]) if parts[0] == "readers" and len(parts) > 2 else parts[0]


def problem_of(unit, target):
    """Why unit must not include target, or None."""
    folder, wanted = unit.split("/")[0], target.split("/")[0]
    if folder not in ALLOWED:
        return f"folder {folder} is not in the table of tools/check_layers.py"
    if wanted not in ALLOWED:
        return f'"{target}" starts with no folder of src/; includes are written from src/'
    if unit == target or (folder == wanted and "/" not in target):
        return None
    if wanted == folder:
        return f"{unit} must not include {target}: formats do not know each other"
    if wanted not in ALLOWED[folder]:
        return f"{folder} must not include {wanted}"
    return None


def check_includes(src):
    for path in sorted(src.rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        text = path.read_text(encoding="utf-8")
        unit = unit_of(path.relative_to(src).as_posix())
        for match in INCLUDE.finditer(text):
            problem = problem_of(unit, unit_of(match.group(1)))
            if problem:
                line = text.count("\n", 0, match.start(1)) + 1
                yield f"{path}:{line}: {problem}"


def check_cmake(cmake_lists):
    text = cmake_lists.read_text(encoding="utf-8")
    for match in LIBRARY.finditer(text):
        name, folder, rest = match.groups()
        for target in re.findall(r"tidegauge_(\w+)", rest):
            problem = problem_of(folder, target.replace("_", "/", 1))
            if problem:
                yield f"{cmake_lists}: library {name}: {problem}"


def floors():
    """The height of each folder: one more than the highest that it may include."""
    height = {}
    while len(height) < len(ALLOWED):
        ready = {folder: below for folder, below in ALLOWED.items()
                 if folder not in height and below - {folder} <= height.keys()}
        if not ready:
            sys.exit("the table of tools/check_layers.py has a circle")
        height |= {folder: 1 + max((height[b] for b in below - {folder}), default=0)
                   for folder, below in ready.items()}
    return height


def table():
    """ALLOWED in Markdown, the lowest floor first."""
    lines = ["| floor | folder | what it is | may include |", "|---|---|---|---|"]
    for folder, height in sorted(floors().items(), key=lambda item: (item[1], item[0])):
        below = ALLOWED[folder] - {folder}
        names = "all" if len(below) == len(ALLOWED) - 1 else ", ".join(sorted(below)) or "–"
        lines.append(f"| {height} | {folder} | {PURPOSE[folder]} | {names} |")
    return "\n".join(lines)


def check_table(page):
    if table() not in page.read_text(encoding="utf-8"):
        yield f"{page}: the table of layers differs from tools/check_layers.py --table"


def self_test():
    cases = [  # file, include, must be refused
        ("base/a.h", "base/b.h", False),
        ("base/a.h", "model/trace.h", True),
        ("readers/torch/a.cpp", "readers/torch/b.h", False),
        ("readers/torch/a.cpp", "readers/detect.h", False),
        ("readers/torch/a.cpp", "readers/recording/b.h", True),
        ("readers/torch/a.cpp", "analysis/peak.h", True),
        ("analysis/a.cpp", "readers/torch/b.h", True),
        ("server/a.cpp", "assets/assets.h", False),
        ("view/a.cpp", "server/b.h", True),
        ("cli/main.cpp", "server/b.h", False),
        ("cli/main.cpp", "main.h", True),
        ("record/a.cpp", "bpf/records.h", False),
        ("server/a.cpp", "bpf/records.h", True),
        ("novel/a.cpp", "base/b.h", True),
    ]
    for file, include, refused in cases:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, file)
            path.parent.mkdir(parents=True)
            path.write_text(f'// x\n  #  include "{include}"\n')
            found = list(check_includes(pathlib.Path(folder)))
            assert bool(found) == refused, (file, include, found)
            assert not refused or f"{file}:2: " in found[0], found
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "CMakeLists.txt")
        path.write_text("tidegauge_library(view view tidegauge_analysis)\n")
        assert not list(check_cmake(path))
        path.write_text("tidegauge_library(view view tidegauge_readers_torch fmt::fmt)\n")
        assert len(list(check_cmake(path))) == 1
        page = pathlib.Path(folder, "architecture.md")
        page.write_text(f"# Layers\n\n{table()}\n")
        assert not list(check_table(page))
        page.write_text(table().replace("| model |", "| models |"))
        assert len(list(check_table(page))) == 1
    assert floors()["base"] == 1 and floors()["model"] == 2 and floors()["cli"] == max(floors().values())
    print(f"{len(cases) + 5} cases as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    if sys.argv[1:] == ["--table"]:
        print(table())
        return
    root = pathlib.Path(__file__).resolve().parent.parent
    problems = [*check_includes(root / "src"), *check_cmake(root / "CMakeLists.txt"),
                *check_table(root / "docs/architecture.md")]
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} problems with the layers (table: tools/check_layers.py)")
    print("layers hold")


if __name__ == "__main__":
    main()
