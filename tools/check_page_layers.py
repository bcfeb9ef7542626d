#!/usr/bin/env python3
"""Checks that the folders of web/src import only what lies below them. Runs as a test.

    tools/check_page_layers.py              every import of web/src that names another file of it
    tools/check_page_layers.py --self-test  proves on made-up files that a violation is found

    main.tsx ─► shell ─► views ─► views/picture ─► ui ─► state ─► text ─► api
                                       └──────► gl ──────────────────────► api

ALLOWED is the architecture of the page: a folder may import itself and what its row names; a name
covers the folders inside it. Views know each other only where a row says so, so a new view needs
its own folder, one entry in views/registry.ts and no change to another view. Apart from the table,
no folders and no files may import each other in a circle. Tests may import anything.
"""

import pathlib
import posixpath
import re
import sys
import tempfile

PARTS = frozenset({"api", "text", "state", "ui"})  # what every view reads and shows
PICTURE = PARTS | {"gl"}

ALLOWED = {
    "api": frozenset(),
    "text": {"api"},
    "gl": {"api"},
    "state/link": {"api", "text"},
    "state/recording": {"api", "text", "state/link"},
    "state/page": {"api", "text", "state/link", "state/recording"},
    "state/answers": {"api", "text", "state/link", "state/recording", "state/page"},
    "ui": {"api", "text", "gl", "state/link", "state/page"},
    "views/picture/tiles": PICTURE,
    "views/picture/window": PICTURE | {"views/picture/tiles"},
    "views/picture/layers": PICTURE | {"views/picture/tiles", "views/picture/window"},
    "views/picture/input": PICTURE
    | {"views/picture/tiles", "views/picture/window", "views/picture/layers"},
    "views/picture/panels": PICTURE | {"views/picture/input"},
    "views/timeline": PICTURE | {"views/picture"},
    "views/lanes": PICTURE | {"views/picture"},
    "views/map": PICTURE | {"views/picture"},
    "views/state": PICTURE,
    "views/flame": PICTURE,
    "views/diff": PICTURE | {"views/picture", "views/lanes", "views/flame"},
    "views/overview": PARTS | {"views/picture/tiles"},
    "views/oom": PARTS | {"views/overview"},
    "views/frag": PARTS,
    "views/growth": PARTS,
    "views/what_if": PARTS,
    "views/live": PARTS,
    "views/working_set": PARTS,
    "views/tables": PARTS,
    "views/sql": PARTS,
    "views/inspector": PARTS | {"views/flame", "views/picture/input"},
    "styles": frozenset(),
    "shell": PARTS | {"views"},
    "main.tsx": PARTS | {"views", "shell", "styles"},
}
# the base of the pictures names its own folders; registry.ts, alone in views, names every view
ALLOWED["views/picture"] = PICTURE | {row for row in ALLOWED if row.startswith("views/picture/")}
ALLOWED["views"] = PARTS | {row for row in ALLOWED if row.startswith("views/")}

IMPORT = re.compile(r"""(?:\bfrom|\bimport|\bimport\()\s*["'](\.[^"'?]+)(?:\?\w+)?["']""")


def is_within(path, row):
    return path == row or path.startswith(f"{row}/")


def row_of(path):
    """The row of ALLOWED with the longest name that path lies in, or None."""
    return max((row for row in ALLOWED if is_within(path, row)), key=len, default=None)


def problem_of(path, target):
    """Why path must not import target, or None."""
    row, wanted = row_of(path), row_of(target)
    if row is None or wanted is None:
        stray = path if row is None else target
        return f"{stray} lies in no folder of the table of tools/check_page_layers.py"
    if row == wanted or any(is_within(target, one) for one in ALLOWED[row]):
        return None
    return f"{row} must not import {wanted}"


def imports_of(path, root):
    """The files of root that path imports, each with its line."""
    text = path.read_text(encoding="utf-8")
    folder = path.parent.relative_to(root).as_posix()
    for match in IMPORT.finditer(text):
        wanted = posixpath.normpath(posixpath.join(folder, match.group(1)))
        if wanted.startswith(".."):
            continue  # beside src: what tests read
        for ending in ("", ".ts", ".tsx"):
            if (root / (wanted + ending)).is_file():
                yield wanted + ending, text.count("\n", 0, match.start(1)) + 1
                break


def is_test(path):
    return path.name.endswith((".test.ts", ".test.tsx"))


def sources(root):
    for path in sorted(root.rglob("*")):
        if path.suffix in {".ts", ".tsx"} and not is_test(path):
            yield path


def check_imports(root):
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        for target, line in imports_of(path, root):
            problem = problem_of(name, target)
            if problem:
                yield f"{path}:{line}: {problem}"


def circle_in(arrows):
    """One circle of a graph {node: nodes}, as a list of its nodes, or None."""
    done = set()
    for start in arrows:
        trail, stack = [], [(start, iter(arrows.get(start, ())))]
        while stack and start not in done:
            node, rest = stack[-1]
            if len(trail) < len(stack):
                trail.append(node)
            for after in rest:
                if after in trail:
                    return trail[trail.index(after) :] + [after]
                if after not in done:
                    stack.append((after, iter(arrows.get(after, ()))))
                    break
            else:
                done.add(node)
                trail.pop()
                stack.pop()
    return None


def node_at(path, folder):
    """What path is seen from folder: a folder in it, or "." for its own files; None outside."""
    if folder and not is_within(path, folder):
        return None
    inner = path[len(folder) + 1 :] if folder else path
    return inner.split("/")[0] if "/" in inner else "."


def check_circles(root):
    arrows = {}
    for path in sources(root):
        name = path.relative_to(root).as_posix()
        arrows[name] = {target for target, _ in imports_of(path, root) if target != name}
    circle = circle_in(arrows)
    if circle:
        yield f"files import each other in a circle: {' -> '.join(circle)}"
    folders = {parent.as_posix() for name in arrows for parent in pathlib.PurePosixPath(name).parents}
    for folder in sorted({"" if one == "." else one for one in folders}):
        inner = {}
        for name, targets in arrows.items():
            for target in targets:
                nodes = node_at(name, folder), node_at(target, folder)
                if None not in nodes and nodes[0] != nodes[1]:
                    inner.setdefault(nodes[0], set()).add(nodes[1])
        circle = circle_in(inner)
        if circle:
            place = folder or "src"
            yield f"folders of {place} import each other in a circle: {' -> '.join(circle)}"


def write(root, files):
    for name, imports in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("// x\n" + "".join(f'import {{ a }} from "{one}";\n' for one in imports))


def self_test():
    cases = [  # file, import, the file that is meant, must be refused
        ("api/a.ts", "./b", "api/b.ts", False),
        ("api/a.ts", "../text/b", "text/b.ts", True),
        ("text/a.ts", "../api/b", "api/b.ts", False),
        ("state/link/a.ts", "../page/b", "state/page/b.ts", True),
        ("state/answers/a.ts", "../page/b", "state/page/b.ts", False),
        ("state/page/a.ts", "../../ui/b", "ui/b.tsx", True),
        ("ui/a.tsx", "../views/registry", "views/registry.ts", True),
        ("ui/a.tsx", "../shell/b", "shell/b.tsx", True),
        ("views/registry.ts", "./map/b", "views/map/b.tsx", False),
        ("views/map/a.ts", "../registry", "views/registry.ts", True),
        ("views/map/a.ts", "../picture/tiles/b", "views/picture/tiles/b.ts", False),
        ("views/map/a.ts", "../flame/b", "views/flame/b.ts", True),
        ("views/frag/a.ts", "../flame/b", "views/flame/b.ts", True),
        ("views/oom/a.ts", "../overview/b", "views/overview/b.ts", False),
        ("views/picture/tiles/a.ts", "../layers/b", "views/picture/layers/b.ts", True),
        ("shell/a.tsx", "../views/map/b", "views/map/b.tsx", False),
        ("main.tsx", "./styles/base/b.css", "styles/base/b.css", False),
        ("novel/a.ts", "../api/b", "api/b.ts", True),
        ("api/a.test.ts", "../shell/b", "shell/b.tsx", False),
    ]
    for file, written, meant, refused in cases:
        with tempfile.TemporaryDirectory() as folder:
            write(folder, {meant: [], file: [written]})
            found = list(check_imports(pathlib.Path(folder)))
            assert bool(found) == refused, (file, written, found)
            assert not refused or f"{file}:2: " in found[0], found
    circles = [  # files with their imports, how many circles are found
        ({"a/x.ts": ["./y"], "a/y.ts": []}, 0),
        ({"a/x.ts": ["./y"], "a/y.ts": ["./x"]}, 1),
        ({"a/x.ts": ["../b/y"], "b/y.ts": [], "b/z.ts": ["../a/w"], "a/w.ts": []}, 1),
        ({"v/a/x.ts": ["../b/y"], "v/b/y.ts": [], "v/b/z.ts": ["../a/w"], "v/a/w.ts": []}, 1),
        ({"v/list.ts": ["./a/x"], "v/a/x.ts": []}, 0),
        ({"v/list.ts": ["./a/x"], "v/a/x.ts": ["../base"], "v/base.ts": []}, 1),
        ({"v/list.ts": ["./a/x"], "v/a/x.ts": [], "v/a/x.test.ts": ["../list"]}, 0),
    ]
    for files, count in circles:
        with tempfile.TemporaryDirectory() as folder:
            write(folder, files)
            found = list(check_circles(pathlib.Path(folder)))
            assert len(found) == count, (files, found)
    print(f"{len(cases) + len(circles)} cases as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(__file__).resolve().parent.parent / "web" / "src"
    problems = [*check_imports(root), *check_circles(root)]
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} imports against the layers (table: tools/check_page_layers.py)")
    print("layers of the page hold")


if __name__ == "__main__":
    main()
