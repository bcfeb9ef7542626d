"""Public names that changed on purpose: the table "Renames" of CHANGELOG.md.

    | rename | kind | old | new |
    |---|---|---|---|
    | plain word | json | growth.verdict_told | verdict |
    | plain word | column | oom_verdicts.told_free_bytes | reported_free_bytes |

What the old binary says is translated by these rows before it is compared. Kinds:

    json        a key of any JSON answer: its name, or the end of its path (devices[].growth.basis)
    json-value  a word in JSON: path=word, then the new word (band=light)
    table       of SQL           function    of SQL that returns a table
    column      TABLE.COLUMN     sql-value   TABLE.COLUMN=word, then the new word
    metric      whole name       label       of metrics
    command     sub-command      option      --name, of any command
"""

import dataclasses
import pathlib
import re

KINDS = ("json", "json-value", "table", "function", "column", "sql-value", "metric", "label", "command",
         "option")
INDEX = re.compile(r"\[\d+\]")


@dataclasses.dataclass(frozen=True)
class Rename:
    kind: str
    old: str
    new: str


class Renames:
    def __init__(self, rows=()):
        self.rows = tuple(rows)
        self._keys = [row for row in self.rows if row.kind == "json"]
        self._words = [row for row in self.rows if row.kind == "json-value"]

    @classmethod
    def of_changelog(cls, path):
        """The rows of the file; none if there is no file. ValueError: a row is malformed."""
        if not pathlib.Path(path).exists():
            return cls()
        return cls(rows_of(pathlib.Path(path).read_text(encoding="utf-8")))

    def key(self, path, key):
        """The new name of a key of the object at `path`."""
        whole = f"{path}.{key}" if path else key
        for row in self._keys:
            if ends_path(whole, row.old):
                return row.new
        return key

    def word(self, path, word):
        """The new word for a value at `path`."""
        for row in self._words:
            where, _, old = row.old.rpartition("=")
            if old == word and ends_path(path, where):
                return row.new
        return word

    def name(self, kind, old):
        """The new name of a table, column ("TABLE.COLUMN" of the old names), command and so on."""
        for row in self.rows:
            if row.kind == kind and row.old == old:
                return row.new
        return old.rpartition(".")[2] if kind == "column" else old

    def sql_words(self, table, column):
        """[(old word, new word)] of a column, by its old names."""
        wanted = f"{table}.{column}="
        return [(row.old.removeprefix(wanted), row.new) for row in self.rows
                if row.kind == "sql-value" and row.old.startswith(wanted)]

    def in_metrics(self, text):
        """Prometheus' text with the new names of metrics and labels."""
        for row in self.rows:
            if row.kind == "metric":
                text = re.sub(rf"\b{re.escape(row.old)}\b", row.new, text)
            elif row.kind == "label":
                text = re.sub(rf"([{{,]){re.escape(row.old)}=", rf"\g<1>{row.new}=", text)
        return text

    def in_command(self, words):
        """The words of a command line as the new binary knows them."""
        renamed = [self.name("command", words[0])] if words else []
        for word in words[1:]:
            option, equals, value = word.partition("=")
            renamed.append(self.name("option", option) + equals + value
                           if word.startswith("-") else word)
        return renamed


def ends_path(path, end):
    """True if a path ends with the keys of `end`; indexes of lists do not matter."""
    path = INDEX.sub("[]", path)
    return path == end or path.endswith("." + end)


def rows_of(changelog):
    """The rows of every table under a heading "Renames"."""
    rows, inside = [], False
    for number, line in enumerate(changelog.splitlines(), 1):
        if line.startswith("#"):
            inside = line.lstrip("#").strip() == "Renames"
        cells = [cell.strip().strip("`") for cell in line.strip().strip("|").split("|")]
        if not inside or not line.startswith("|") or cells[0] == "rename" or set(line) <= set("|- :"):
            continue
        if len(cells) != 4 or cells[1] not in KINDS or not cells[2] or not cells[3]:
            raise ValueError(f"CHANGELOG.md:{number}: a row is | rename | kind | old | new | with one "
                             f"of the kinds {', '.join(KINDS)}: {line}")
        rows.append(Rename(*cells[1:]))
    return rows
