#!/usr/bin/env python3
"""Every number in `report` is what the SQL beside it gives.

* Text: after a sentence or a table comes "› View · SELECT …;". The statement is run, and every number
  of the lines above it must be in the result: as it is, in thousands, or as a size.
* JSON: an object with "sql" equals the first row in every key that is a column as well; "X_sql" beside
  a list X gives its objects, row by row. Exact.

    TIDEGAUGE_BINARY=build/dev/tidegauge tests/real/report_sql_test.py

Files: examples, generated ones, and the shared real ones if they are there.
"""
import decimal
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared")) / "data"
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
GENERATED = {
    "leak": ["--workload", "train", "--leak", "1MiB", "--events", "6000", "--annotations"],
    "sawtooth": ["--workload", "sawtooth", "--leak", "64KiB", "--events", "6000"],
    "oom": ["--oom", "3", "--events", "3000", "--annotations", "--capacity", "2GiB"],
    "midrun": ["--shape", "midrun", "--events", "3000", "--devices", "2"],
    "overflow": ["--shape", "overflow", "--events", "3000", "--streams", "3", "--pools", "2"],
    "no_stacks": ["--stacks", "0", "--events", "1000"],
}
UNITS = ["B", "KiB", "MiB", "GiB", "TiB"]
NUMBER = re.compile(r"(?<![\w.,:#/<>-])[−+]?\d+(?:,\d{3})*(?:\.\d+)?(?: (?:B|KiB|MiB|GiB|TiB|%))?(?!\w|,\d{3}|:\d|/)")


def run(*arguments):
    done = subprocess.run([BINARY, *map(str, arguments)], capture_output=True, text=True,
                          timeout=300, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{arguments}: exit code {done.returncode}: {done.stderr}")
    return done.stdout


class Database:
    def __init__(self, path, *more):
        """`more` options choose the process of a recording: --pid 41."""
        self.path, self.more, self.kept = path, more, {}

    def __call__(self, sql):
        """(columns, rows)"""
        if sql not in self.kept:
            rows = json.loads(run("query", self.path, sql, "--format", "json", *self.more))
            columns = list(rows[0]) if rows else []
            self.kept[sql] = (columns, [list(row.values()) for row in rows])
        return self.kept[sql]


# ---- text ---------------------------------------------------------------------------------------

def in_unit(size, unit):
    """As base::humanBytes writes it."""
    power = UNITS.index(unit)
    if power == 0:
        return f"{size:,} B"
    value = decimal.Decimal(size) / 1024 ** power
    digits = 2 if power >= 3 else 1 if value < 100 else 0
    rounded = value.quantize(decimal.Decimal(1).scaleb(-digits), decimal.ROUND_HALF_UP)
    return f"{rounded:,} {unit}"


def forms(value):
    """How a number may stand in a text."""
    if isinstance(value, str):
        return {value, *NUMBER.findall(value)}
    if value is None:
        return {"–"}
    texts = {str(value)}
    if abs(value) < 1000 or isinstance(value, float):  # JSON writes 1.0 as 1
        texts |= {f"{value:.1f}", f"{value:.3f}", f"{value:,.0f}", f"{100 * value:.1f} %"}
        value = round(value)
    sign = "−" if value < 0 else ""
    texts |= {f"{value:,}", f"{sign}{abs(value):,}", f"{sign}{abs(value)}"}
    for unit in UNITS:
        size = in_unit(abs(value), unit)
        texts |= {sign + size, "+" + size if value > 0 else size}
    if value == 1:
        texts.add("one")
    return texts


def allowed_by(columns, rows):
    """The values, how many rows, and the sums of all rows and of all but the first few."""
    allowed = {form for row in rows for value in row for form in forms(value)} | forms(len(rows))
    for at in range(len(columns)):
        total = 0
        for left, row in enumerate(reversed(rows), 1):
            if isinstance(row[at], str) or row[at] is None or left > 10_000:
                break
            total += row[at]
            allowed |= forms(total) | forms(left)
    return allowed


def without_names(line):
    """Numbers of file names, stacks, phases and versions are no numbers of the report."""
    line = re.sub(r"\S*…\S*", "", line)  # names are cut in their middle, numbers never
    line = re.sub(r"\S+:\d+ \S+( \([^)]*\))?", "", line)
    return re.sub(r"\S*#\S*|\(stack \d+\)|cuda:\d+|^pid \d+|PyTorch \d+\.\d+|\(90 % confidence: |\bwithin 1 later", "", line)


def numbers(line):
    return [text.strip() for text in NUMBER.findall(without_names(line))]


def statements(text):
    """(lines above, SQL) of each piece of evidence; wrapped lines are joined."""
    lines, above, found = text.splitlines(), [], []
    at = 0
    while at < len(lines):
        if not lines[at].lstrip().startswith("› ") or "tidegauge query FILE" in lines[at]:
            above.append(lines[at])
            at += 1
            continue
        evidence = lines[at].strip()
        while not evidence.endswith(";"):
            at += 1
            evidence += " " + lines[at].strip()
        at += 1
        found.append((above, evidence.split(" · ", 1)[1].rstrip(";")))
        above = []
    return found, above


class Report(unittest.TestCase):
    maxDiff = None

    def check_text(self, database, *options):
        text = run("report", database.path, *database.more, *options)
        found, rest = statements(text)
        self.assertGreater(len(found), 0)
        for lines, sql in found:
            allowed = allowed_by(*database(sql))
            for line in [" ".join(each.strip() for each in lines)]:  # what was wrapped is one again
                for number in numbers(line):
                    self.assertTrue(number in allowed or number.lstrip("+") in allowed,
                                    f"{number!r} of {line!r} is not in the result of {sql}: "
                                    f"{database(sql)[1][:3]}")
        self.assertEqual([n for line in rest for n in numbers(line)], [], "numbers without SQL")

    # ---- JSON -----------------------------------------------------------------------------------

    def equal_to_row(self, value, columns, row, sql):
        shared = [key for key in value if key in columns]
        self.assertTrue(shared, f"{sql} gives none of {sorted(value)}")
        for key in shared:
            got = row[columns.index(key)]
            if isinstance(value[key], bool):
                got = bool(got)
            self.assertEqual(value[key], got, f"{key}: {sql}")

    def check_json(self, database, value):
        """The number of statements that were run."""
        count = 0
        if isinstance(value, list):
            return sum(self.check_json(database, item) for item in value)
        if not isinstance(value, dict):
            return 0
        for key, item in value.items():
            count += self.check_json(database, item)
            if key == "sql" and item and "text" in value:  # a sentence
                allowed = allowed_by(*database(item))
                for number in numbers(value["text"]):
                    self.assertTrue(number in allowed or number.lstrip("+") in allowed,
                                    f"{number!r} of {value['text']!r}: {item}: {database(item)[1][:3]}")
                count += 1
            elif key == "sql" and item:
                columns, rows = database(item)
                self.assertGreaterEqual(len(rows), 1, item)
                self.equal_to_row(value, columns, rows[0], item)
                count += 1
            elif key.endswith("_sql"):
                columns, rows = database(item)
                objects = value[key.removesuffix("_sql")]
                self.assertEqual(len(objects), len(rows), item)
                for each, row in zip(objects, rows):
                    self.equal_to_row(each, columns, row, item)
                count += 1
        return count

    def check(self, path, *more):
        database = Database(path, *more)
        self.check_text(database)
        report = json.loads(run("report", path, "--json", *more))
        self.assertGreater(self.check_json(database, report), 0)
        for device in report.get("devices", []):
            if device["events"] < 10:
                continue
            ends = ["--device", device["device"], "--from", device["events"] // 3, "--to",
                    device["events"] // 2]
            self.check_text(database, *ends)
            self.check_json(database, json.loads(run("report", path, "--json", *more, *ends)))

    def test_examples(self):
        for path in sorted((ROOT / "examples").glob("*.zst")):
            with self.subTest(path.name):
                self.check(path)

    def test_generated_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, options in GENERATED.items():
                with self.subTest(name):
                    path = pathlib.Path(folder, name + ".pickle")
                    subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", "-o", path,
                                    *options], check=True)
                    self.check(path)
                    for capacity in ("80GiB", "64MiB"):  # the second is less than there was
                        told = ["--capacity", capacity]
                        database = Database(path)
                        self.check_text(database, *told)
                        self.check_json(database,
                                        json.loads(run("report", path, "--json", *told)))

    def test_real_files(self):
        if not SHARED.is_dir():
            self.skipTest(f"no real snapshots at {SHARED} (set TIDEGAUGE_SHARED)")
        paths = sorted((SHARED / "snapshots").glob("*.zst"))
        paths += sorted((SHARED / "oracle").glob("*__tight.pickle.zst"))
        paths += [*sorted((SHARED / "oracle").glob("F_oom*")), *sorted((SHARED / "oracle/extra").glob("*"))]
        for path in paths:
            if path.suffix == ".zst":
                with self.subTest(path.name):
                    self.check(path)


if __name__ == "__main__":
    unittest.main()
