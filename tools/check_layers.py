#!/usr/bin/env python3
"""Checks that the folders of src/ include only what lies below them. Runs as a test.

    tools/check_layers.py              the tree: every #include "folder/…", every CMake edge, circles
                                       between folders at every depth, files per folder
    tools/check_layers.py --table      prints ALLOWED as the table of docs/architecture.md, which must equal it
    tools/check_layers.py --self-test  proves on made-up files that a violation is found

ALLOWED is the architecture: a folder may include itself and what its row names. "New format" and
"new question" stay independent because readers and analysis never see each other.

Inside a folder of src/ no table is needed: its subfolders, and the files that lie beside them, must
form no circle. src/wss/pages may include src/wss/process, and then not the other way round.
"""

import collections
import fnmatch
import pathlib
import re
import subprocess
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
    "injection": {"bpf"},  # and that of `record --device-times`
    "record": {"base", "model", "store", "bpf", "preload", "injection"},
    "watch": {"analysis", "base", "model", "record", "wss"},
    "doctor": {"base", "record"},
    "wss": {"base", "model", "store", "bpf"},
    "server": {"base", "model", "readers", "analysis", "view", "query", "report", "assets"},
}
ALLOWED["cli"] = set(ALLOWED)
ALLOWED["python"] = {"base", "model", "readers", "analysis", "query", "report", "export"}

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
    "report": "the words and the JSON of reports, and of the page's session and overview",
    "export": "files for other tools: the one-file page, plots",
    "bpf": "the BPF programs, and what they and the engine share",
    "preload": "the library of `record --preload`",
    "injection": "the library of `record --device-times`",
    "record": "probes, decoding, stacks and the session that writes a recording",
    "watch": "`top` and `monitor`: figures of running programs",
    "doctor": "what this machine allows",
    "wss": "working sets of host memory",
    "python": "what the Python package asks, Arrow's arrays, CPython's types",
    "server": "HTTP, and the answers that the page requests",
    "cli": "the commands",
}

MAX_FILES = 25
COUNTED = ("src/", "bpf/", "preload/", "injection/", "tests/")
NOT_SOURCES = ("README.md", "CMakeLists.txt")
MAY_BE_LARGER = ["tests/fuzz/corpus/*"]  # inputs that fuzzing found, each in a file

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
    if wanted == folder and folder != "readers":  # parts of one folder
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


def part_below(folder, path):
    """The subfolder of `folder` that `path` lies in; "." if it lies directly in it."""
    parts = pathlib.PurePosixPath(path).parts[len(folder):]
    return parts[0] if len(parts) > 1 else "."


def includes_between_parts(src):
    """For each folder of src, as a tuple: {(part, other part): ("file:line", what it includes)}."""
    edges = collections.defaultdict(dict)
    for path in sorted(src.rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        text, name = path.read_text(encoding="utf-8"), path.relative_to(src).as_posix()
        for match in INCLUDE.finditer(text):
            if not (src / match.group(1)).is_file():
                continue
            folders = zip(pathlib.PurePosixPath(name).parts[:-1],
                          pathlib.PurePosixPath(match.group(1)).parts[:-1])
            common = []
            for one, other in folders:
                if one != other:
                    break
                common.append(one)
            pair = tuple(part_below(common, file) for file in (name, match.group(1)))
            line = text.count("\n", 0, match.start(1)) + 1
            if pair[0] != pair[1]:
                edges[tuple(common)].setdefault(pair, (f"{path}:{line}", match.group(1)))
    return edges


def way(pairs, begin, end):
    """The shortest list of parts from `begin` to `end` along the pairs; empty: there is none."""
    ways = [[begin]]
    seen = set()
    for steps in ways:
        for one, other in sorted(pairs):
            if one == steps[-1] and other == end:
                return [*steps, end]
            if one == steps[-1] and other not in seen:
                seen.add(other)
                ways.append([*steps, other])
    return []


def circles(src):
    """One circle for each part that is in any, named by its includes; each circle once."""
    for folder, edges in sorted(includes_between_parts(src).items()):
        told = set()
        for part in sorted({one for one, _ in edges}):
            steps = way(edges, part, part)
            if not steps or frozenset(steps) in told:
                continue
            told.add(frozenset(steps))
            lines = [f"  {place} includes {target}"
                     for place, target in (edges[pair] for pair in zip(steps, steps[1:]))]
            place = "/".join(["src", *folder])
            yield "\n".join([f"{place}: circle {' → '.join(steps)}", *lines])


def full_folders(names):
    """Folders with more than MAX_FILES of the files."""
    counts = collections.Counter(pathlib.PurePosixPath(name).parent.as_posix() for name in names
                                 if name.startswith(COUNTED) and not name.endswith(NOT_SOURCES))
    for folder, count in sorted(counts.items()):
        if count > MAX_FILES and not any(fnmatch.fnmatchcase(folder, pattern)
                                         for pattern in MAY_BE_LARGER):
            yield f"{folder}: {count} files, at most {MAX_FILES} are allowed; sort them by subject"


def files_of(root):
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=root, capture_output=True, text=True, check=True)
    return [name for name in listing.stdout.split("\0") if name and (root / name).is_file()]


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
        others = {other for other in ALLOWED if floors()[other] < height}
        names = "all" if len(others) > 1 and below == others else ", ".join(sorted(below)) or "–"
        lines.append(f"| {height} | {folder} | {PURPOSE[folder]} | {names} |")
    return "\n".join(lines)


def check_table(page):
    if table() not in page.read_text(encoding="utf-8"):
        yield f"{page}: the table of layers differs from tools/check_layers.py --table"


def test_circles():
    cases = [  # includes, the circles that they form
        ([("wss/pages/a.h", "wss/process/b.h")], []),
        ([("wss/pages/a.h", "wss/process/b.h"), ("wss/process/c.cpp", "wss/pages/a.h")],
         ["src/wss: circle pages → process → pages"]),
        ([("wss/pages/a.h", "wss/a.h"), ("wss/process/c.cpp", "wss/pages/a.h")], []),
        ([("wss/pages/a.h", "wss/a.h"), ("wss/a.h", "wss/pages/b.h")],
         ["src/wss: circle . → pages → ."]),
        ([("a/b/x/a.h", "a/b/y/a.h"), ("a/b/y/b.h", "a/b/z/a.h"), ("a/b/z/a.h", "a/b/x/a.h")],
         ["src/a/b: circle x → y → z → x"]),
        ([("a/x/a.h", "b/y/a.h"), ("b/z/a.h", "a/w/a.h")], ["src: circle a → b → a"]),
    ]
    for includes, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            for file in {file for pair in includes for file in pair}:
                path = pathlib.Path(folder, file)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("".join(f'#include "{target}"\n' for source, target in includes
                                        if source == file))
            found = list(circles(pathlib.Path(folder)))
        assert [circle.split("\n")[0] for circle in found] == expected, (includes, found)
        for circle in found:
            assert circle.count(" includes ") == circle.count(" → "), circle
            assert ":1 includes " in circle, circle


def test_full_folders():
    names = [f"src/base/{i}.h" for i in range(MAX_FILES)]
    assert not list(full_folders([*names, "src/base/README.md", "src/base/more/x.h"]))
    assert list(full_folders([*names, "src/base/x.cpp"])) == [
        "src/base: 26 files, at most 25 are allowed; sort them by subject"]
    assert not list(full_folders([f"tests/fuzz/corpus/reader_fuzz/{i}" for i in range(40)]))
    assert list(full_folders([f"tests/live/programs/{i}.c" for i in range(40)]))
    assert not list(full_folders([f"web/src/{i}.ts" for i in range(40)]))


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
    test_circles()
    test_full_folders()
    assert floors()["base"] == 1 and floors()["model"] == 2 and floors()["cli"] == max(floors().values())
    print(f"{len(cases) + 16} cases as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    if sys.argv[1:] == ["--table"]:
        print(table())
        return
    root = pathlib.Path(__file__).resolve().parent.parent
    problems = [*check_includes(root / "src"), *check_cmake(root / "CMakeLists.txt"),
                *check_table(root / "docs/architecture.md"), *circles(root / "src"),
                *full_folders(files_of(root))]
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} problems with the layers (table: tools/check_layers.py)")
    print("layers hold")


if __name__ == "__main__":
    main()
