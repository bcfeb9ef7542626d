#!/usr/bin/env python3
"""Runs the golden tests: text files of cases, each a command line and what it must print.

    tests/golden/run.py --binary build/dev/tidegauge [--update] [--filter TEXT] [FILE.golden…]

    NAME a tiny file, reported in full
    INPUT examples/tiny.pickle.zst             or: shared/…, make_snapshot --events 9, bytes 80 04, text {}
    RUN tidegauge report $IN                   several INPUT lines are $IN, $IN2, $IN3
    EXPECT                                     standard output; lines of a block have two spaces
      peak  1.0 MiB

Also EXPECT_JSON (only the keys listed must match; "..." as the last item of a list stands for the
rest), STDERR, EXIT (0 if absent), STDIN $IN, MASK PATTERN => TOKEN (for what varies), and REQUIRES
shared (the real files), page or recorder (a program with one) or program NAME; a case that lacks them is skipped with the reason.
--update rewrites EXPECT, EXPECT_JSON and STDERR with what came; review the diff. tests/README.md
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared")).resolve()
KEYWORDS = ("NAME", "INPUT", "RUN", "STDIN", "MASK", "REQUIRES", "EXIT", "EXPECT", "EXPECT_JSON",
            "STDERR")
HEAD = re.compile(rf"({'|'.join(KEYWORDS)})(?: (.*))?$")
TIMEOUT_S = 300


class Skip(Exception):
    pass


def parse(text, where):
    """Cases as lists of [keyword, value]; a block's lines are in the value, without the indent."""
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        head = HEAD.match(line)
        if head:
            if head[1] == "NAME":
                cases.append([])
            elif not cases:
                sys.exit(f"{where}:{number}: the first line of a case is NAME")
            cases[-1].append([head[1], (head[2] or "").strip()])
        elif line.startswith("  ") or not line.strip():
            if cases:
                cases[-1][-1][1] += "\n" + line[2:]
        elif not line.startswith("#"):
            sys.exit(f"{where}:{number}: neither a keyword nor a line of a block: {line!r}")
    return cases


def values(case, keyword):
    return [value.strip("\n") for name, value in case if name == keyword]


def value(case, keyword, default=None):
    return (values(case, keyword) or [default])[0]


def make_input(spec, folder):
    """The path of an INPUT; generated ones are made once per run."""
    words = spec.split() if spec.startswith("text ") else shlex.split(spec)
    made = folder / re.sub(r"[^\w.-]+", "_", spec)[-200:]
    if words[0] == "make_snapshot":
        if not made.exists():
            subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", "-o", made,
                            *words[1:]], check=True)
        return made
    if words[0] == "text":
        made.write_text(spec.removeprefix("text ") + "\n")
        return made
    if words[0] == "bytes":
        made.write_bytes(bytes.fromhex("".join(words[1:])))
        return made
    return SHARED / spec.removeprefix("shared/") if spec.startswith("shared/") else ROOT / spec


def check_requirements(case):
    for need in values(case, "REQUIRES"):
        if need == "shared":
            if not SHARED.is_dir():
                raise Skip("needs the real files: set TIDEGAUGE_SHARED to their folder")
        elif need in ("page", "recorder"):
            pass  # run() sees whether the program has one
        elif need.startswith("program "):
            if shutil.which(need.split()[1]) is None:
                raise Skip(f"needs the program {need.split()[1]}; install it")
        else:
            sys.exit(f"unknown requirement: {need}")


def run(case, binary, folder):
    """(exit code, standard output, standard error) with paths replaced by tokens."""
    check_requirements(case)
    inputs = [make_input(spec, folder) for spec in values(case, "INPUT")]
    names = {f"$IN{i + 1 if i else ''}": str(path) for i, path in enumerate(inputs)}
    words = [re.sub(r"\$IN\d*", lambda match: names[match[0]], word)
             for word in shlex.split(value(case, "RUN"))]
    if words[0] != "tidegauge":
        sys.exit(f"{value(case, 'NAME')}: RUN must start with tidegauge")
    stdin = value(case, "STDIN")
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TZ": "UTC", "COLUMNS": "100",
                   "HOME": str(folder)}
    environment |= {key: os.environ[key] for key in os.environ if key.endswith("SAN_OPTIONS")}
    with open(names[stdin] if stdin else os.devnull, "rb") as source:
        done = subprocess.run([binary, *words[1:]], stdin=source, capture_output=True,
                              cwd=folder, env=environment, timeout=TIMEOUT_S)
    if "recorder" in values(case, "REQUIRES") and b"built without" in done.stderr:
        raise Skip("this build has no recorder in it (libbpf-dev, clang)")
    if "page" in values(case, "REQUIRES") and b"this build has no page in it" in done.stderr:
        raise Skip("needs a program with the page in it: build with TIDEGAUGE_WEB=ON")
    tokens = [(re.escape(path), name) for name, path in sorted(names.items(), reverse=True)]
    tokens += [(re.escape(str(folder)), "$TMP"), (re.escape(str(ROOT)), "$ROOT")]
    tokens += [tuple(mask.split(" => ")) for mask in values(case, "MASK")]
    texts = [text.decode(errors="replace").replace("\r", "␍")  # a golden file shows what it has
             for text in (done.stdout, done.stderr)]
    for pattern, token in tokens:
        texts = [re.sub(pattern, lambda _, token=token: token, text) for text in texts]
    return done.returncode, texts[0].strip("\n"), texts[1].strip("\n")


def pick(actual, expected):
    """The part of actual that expected speaks of; equal to expected if it matches."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return {key: pick(actual[key], item) for key, item in expected.items() if key in actual}
    if isinstance(expected, list) and isinstance(actual, list):
        if expected and expected[-1] == "...":
            return [pick(a, e) for a, e in zip(actual, expected[:-1])] + ["..."]
        return [pick(a, e) for a, e in zip(actual, expected)] + actual[len(expected):]
    return actual


def judge(case, result):
    """(keyword, expected, came) of each difference."""
    code, out, err = result
    wanted = value(case, "EXIT", "0")
    if str(code) != wanted:
        yield "EXIT", wanted, f"{code}\n{err}"
    for keyword, came in (("EXPECT", out), ("STDERR", err)):
        expected = value(case, keyword)
        if expected is not None and expected.rstrip() != came.rstrip():
            yield keyword, expected, came
    expected = value(case, "EXPECT_JSON")
    if expected is not None:
        try:
            came = json.dumps(pick(json.loads(out), json.loads(expected)), indent=1)
        except ValueError as error:
            came = f"not JSON: {error}: {out[:200]!r}"
        if json.dumps(json.loads(expected), indent=1) != came:
            yield "EXPECT_JSON", expected, came


def update(text, case, differences):
    """The file's text with the blocks of one case rewritten."""
    start = text.index(f"NAME {value(case, 'NAME')}\n")
    following = re.compile(r"^NAME ", re.MULTILINE).search(text, start + 1)
    end = following.start() if following else len(text)
    body = text[start:end]
    for keyword, _, came in differences:
        if keyword != "EXIT":
            block = "\n".join(f"  {line}".rstrip() for line in came.splitlines())
            body = re.sub(rf"^{keyword}(?: .*)?\n(?:  .*\n?|[ \t]*\n(?=\s*?^  ))*",
                          lambda _, new=f"{keyword}\n{block}\n": new, body, flags=re.MULTILINE)
    return text[:start] + body + text[end:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", required=True, type=pathlib.Path)
    parser.add_argument("--update", action="store_true", help="rewrite what is expected")
    parser.add_argument("--filter", default="", help="only cases with this in their name")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory() as folder:
        for file in args.files or sorted(pathlib.Path(__file__).parent.glob("*.golden")):
            text = file.read_text(encoding="utf-8")
            for case in parse(text, file):
                title = f"{file.stem}: {value(case, 'NAME')}"
                if args.filter not in title:
                    continue
                try:
                    differences = list(judge(case, run(case, args.binary.resolve(),
                                                       pathlib.Path(folder).resolve())))
                except Skip as reason:
                    counts["skipped"] += 1
                    print(f"skipped {title}: {reason}")
                    continue
                counts["failed" if differences else "passed"] += 1
                for keyword, expected, came in differences:
                    print(f"FAILED {title}: {keyword}\n--- expected\n{expected}\n--- came\n{came}")
                if args.update and differences:
                    text = update(text, case, differences)
                    file.write_text(text, encoding="utf-8")
    print(", ".join(f"{count} {what}" for what, count in counts.items()))
    sys.exit(1 if counts["failed"] and not args.update else 0)


if __name__ == "__main__":
    main()
