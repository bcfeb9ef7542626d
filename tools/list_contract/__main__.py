"""Lists every public name in docs/contract.md, one a line, so that no name changes unseen.

    python3 tools/list_contract --binary B --tests FOLDER            writes the page
    python3 tools/list_contract --binary B --tests FOLDER --check    compares it; runs as a test
    python3 tools/list_contract --self-test                          proves that it can fail

Names come from the program itself: options from --help, SQL from `query --print-docs`, keys of `wss`
from what it prints. Keys of other JSON come from docs/schema. FOLDER (build/dev/tests) has two
programs of the tests: make_metrics shows every metric, make_recording writes a recording. A section
that cannot be made here (a build without the recorder has no metrics) stays as it is, and the tool
says so.
"""

import argparse
import pathlib
import sys

import command_names
import json_names
import page
from programs import ROOT, Missing

PAGE = ROOT / "docs" / "contract.md"
ADVICE = """Public names differ from docs/contract.md.
  A name was added: write the page again, as below, and commit it.
  A name was removed or renamed: programs of users break. Keep the old name. If it must change, add
  a row to the table of renames in CHANGELOG.md, and then write the page again:
    python3 tools/list_contract --binary BINARY --tests FOLDER"""


def self_test():
    made = (("Names", "Some.", lambda _: ["a.b", "c"]), ("Left", "Some.", _missing))
    text, left = page.made_page(None, "# x\n\n## Left\n\nold\n", made)
    assert "a.b\nc\n" in text and text.endswith("## Left\n\nold\n"), text
    assert left == ["Left: no program"], left
    assert page.made_page(None, text, made)[0] == text
    changed = page.made_page(None, text, (("Names", "Some.", lambda _: ["a.b", "d"]), made[1]))[0]
    lines = page.difference(text, changed).splitlines()
    assert "-c" in lines and "+d" in lines, lines
    help_text = ("Usage: x\n\nPositionals:\n  FILE                  A file\n\nOptions:\n"
                 "  -h,--help             This\n  --at PLACE            Where\n  -o,--out FILE\n"
                 "                        Written\n\nSubcommands:\n  view                  Opens\n")
    options = list(command_names.option_lines("x", help_text))
    assert options == ["x FILE", "x --at PLACE", "x -o,--out FILE"], options
    assert command_names.commands_in(help_text) == ["view"]
    schema = {"$defs": {"a": {"type": "object", "properties": {"b": {"enum": ["x", "y"]}}}},
              "properties": {"list": {"items": {"$ref": "#/$defs/a"}}}}
    keys = list(json_names.schema_lines(schema, schema, "", frozenset()))
    assert keys == ["list", "list[].b  x | y"], keys
    print("7 cases as expected")


def _missing(_):
    raise Missing("no program")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", default=ROOT / "build/dev/tidegauge", type=pathlib.Path)
    parser.add_argument("--tests", type=pathlib.Path, help="the build's folder of test programs")
    parser.add_argument("--check", action="store_true", help="compare; exit code 1: a name differs")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        self_test()
        return 0
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    after, left = page.made_page(options, before)
    for reason in left:
        print(f"not made here, stays as it is: {reason}")
    if not options.check:
        PAGE.write_text(after, encoding="utf-8")
    elif before != after:
        print(f"{page.difference(before, after)}\n\n{ADVICE}")
        return 1
    print(f"docs/contract.md has {after.count(chr(10)):,} lines")
    return 0


if __name__ == "__main__":
    sys.exit(main())
