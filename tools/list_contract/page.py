"""docs/contract.md: its sections, how they are put together, and how two pages differ."""

import difflib
import re

import command_names
import json_names
import recorded_names
import sql_names
from programs import Missing

INTRODUCTION = """# The contract: every public name

Programs of users rely on these names: options, exit codes, SQL, JSON keys, metrics, environment
variables, and the tables of a recording. A name on this page is not renamed or removed without a row
in the table of renames in [CHANGELOG.md](../CHANGELOG.md). New names may be added.

`tools/list_contract` writes this page, and a test compares it with the program. Each section links to
the pages that explain its names.
"""

SECTIONS = (
    ("Commands and options", "`tidegauge COMMAND --help` explains them.", command_names.commands),
    ("Exit codes", "All commands use these.", command_names.exit_codes),
    ("SQL: tables and columns", "[sql.md](use/sql.md), [sql-recordings.md](use/sql-recordings.md), "
                                "[sql-functions.md](use/sql-functions.md).", sql_names.sql_tables),
    ("SQL: functions", "[sql.md](use/sql.md). SQLite's own come with them.", sql_names.sql_functions),
    ("JSON: keys and closed lists of words", "[json.md](formats/json.md) and its like; `schema/` has the types.",
     json_names.json_keys),
    ("JSON of wss", "[working-set.md](measure/working-set.md). For one process, and for several; `--rolling`, "
     "`--writes` and other back-ends add keys of their own.", json_names.working_set_keys),
    ("Metrics and their labels", "[monitoring.md](record/monitoring.md).", recorded_names.metrics),
    ("A recording", "[formats/recording.md](formats/recording.md).", recorded_names.recording),
    ("Environment variables", "The programs read these.", recorded_names.environment),
)


def section_text(title, words, lines):
    return f"## {title}\n\n{words}\n\n```text\n" + "".join(f"{line}\n" for line in lines) + "```\n"


def sections_of(page):
    """{title: text} of a page as it stands."""
    return {text.split("\n", 1)[0].removeprefix("## "): text.rstrip() + "\n"
            for text in re.split(r"^(?=## )", page, flags=re.MULTILINE)[1:]}


def made_page(options, before, sections=SECTIONS):
    """(the page, reasons why sections were left as they stood)."""
    old, texts, left = sections_of(before), [INTRODUCTION], []
    for title, words, make in sections:
        try:
            texts.append(section_text(title, words, list(make(options))))
        except Missing as reason:
            left.append(f"{title}: {reason}")
            texts.append(old.get(title, section_text(title, words, [])))
    return "\n".join(texts), left


def difference(before, after):
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), "docs/contract.md",
                                 "what the program has now", n=1, lineterm="")
    return "\n".join(lines)
