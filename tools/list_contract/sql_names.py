"""SQL tables, columns and functions, as `query --print-docs` writes them."""

import re

from programs import run

PAGES = ("sql", "sql-recordings", "sql-functions")


def sql_tables(options):
    for page in PAGES:
        name = None
        for line in run(options.binary, "query", "--print-docs", page).splitlines():
            heading = re.match(r"^##+ `?(\w+(?:\(.*\))?)`?$", line)
            row = re.match(r"^\| (\w+) \| (\w+) \|", line)
            if line.startswith("#"):
                name = heading[1] if heading else None
            elif name and row and row[1] != "column":
                yield f"{name}.{row[1]}  {row[2]}"


def sql_functions(options):
    text = run(options.binary, "query", "--print-docs", "sql")
    for signature, doc in re.findall(r"^\| `(\w+\(.*?\))` \| (.*?) \|$", text, re.MULTILINE):
        yield signature + ("  table" if doc.startswith("table:") else "")
