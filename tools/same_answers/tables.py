"""Every row of every SQL table: columns, number of rows, and a hash of all rows, for both binaries.

One query of a file asks for all tables at once, so that the file is read once:

    SELECT 'file' AS t, "name" AS c0, …, NULL AS c29 FROM "file" UNION ALL SELECT 'devices', …

A row is a line of its JSON and begins with the name of its table. Tables and functions are those
that the binary lists (`query --print-docs`). A table whose hash differs is asked for again, to show
the rows that differ.
"""

import dataclasses
import hashlib
import itertools
import json
import re
import subprocess
import tempfile

import tree

PAGES = ("sql", "sql-recordings", "sql-functions")
HEADING = re.compile(r"^(##+) `?(\w+)(?:\((.*?)\))?`?$")
ROW = re.compile(r"^\| (\w+) \| (\w+) \| ?(.*?) ?\|$")
HIDDEN = "not part of SELECT *"
# The SQL that each parameter of a table function gets.
ARGUMENTS = {"device": "d.device", "step": "coalesce(d.peak_active_step, 0)",
             "first_step": "10", "last_step": "max(d.events - 10, 10)",
             "capacity_bytes": "85899345920"}
LINE_HEAD = re.compile(rb'^  \{"t": "([^"]*)"')


@dataclasses.dataclass(frozen=True)
class Source:
    """A table, or a function that returns one, as a binary documents it."""

    name: str
    parameters: tuple  # None: a table
    columns: tuple

    @property
    def label(self):
        return self.name if self.parameters is None else f"{self.name}({', '.join(self.parameters)})"

    def selection(self):
        """The FROM clause; None: the value of a parameter is not known."""
        if self.parameters is None:
            return f'"{self.name}"'
        if any(name not in ARGUMENTS for name in self.parameters):
            return None
        arguments = ", ".join(ARGUMENTS[name] for name in self.parameters)
        return f'devices AS d, "{self.name}"({arguments}) AS f'


def documented(text):
    """[Source] of a page in Markdown: a heading per table, a row per column."""
    sources, name, parameters, columns = [], None, None, []

    def close():
        if name and columns:
            sources.append(Source(name, parameters, tuple(columns)))

    for line in text.splitlines():
        heading, row = HEADING.match(line), ROW.match(line)
        if heading or line.startswith("## "):
            close()
            name, columns = (heading[2], []) if heading else (None, [])
            arguments = heading[3] if heading else None
            parameters = None if arguments is None else tuple(filter(None, arguments.split(", ")))
        elif row and name and row[1] != "column" and HIDDEN not in row[3]:
            columns.append(row[1])
    close()
    return sources


def sources_of(pair, number):
    found = []
    for page in PAGES:
        answer = pair.run_one(number, ["query", "--print-docs", page])
        if answer and answer.code == 0:
            found += documented(answer.out.decode())
    return found


class Tables:
    def __init__(self, pair, rules):
        self.pair, self.rules = pair, rules
        renames = rules.renames
        self.old, self.new = sources_of(pair, 0), sources_of(pair, 1)
        by_name = {source.name: source for source in self.new}
        self.matched = []  # (old, new) with the same columns but for their names
        self.schema_places = []
        for source in self.old:
            kind = "table" if source.parameters is None else "function"
            name = renames.name(kind, source.name)
            columns = tuple(renames.name("column", f"{source.name}.{column}") for column in source.columns)
            other = by_name.pop(name, None)
            if other is None:
                self.schema_places.append((source.label, "there", "not there"))
            elif other.columns != columns:
                self.schema_places.append((source.label, ", ".join(columns), ", ".join(other.columns)))
            else:
                self.matched.append((source, other))
        self.schema_places += [(source.label, "not there", "there") for source in by_name.values()]

    def compare(self, file, more=()):
        """([(table, places or None)], refusals) of a file; None: equal. Places as in judge.py.

        `refusals`: what each binary said where at least one gave no rows, else None."""
        hashes = [self._hashes(number, file, more) for number in range(2)]
        if any(isinstance(one, str) for one in hashes):
            return [], [one if isinstance(one, str) else "rows" for one in hashes]
        if hashes[0] == hashes[1]:
            return [(old.label, None) for old, _ in self.matched if old.selection()], None
        results = []
        for old, new in self.matched:
            before, after = (one.get(old.name, (0, "")) for one in hashes)
            same = before == after or not (places := self._rows_that_differ(file, more, old, new))
            results.append((old.label, None if same else places))
        return results, None

    def _hashes(self, number, file, more):
        """{table: (rows, hash)}, or what the binary said instead."""
        words = ["query", file, self._sql(number), "--format", "json", "--timeout",
                 str(self.pair.limit_s), *more]
        sums = {}
        with tempfile.TemporaryFile() as errors:
            process = self.pair.start(number, self.pair.words(words)[number], stdout=subprocess.PIPE,
                                      stderr=errors)
            for line in process.stdout:
                head = LINE_HEAD.match(line)
                if head:
                    entry = sums.setdefault(head[1].decode(), [0, hashlib.blake2b(digest_size=16)])
                    entry[0] += 1
                    entry[1].update(line.rstrip(b",\n") + b"\n")
            code = process.wait()
            errors.seek(0)
            if code != 0:
                return f"exit code {code}: {errors.read(300).decode(errors='replace').strip()}"
        return {name: (rows, digest.hexdigest()) for name, (rows, digest) in sums.items()}

    def _sql(self, number):
        width = max(len(pair[0].columns) for pair in self.matched)
        selects = []
        for old, new in self.matched:
            selection = (old, new)[number].selection()
            if selection is None:
                continue
            columns = self._columns(number, old, new)
            columns += ["NULL"] * (width - len(columns))
            # Names of columns come from the first.
            named = ", ".join(f"{column} AS c{i}" for i, column in enumerate(columns))
            selects.append(f"SELECT '{old.name}' AS t, {named} FROM {selection}")
        return " UNION ALL ".join(selects)

    def _columns(self, number, old, new):
        """Expressions of the columns; of the old binary with new words in place of the old."""
        prefix = "" if old.parameters is None else "f."
        source = (old, new)[number]
        expressions = []
        for before, column in zip(old.columns, source.columns):
            expression = f'{prefix}"{column}"'
            for word, replaced in self.rules.renames.sql_words(old.name, before) if number == 0 else []:
                expression = f"iif({prefix}\"{column}\" = '{word}', '{replaced}', {expression})"
            expressions.append(expression)
        return expressions

    def _rows_that_differ(self, file, more, old, new, most=3):
        """The first rows that are not the same."""
        answers = []
        for number in range(2):
            columns = ", ".join(f'{expression} AS "{name}"' for expression, name in
                                zip(self._columns(number, old, new), new.columns))
            sql = f"SELECT {columns} FROM {(old, new)[number].selection()}"
            words = ["query", file, sql, "--format", "json", *more]
            answer = self.pair.run_one(number, self.pair.words(words)[number])
            answers.append(answer.out.splitlines() if answer else [])
        places = []
        for row, (a, b) in enumerate(itertools.zip_longest(*answers), -1):
            if a != b and (a or b or b"").strip(b",") != (b or b"").strip(b","):
                places += _row_places(row, a, b, self.rules)
            if len(places) >= most:
                break
        return places


def _row_places(row, old, new, rules):
    try:
        before, after = (tree.parse(line.strip(b", ")) for line in (old, new))
    except (ValueError, AttributeError):
        return [(f"row {row:,}", *("(no such row)" if line in (None, b"]") else
                                   json.dumps(line.decode(errors="replace"), ensure_ascii=False)[:160]
                                   for line in (old, new)))]
    return [(f"row {row:,}, {path}", a, b) for path, a, b in tree.differences(before, after, rules)]
