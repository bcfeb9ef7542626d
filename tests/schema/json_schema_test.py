#!/usr/bin/env python3
"""What the commands print with --json against docs/schema/COMMAND.schema.json (draft 2020-12).

Inputs: every golden case that prints JSON, the examples, generated files, and the shared real files if
they are there. A command with a schema is asked for all of them; a schema that is never used fails.

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/schema/json_schema_test.py
"""
import functools
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import unittest

try:
    import jsonschema
except ImportError:
    print("skipped: no jsonschema; apt-get install python3-jsonschema, or pip install jsonschema")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared")) / "data"
BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")).resolve()
sys.path.insert(0, str(ROOT / "tests" / "golden"))
sys.path.insert(0, str(ROOT / "tests" / "support"))
import run as golden  # noqa: E402
import joined_pair  # noqa: E402

GENERATED = (["--workload", "train", "--leak", "1MiB", "--events", "4000", "--annotations"],
             ["--oom", "2", "--events", "2000", "--annotations", "--capacity", "2GiB"],
             ["--shape", "midrun", "--events", "2000", "--devices", "2"],
             ["--stacks", "0", "--events", "500"])
# How many files a command takes, and what it needs besides.
COMMANDS = {"report": 1, "frag": 1, "diff": 2, "whatif": 1}


@functools.cache
def schema_of(command):
    """The validator of a command, or None if it has no schema."""
    path = ROOT / "docs" / "schema" / f"{command}.schema.json"
    if not path.exists():
        return None
    schema = json.loads(path.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def printed(arguments, **options):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                          check=False, **options)
    return json.loads(done.stdout) if done.returncode in (0, 1) and done.stdout else None


class Schemas(unittest.TestCase):
    def check(self, command, answer, what):
        errors = sorted(schema_of(command).iter_errors(answer), key=lambda e: str(e.absolute_path))
        lines = [f"{'/'.join(map(str, error.absolute_path))}: {error.message[:200]}"
                 for error in errors[:5]]
        self.assertEqual(lines, [], what)

    def files(self, folder):
        yield from sorted((ROOT / "examples").glob("*.zst"))
        for number, options in enumerate(GENERATED):
            path = folder / f"generated{number}.pickle"
            subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", "-o", path, *options],
                           check=True)
            yield path
        if SHARED.is_dir():
            yield from sorted((SHARED / "snapshots").glob("*.zst"))
            yield from sorted((SHARED / "oracle" / "extra").glob("*.zst"))
            yield from sorted((SHARED / "oracle").glob("*__tight.pickle.zst"))

    def test_every_command_with_a_schema_on_every_file(self):
        with tempfile.TemporaryDirectory() as name:
            paths = list(self.files(pathlib.Path(name)))
            for command, takes in COMMANDS.items():
                if schema_of(command) is None:
                    continue
                checked = 0
                for path in paths:
                    answer = printed([command, "--json", *[path] * takes])
                    if answer is None:
                        continue  # nothing to say of such a file: an error, in words
                    with self.subTest(command=command, file=path.name):
                        self.check(command, answer, path.name)
                    checked += 1
                self.assertGreater(checked, len(paths) // 2, command)

    def test_golden_cases(self):
        checked = 0
        with tempfile.TemporaryDirectory() as folder:
            for file in sorted((ROOT / "tests" / "golden").glob("*.golden")):
                for case in golden.parse(file.read_text(encoding="utf-8"), file):
                    words = shlex.split(golden.value(case, "RUN"))
                    if len(words) < 2 or "--json" not in words or schema_of(words[1]) is None:
                        continue
                    with self.subTest(golden.value(case, "NAME")):
                        try:
                            _, out, _ = golden.run(case, BINARY, pathlib.Path(folder).resolve())
                        except golden.Skip:
                            continue
                        if out:
                            self.check(words[1], json.loads(out), golden.value(case, "NAME"))
                            checked += 1
        self.assertGreater(checked, 0)

    def test_parts_of_a_recording_and_several_files(self):
        path = ROOT / "examples" / "generated.pickle.zst"
        self.check("report", printed(["report", "--json", path, "--from", 10, "--to", 200]), "a range")
        self.check("report", printed(["report", "--json", path, path]), "two files")
        self.check("report", printed(["report", "--json", path, "--capacity", "80GiB"]), "a capacity")

    def test_a_snapshot_joined_with_a_recording(self):
        with tempfile.TemporaryDirectory() as folder:
            snapshot, recording = joined_pair.write(folder)
            answer = printed(["report", "--json", snapshot, "--with", recording])
            self.check("report", answer, "a snapshot with a recording")
            told = answer["outside"]["devices"][0]
            self.assertEqual([(m["at"], m["reserved_bytes"], m["outside_bytes"], m["difference_bytes"])
                              for m in told["moments"]],
                             [("peak", 60 << 20, 1000, 0), ("oom", 20 << 20, 6000, 0),
                              ("end", 20 << 20, 6000, 0)])
            for spoil in (lambda o: o.pop("match"), lambda o: o["devices"][0].update(more=1)):
                copy = json.loads(json.dumps(answer))
                spoil(copy["outside"])
                self.assertFalse(schema_of("report").is_valid(copy))

    def test_doctor_of_this_machine(self):
        done = subprocess.run([BINARY, "doctor", "--json"], capture_output=True, text=True,
                              timeout=300, check=False)
        if "record" not in subprocess.run([BINARY, "--help"], capture_output=True, text=True,
                                          check=True).stdout:
            self.skipTest("this program was built without the recorder (libbpf-dev, clang)")
        self.assertIn(done.returncode, (0, 4), done.stderr)
        answer = json.loads(done.stdout)
        self.check("doctor", answer, "this machine")
        self.assertEqual(done.returncode == 0, answer["can_record"])
        self.assertGreater(len(answer["machine"]), 3)

    def test_top_of_this_process(self):
        doctor = subprocess.run([BINARY, "doctor"], capture_output=True, text=True, timeout=300,
                                check=False)
        if doctor.returncode != 0:
            self.skipTest("this machine cannot record; tidegauge doctor says what is missing")
        answer = printed(["top", "--once", "--json", "-p", str(os.getpid())])
        self.check("top", answer, "this process")
        self.assertFalse(answer["incomplete"])

    def test_the_recorders_page_lists_the_keys_of_the_schemas(self):
        page = (ROOT / "docs" / "formats" / "json-recorder.md").read_text(encoding="utf-8")
        listed = set(re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE))
        keys = set()

        def walk(schema, root, path):
            if "$ref" in schema:
                schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
            for name, sub in schema.get("properties", {}).items():
                key = f"{path}.{name}" if path else name
                keys.add(key)
                walk(sub, root, key)
            if "items" in schema:
                walk(schema["items"], root, path + "[]")

        for command in ("doctor", "top"):
            schema = schema_of(command).schema
            walk(schema, schema, "")
        keys = {key for key in keys if not key.startswith("library_findings[]")}  # as machine[]
        self.assertEqual(listed, keys)

    def test_what_is_wrong_is_refused(self):
        answer = printed(["report", "--json", ROOT / "examples" / "generated.pickle.zst"])
        for spoil in (lambda a: a.pop("devices"), lambda a: a.update(more=1),
                      lambda a: a["devices"][0].update(events=-1),
                      lambda a: a["devices"][0]["growth"].update(verdict="maybe")):
            copy = json.loads(json.dumps(answer))
            spoil(copy)
            self.assertFalse(schema_of("report").is_valid(copy))


if __name__ == "__main__":
    unittest.main()
