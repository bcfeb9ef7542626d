#!/usr/bin/env python3
"""Checks that texts are plain English: a list of banned phrases with better wording. Runs as a test.

    tools/check_words.py                      the documentation, and the sources below SOURCE_ROOTS
    tools/check_words.py --sources ROOT…      comments and texts of these files or folders as well
    tools/check_words.py --binary tidegauge   --help of every command: phrases, lines and descriptions
    tools/check_words.py --self-test          proves that each phrase is found

It prints file:line, the phrase and the better wording. A phrase that is right where it stands can
be rewritten in any case: these are the habits that made readers read a sentence twice.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Folders whose comments and texts are checked on every run.
SOURCE_ROOTS = ("src", "python", "bpf", "preload", "injection", "tests", "tools", "cmake", "bench")
# Names in files and answers that are a contract: (kernels not told apart), growth.verdict, JSON keys.
PUBLIC = re.compile(r"""\(kernels not told apart\)|"told"|"tells"|\btold(?=, too_few_points)"""
                    r"""|=memory was got or given back at another moment""")  # the old name of a cause
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/**/*.md", "tests/README.md",
             "examples/README.md", "deploy/**/README.md")

MAX_HELP_LINE = 100
MAX_DESCRIPTION = 100

# (phrase, better wording, a text that must be found)
PHRASES = [(re.compile(pattern, re.IGNORECASE), better, example) for pattern, better, example in [
    (r"\b(?:re)?(?:told|tells?)\b", "reported, printed, known; distinguish for \"tell apart\"",
     "how it is told"),
    (r"\bforete(?:ll|lls|lling)\b|\bforetold\b", "predict, forecast", "what is foretold"),
    (r"\bso (?:many|much)\b", "name the number or the unit", "after so many seconds"),
    (r"\bin the mean\b", "on average", "watched, in the mean"),
    (r"\bby (?:itself|themselves)\b", "alone, separately, on its own", "pinned memory by itself"),
    (r"(?<!there )\b(?:is|are) no (?:number|text|page|snapshot|recording|file|moment|error|json|quads?"
     r"|utf-8|fault|churn|time|name|step|whole|object|hole|tests?)\b", "is not a …", "a member that is no snapshot"),
    (r"\bbehind (?:it|them|seconds|each|its|their|what)\b", "after, or name the relation",
     "PIDs, and behind them SECONDS"),
    (r"\b(?:leav\w+|left) (?:\w+ )?away\b", "omit, leave out", "leave it away"),
    (r"\b(?:go|goes|going|gone|went) on\b", "continue; \"current\" for \"what goes on now\"",
     "the program goes on"),
    (r"\bat the (?:most|least)\b(?! (?:frequent|recent|common))", "at most, at least", "2 KiB at the most"),
    (r"\bwith \d+ ?%(?! (?:confidence|of|more|less|fewer))", "at 95 % confidence", "half of it, with 95 %"),
    (r"\bin blocks, not\b", "reserved but not in a block", "In blocks, not used"),
    (r"\bwithout a word\b", "without an end, or: died", "is gone without a word"),
    (r"\b(?:the water|over the brim|brim|strata)\b", "memory, capacity, segments", "how high was the water"),
    (r"\b(?:gives?|gave|given|giving) (?:it |them |memory |all |everything )?back\b", "free, return, release",
     "what a program gave back"),
    (r"\blets? (?:it |them )?go\b(?! of the)", "free, release", "the program let go"),
    (r"\b(?:that|which|it|they) (?:is|are) said\b", "the report says so", "what is missing, that is said"),
    (r"\bdear(?:er)?\b", "expensive", "a single step is dear"),
    (r"\bfor want of\b", "for lack of", "for want of room"),
    (r"\bof ours\b|\bof our own\b", "name the owner: Tidegauge's", "readers of ours"),
    (r"\b(?:whole truth|half the truth)\b", "complete, incomplete", "figures that are the whole truth"),
    (r"\b(?:come|comes|came) (?:and|or) (?:go|goes|went)\b", "is allocated and freed", "memory that comes and goes"),
    (r"\bcannot be had\b", "is impossible", "three times less cannot be had"),
    (r"\bbears? (?:the|its|their|a) (?:number|name)\b", "is named, has", "rows bear the number"),
    (r"\b(?:to|in) the end of that\b", "to its end", "to the end of that"),
]]
# At the start of a line: a fragment of a sentence.
FRAGMENT = re.compile(r"^(?:Of (?!course\b|the\b|these\b|those\b)[a-z])")
FRAGMENT_HINT = "a whole sentence: subject, verb, object"

C_LIKE = {".h", ".hpp", ".c", ".cc", ".cpp", ".ts", ".tsx", ".mjs", ".js", ".css"}
HASH_LIKE = {".py", ".sh", ".cmake", ".yml", ".yaml", ".toml", ".service"}
C_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)'"""
                     r"|`(?:[^`\\]|\\.)*`", re.DOTALL)
HASH_TOKEN = re.compile(r'"""' + r'.*?"""' + r"|'''.*?'''" + r"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|#[^\n]*""",
                        re.DOTALL)
IDENTIFIER = re.compile(r"[\w./:*-]+\.\w+|\w*_\w+|\w+::\w+|k[A-Z]\w+")


def phrases_in(text):
    for pattern, better, _ in PHRASES:
        for match in pattern.finditer(text):
            yield match.group(0), better


def problems_of_line(text):
    yield from phrases_in(text)
    if FRAGMENT.match(text):
        yield text[:20] + "…", FRAGMENT_HINT


def check_document(name, text):
    """Prose of a page: neither code nor the target of a link. A phrase may span two lines."""
    inside, before = False, ""
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("```"):
            inside = not inside
        if inside or line.startswith(("```", "    ")):
            before = ""
            continue
        prose = re.sub(r"`[^`]*`", "…", PUBLIC.sub("…", line))
        prose = re.sub(r"\]\([^)]*\)", "]", prose).strip(" *-")
        yield from found_in(name, number, before, prose)
        before = prose


def found_in(name, number, before, line):
    """Problems of a line, and of the seam with the line before it."""
    own = list(problems_of_line(line))
    seam = [] if not before else [
        p for p in phrases_in(before + " " + line)
        if p not in own and p not in list(phrases_in(before))]
    for phrase, better in own + seam:
        yield f"{name}:{number}: \"{phrase}\": {better}"


def check_source(name, text):
    """Comments and texts of a source file, not its identifiers."""
    token = C_TOKEN if pathlib.PurePath(name).suffix in C_LIKE else HASH_TOKEN
    last_line, before = -1, ""
    for match in token.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        for offset, line in enumerate(PUBLIC.sub("…", match.group(0)).split("\n")):
            prose = line.strip().removeprefix("/**").lstrip("/#*! ").strip("\"'` ")
            prose = IDENTIFIER.sub("…", prose)
            continues = first + offset == last_line + 1
            yield from found_in(name, first + offset, before if continues else "", prose)
            last_line, before = first + offset, prose


def documents(root):
    for pattern in DOCUMENTS:
        for path in sorted(root.glob(pattern)):
            yield from check_document(path.relative_to(root).as_posix(), path.read_text(encoding="utf-8"))


def sources(root, roots):
    for each in roots:
        start = root / each
        for path in sorted([start] if start.is_file() else start.rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in C_LIKE | HASH_LIKE or "node_modules" in path.parts or not path.is_file():
                continue
            if name == "tools/check_words.py":
                continue
            yield from check_source(name, path.read_text(encoding="utf-8"))


def check_help(name, text):
    """Lines of a --help, and how long the description of an option is."""
    option, words = None, ""

    def too_long():
        if option and len(words) > MAX_DESCRIPTION:
            yield f"{name}: {option}: {len(words)} characters, at most {MAX_DESCRIPTION}: {words}"

    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_HELP_LINE:
            yield f"{name}:{number}: {len(line)} columns, at most {MAX_HELP_LINE}"
        for phrase, better in problems_of_line(line.strip()):
            yield f"{name}:{number}: \"{phrase}\": {better}"
        begins = re.match(r"^  (\S.*?)(?:  +(\S.*))?$", line)
        if begins:
            yield from too_long()
            option, words = begins.group(1), begins.group(2) or ""
        elif option and line.startswith("    "):
            words = (words + " " + line.strip()).strip()
        else:
            yield from too_long()
            option, words = None, ""
    yield from too_long()


def helps(binary):
    def of(*command):
        return subprocess.run([binary, *command, "--help"], capture_output=True, text=True, check=True,
                              env={**os.environ, "COLUMNS": "100"}).stdout

    top = of()
    yield from check_help("tidegauge --help", top)
    for command in re.findall(r"^  ([a-z]+) {2,}", top.partition("Subcommands:")[2], re.MULTILINE):
        yield from check_help(f"tidegauge {command} --help", of(command))


def self_test():
    for pattern, _, example in PHRASES:
        assert pattern.search(example), (pattern.pattern, example)
    page = "Fine.\n\n```\nso many seconds\n```\nA `told` [x](told.md)\nit is\ntold\n\nOf a file: all\n"
    found = list(check_document("a.md", page))
    assert [line.split(": ")[0] for line in found] == ["a.md:8", "a.md:10"], found
    source = 'int told = 1;  // fine\nprint("so much");\n/* in the\n   mean */\n// Of a sample: all\n'
    found = list(check_source("a.cpp", source))
    assert [line.split(": ")[0] for line in found] == ["a.cpp:2", "a.cpp:4", "a.cpp:5"], found
    found = list(check_source("a.py", '"""It\ngoes on"""\ntold = 1  # told\n'))
    assert [line.split(": ")[0] for line in found] == ["a.py:2", "a.py:3"], found
    public = 'name = "told";  // "told", or (kernels not told apart)\n// it is told\n'
    found = list(check_source("a.cpp", public))
    assert [line.split(": ")[0] for line in found] == ["a.cpp:2"], found
    text = "Options:\n  -h,--help   Fine\n  --long N=1  " + "a" * 60 + "\n              " + "b" * 60 + "\n" + "x" * 101
    found = list(check_help("x --help", text))
    assert len(found) == 2 and "--long N=1: 121 characters" in found[0] + found[1], found
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs/use").mkdir(parents=True)
        (root / "docs/use/a.md").write_text("goes on\n")
        (root / "docs/use/sql.md").write_text("so many\n")
        (root / "README.md").write_text("fine\n")
        (root / "src").mkdir()
        (root / "src/a.h").write_text("// goes on\n")
        assert len(list(documents(root))) == 2
        assert len(list(sources(root, ["src"]))) == 1
    print(f"{len(PHRASES)} phrases are found")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", nargs="+", default=[], metavar="ROOT")
    parser.add_argument("--binary")
    options = parser.parse_args()
    root = pathlib.Path(__file__).resolve().parent.parent
    found = [*documents(root), *sources(root, dict.fromkeys([*SOURCE_ROOTS, *options.sources])),
             *(helps(options.binary) if options.binary else [])]
    for problem in found:
        print(problem)
    if found:
        sys.exit(f"{len(found)} places to say more plainly (list: tools/check_words.py)")
    print("plain words")


if __name__ == "__main__":
    main()
