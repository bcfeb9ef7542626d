"""Proves that same_answers finds a difference: made-up binaries that differ in one place.

fake_binary.py answers the commands of tidegauge; `FAKES` says what is changed in the second of a
pair, and what the comparison must say then.
"""

import collections
import pathlib
import subprocess
import sys
import tempfile

import figures
import judge
import renames
import tables
import tree
from runner import Answer

HERE = pathlib.Path(__file__).resolve().parent



def fake(folder, name, edit=None, **changes):
    """A fake binary whose answers have these changes; `edit` replaces a piece of what it prints."""
    path = pathlib.Path(folder, name)
    head = f"#!{sys.executable} -ISs\nCHANGES, EDIT = {changes!r}, {edit or ('', '')!r}\n"
    path.write_text(head + (HERE / "fake_binary.py").read_text())
    path.chmod(0o755)
    return path


def tool(old, new, *options):
    file = pathlib.Path(old).with_name("snapshot.pickle")
    done = subprocess.run([sys.executable, HERE, old, new, *options, "--files", file],
                          capture_output=True, text=True, timeout=120, check=False)
    return done.returncode, done.stdout + done.stderr


# Each row: the changes, the options, the exit code, and what the output must contain.
FAKES = (
    ({"engine": "87654321", "version": "2"}, ("--only", "server"), 0, "0 different"),
    ({"tile": "abcX"}, ("--only", "server"), 1, "byte 64"),
    ({"row": 8}, ("--only", "query"), 1, "peak_bytes: 7 -> 8"),
    ({"column": "top_bytes"}, ("--only", "query"), 1, "devices: device, peak_bytes -> device, top_bytes"),
    ({"edit": ('"events": 36503', '"events": 36504')}, ("--only", "commands"), 1, "events: 36503 -> 36504"),
    ({"edit": ('"events"', '"steps"')}, ("--only", "commands"), 1, "(no such key)"),
    ({"text": "At step 36,503 the peak memory was 1.25 GiB."}, ("--only", "commands"), 1, "line 1"),
    ({"text": "At step 36,503 the peak memory was 1.25 GiB.",
      "edit": ("Peak of 1.25 GiB was held.", "1.25 GiB were in use at the peak.")},
     ("--only", "commands", "--words"), 0, "0 different"),
    ({"text": "Peak: 1.25 MiB at step 36,503."}, ("--only", "commands", "--words"), 1,
     "1.25 GiB -> 1.25 MiB"),
    ({"edit": ("Peak of 1.25 GiB", "Peak of 1.26 GiB")}, ("--only", "commands", "--words"), 1,
     "note (numbers of the sentence)"),
    ({"edit": ('"name": "gpu"', '"name": "cpu"')}, ("--only", "commands", "--words"), 1,
     'name: "gpu" -> "cpu"'),
)


def run():
    cases = 0
    with tempfile.TemporaryDirectory() as folder:
        old = fake(folder, "old")
        for number, (changes, options, code, said) in enumerate(FAKES):
            found = tool(old, fake(folder, f"new{number}", **changes), *options)
            assert found[0] == code and said in found[1], (changes, *found)
            cases += 1
        changelog = pathlib.Path(folder, "CHANGELOG.md")
        changelog.write_text("### Renames\n\n| rename | kind | old | new |\n|---|---|---|---|\n"
                             "| clearer | json | events | steps |\n")
        new = fake(folder, "renamed", edit=('"events"', '"steps"'))
        found = tool(old, new, "--only", "commands", "--changelog", changelog)
        assert found[0] == 0, found
        assert tool(old, pathlib.Path(folder, "nothing"))[0] == 2
    print(f"{cases + 2 + sum(check() for check in (_figures, _trees, _texts, _renames, _docs))} "
          "cases as expected")


def _figures():
    cases = (("step 36,503, 1.25 GiB, 63 %", ["step 36,503", "1.25 GiB", "63 %"]),
             ("peak 1.25\n    GiB of layer12", ["1.25 GiB"]), ("5 MiB/s, -3 and 0x7f", ["5 MiB/s", "-3", "0x7f"]),
             ("12 stacks; 3 s", ["12", "3 s"]), ("loss.py:30", ["30"]))
    for text, expected in cases:
        assert list(figures.figures(text)) == expected, (text, list(figures.figures(text)))
    assert figures.difference("1 GiB of 2", "2 hold 1 GiB") is None
    assert figures.difference("1 GiB", "1 MiB") == ("1 GiB", "1 MiB")
    return len(cases) + 2


def _trees():
    words = tree.Rules("report", words=True)
    cases = (('{"a": 1}', '{"a": 1}', 0, None), ('{"a": 1}', '{"a": 1.0}', 1, None),
             ('{"a": 1}', '{"a": "1"}', 1, None), ('{"a": 1, "b": 2}', '{"b": 2, "a": 1}', 1, None),
             ('[1, 2]', '[1]', 1, None), ('{"a": null}', '{}', 1, None),
             ('{"text": "5 of 6"}', '{"text": "6, of these 5"}', 0, words),
             ('{"text": "5 of 6"}', '{"text": "5"}', 1, words), ('{"a": "5 of"}', '{"a": "of 5"}', 1, words),
             ('{"p": [{"text": "1 ", "style": ""}, {"text": "2", "style": "code"}]}',
              '{"p": [{"text": "1 of 2", "style": ""}]}', 0, words))
    for old, new, count, rules in cases:
        found = list(tree.differences(tree.parse(old), tree.parse(new), rules or tree.Rules("report")))
        assert len(found) == count, (old, new, found)
    return len(cases)


def _texts():
    rules = tree.Rules("report")
    spaced = judge.json_places(rules, b'{"a": 1}', b'{"a":1}')
    assert spaced and spaced[0][0] == "(layout)", spaced
    code = judge.differing_places(rules, Answer(0, b"", b""), Answer(3, b"", b"broken"), True)
    assert code == [("exit code", "0", "3 (broken)")], code
    said = judge.differing_places(rules, Answer(0, b"", b"a\n"), Answer(0, b"", b"b\n"), False)
    assert said[0][0] == "standard error, line 1", said
    return 3


def _renames():
    head = "## Unreleased\n### Renames\n| rename | kind | old | new |\n|---|---|---|---|\n"
    its = renames.Renames(renames.rows_of(
        head + "| a | json | growth.steady | reported |\n| b | json-value | verdict=yes | reported |\n"
        "| c | column | growth.old_step | reported_step |\n| d | metric | tidegauge_a | tidegauge_b |\n"
        "| e | label | comm | name |\n| f | option | --old | --new |\n| g | sql-value | growth.kind=a | b |\n"
        "## 0.1\n| not | a | rename | row |\n"))
    assert its.key("devices[3].growth", "steady") == "reported" and its.key("wall", "steady") == "steady"
    assert its.word("devices[0].growth.verdict", "yes") == "reported"
    assert its.name("column", "growth.old_step") == "reported_step" and its.name("column", "a.b") == "b"
    assert its.in_metrics('tidegauge_a{pid="1",comm="x"} 1') == 'tidegauge_b{pid="1",name="x"} 1'
    assert its.in_command(["report", "--old=3", "--old"]) == ["report", "--new=3", "--new"]
    assert its.sql_words("growth", "kind") == [("a", "b")]
    try:
        renames.rows_of(head + "| a | jsn | b | c |\n")
    except ValueError as error:
        assert "CHANGELOG.md:5" in str(error), error
    else:
        raise AssertionError("an unknown kind is refused")
    return len(its.rows) + 1


def _docs():
    found = tables.documented("### file\nOne row.\n\n| column | kind | |\n|---|---|---|\n| name | text | as |\n"
                              "| long | text | not part of SELECT * |\n## growth(device)\n"
                              "| column | kind | |\n| p | real | x |\n## Functions\n| `a` | b |\n")
    assert found == [tables.Source("file", None, ("name",)),
                     tables.Source("growth", ("device",), ("p",))], found
    counted = collections.Counter(source.selection() for source in found)
    assert counted['devices AS d, "growth"(d.device) AS f'] == 1, counted
    return 2
