"""Metrics and the tables of a recording, by two programs of the tests; environment variables."""

import pathlib
import re
import sqlite3
import tempfile

from programs import ROOT, program, run

SOURCES = ("src", "preload", "injection")  # folders whose programs read environment variables


def metrics(options):
    text = run(program(options, "make_metrics"), "prometheus")
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    labels = {}
    for name, inside in re.findall(r"^(\w+)(?:\{(.*)\})? ", text, re.MULTILINE):
        labels.setdefault(name, set()).update(re.findall(r'(?:^|,)(\w+)="', inside))
    for name in sorted(kinds):
        its = sorted(labels.get(name, ()))
        yield f"{name}  {kinds[name]}" + (f"  {', '.join(its)}" if its else "")


def recording(options):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "recording.sqlite")
        run(program(options, "make_recording"), path, 1, 10)
        db = sqlite3.connect(path)
        for pragma in ("application_id", "user_version"):
            yield f"{pragma} {db.execute(f'PRAGMA {pragma}').fetchone()[0]}"
        names = db.execute("SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'view') "
                           "AND name NOT LIKE 'sqlite_%' ORDER BY type, name").fetchall()
        for kind, name, sql in names:
            ending = " ".join(sql.rsplit(")", 1)[1].split()).lower() if kind == "table" else ""
            yield f"{kind} {name}" + (f"  {ending}" if ending else "")
            for _, column, its_type, not_null, _, key in db.execute(f'PRAGMA table_info("{name}")'):
                words = [its_type, "not null" if not_null else "", f"primary key {key}" if key else ""]
                yield " ".join(filter(None, [f"{name}.{column}", *(words if kind == "table" else [])]))
        db.close()


def environment(_):
    texts = [path.read_text(encoding="utf-8") for folder in SOURCES
             for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".c", ".cpp", ".h")]
    found = set()
    for text in texts:
        for word in re.findall(r"\b(?:getenv\(|variableOf\([\w.]+, )([^)]+)\)", text):
            if word[0] == '"':
                found.add(word.strip('"'))
                continue
            # A constant of this file or of a header, or an array of names.
            name = word.split("::")[-1].split("[")[0]
            values = (re.search(rf'\b{name}\b[^;]*?= (\{{[^}}]*\}}|"\w+")', one) for one in (text, *texts))
            value = next(filter(None, values), None)
            found.update(re.findall(r'"(\w+)"', value[1]) if value else {f"(the constant {word})"})
    yield from sorted(found)
