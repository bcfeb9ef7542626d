#!/usr/bin/env python3
"""Checks that links and paths in and to the documentation resolve. Runs as a test.

    tools/check_docs.py              the files of this checkout (git ls-files, new ones included)
    tools/check_docs.py --self-test  proves that broken links and paths are found

Four rules:
  * in *.md, every relative link names a file or folder, and its #anchor a heading of that page;
  * in *.md, every `path` in code that begins with a top folder (src/, tests/, …) exists, seen from
    the top of the tree or from the page;
  * in a table of *.md, functions beside a path, such as | `src/a.cpp` | `open()` |, are in that file;
  * in all other text files, every path docs/… exists. "docs/decisions/0014" may leave the rest out.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
DOCS_PATH = re.compile(r"(?<![\w/.-])docs/([A-Za-z0-9_./-]+)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
TOP = ("src/", "bpf/", "preload/", "injection/", "web/", "tests/", "tools/", "bench/", "deploy/", "cmake/", "docs/",
       "examples/")
IGNORED = ("web/node_modules/", "tests/fuzz/corpus/", "tests/data/", "docs/images/")
# A path outside of the repository that only looks like one of its own.
FOREIGN = ("docs/instrumenting/", "docs/style")
# A pattern or a placeholder.
NO_PATH = re.compile(r"[\s*<>{}…$|]|NAME|SUBJECT")
# Made by the build, so not in a fresh checkout.
BUILT = ("web/dist", "web/node_modules")


def slug(heading):
    """The anchor that GitHub makes of a heading."""
    text = re.sub(r"`|\[|\]\([^)]*\)|\*", "", heading.lower())
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def without_code_blocks(text):
    """The text with fenced blocks blanked, line by line, so that line numbers stay."""
    lines, inside = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            inside = not inside
            lines.append("")
        else:
            lines.append("" if inside else line)
    return "\n".join(lines)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def anchors_of(path):
    text = without_code_blocks(path.read_text(encoding="utf-8"))
    return {slug(match.group(1)) for match in HEADING.finditer(text)}


def check_links(root, name, text):
    for match in LINK.finditer(text):
        target = match.group(1).strip("<>")
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (root / name).parent / file if file else root / name
        where = f"{name}:{line_of(text, match.start())}"
        if not path.exists():
            yield f"{where}: the link {target} leads nowhere"
        elif anchor and (path.suffix != ".md" or anchor not in anchors_of(path)):
            yield f"{where}: {file or name} has no heading for #{anchor}"


def check_code_paths(root, name, text):
    for match in CODE.finditer(text):
        path = match.group(1)
        if not path.startswith(TOP) or path.startswith(BUILT) or NO_PATH.search(path):
            continue
        path = path.partition(":")[0].rstrip("/")
        if not (root / path).exists() and not ((root / name).parent / path).exists():
            yield f"{name}:{line_of(text, match.start())}: {path} does not exist"


def check_functions(root, name, text):
    for number, line in enumerate(text.split("\n"), 1):
        codes = CODE.findall(line) if line.startswith("|") else []
        paths = [code for code in codes if code.startswith(TOP) and (root / code).is_file()]
        for code in codes if len(paths) == 1 else []:
            if not re.fullmatch(r"[\w:]+\(\)", code):
                continue
            function = code[:-2].split("::")[-1]
            if function + "(" not in (root / paths[0]).read_text(encoding="utf-8"):
                yield f"{name}:{number}: {paths[0]} has no {code}"


def check_docs_paths(root, name, text):
    for match in DOCS_PATH.finditer(text):
        path = ("docs/" + match.group(1)).rstrip(".-")
        following = text[match.end():match.end() + 1]
        if path.startswith(FOREIGN) or following in "{*<$" and following or path == "docs/":
            continue
        if "COMMAND" in path:
            continue
        at = root / path.rstrip("/")
        prefix = path.startswith("docs/decisions/") and list((root / "docs/decisions").glob(at.name + "-*"))
        if not at.exists() and not prefix:
            yield f"{name}:{line_of(text, match.start())}: {path} does not exist"


def problems(root, names):
    for name in names:
        path = root / name
        if name.startswith(IGNORED) or path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        text = data.decode("utf-8", errors="replace")
        if name.endswith(".md"):
            outside = without_code_blocks(text)
            yield from check_links(root, name, outside)
            yield from check_code_paths(root, name, outside)
            yield from check_functions(root, name, outside)
            yield from check_docs_paths(root, name, CODE.sub("", re.sub(r"\[[^\]]*\]\([^)]*\)", "", text)))
        elif name not in ("tools/check_docs.py", "tools/check_words.py"):  # made-up pages
            yield from check_docs_paths(root, name, text)


def self_test():
    page = "# A page: `x`\n\n[a](b.md) [b](b.md#one-two) [c](https://x.org/none.md) [d](#a-page-x)\n"
    wrong = ("[a](none.md)\n[b](b.md#none)\n`src/none.h`\n```\n[no](link.md) `src/none.h`\n```\n"
             "`src/*.h` `src/a.h`\n[c](#none)\n")
    wrong += "| x | `src/a.h` | `open()`, `none()` |\n"
    source = "int open();\n// docs/a.md docs/none.md docs/decisions/0001, docs/decisions/0002.\n// docs/{}.md docs/\n"
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        for name, text in {"docs/a.md": page, "docs/b.md": "## One, two\n", "docs/wrong.md": wrong,
                           "docs/decisions/0001-x.md": "", "src/a.h": source}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        names = sorted(p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file())
        found = list(problems(root, names))
    expected = ["docs/wrong.md:1: the link none.md leads nowhere",
                "docs/wrong.md:2: b.md has no heading for #none",
                "docs/wrong.md:8: docs/wrong.md has no heading for #none",
                "docs/wrong.md:3: src/none.h does not exist",
                "docs/wrong.md:9: src/a.h has no none()",
                "src/a.h:2: docs/none.md does not exist",
                "src/a.h:2: docs/decisions/0002 does not exist"]
    assert found == expected, "\n".join(found)
    print(f"{len(expected)} problems found as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(__file__).resolve().parent.parent
    listing = subprocess.run(["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                             cwd=root, capture_output=True, check=False)
    if listing.returncode != 0:
        print("skipped: this is not a git checkout, so its files are not known")
        sys.exit(77)
    found = list(problems(root, sorted(filter(None, listing.stdout.decode().split("\0")))))
    for problem in found:
        print(problem)
    if found:
        sys.exit(f"{len(found)} links or paths lead nowhere")
    print("all links and paths of the documentation resolve")


if __name__ == "__main__":
    main()
