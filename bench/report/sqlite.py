"""SQL on a snapshot against SQLite on the same tables, exported as CSV and loaded by Python's sqlite3.

The answers of both must be the same. SQLite has no index, as after any export; Tidegauge reads the snapshot in each
command, so what remains without reading is shown, too.
"""
import pathlib
import sqlite3
import sys

import measure
from table import Table, megabytes, seconds

SCRIPT = pathlib.Path(__file__).with_name("sqlite_tables.py")
NOISE_S = 0.01
PEAK = "(SELECT step FROM totals ORDER BY active_bytes DESC, step LIMIT 1)"
TOP = "GROUP BY stack_id ORDER BY bytes DESC, stack_id LIMIT 10"
HOLDERS = "SELECT stack_id, count(*), sum(block_bytes) AS bytes FROM"
# name: SQL, SQL of Tidegauge where it has a better way, whether it needs allocations
QUESTIONS = {
    "`count(*)`": ("SELECT count(*) FROM events", None, False),
    "`GROUP BY action`":
        ("SELECT action, count(*), sum(size_bytes) FROM events GROUP BY action ORDER BY action", None, False),
    "`ORDER BY size_bytes DESC LIMIT 9`":
        ("SELECT step, size_bytes FROM events ORDER BY size_bytes DESC, step LIMIT 9", None, False),
    "`max(active_bytes)`": ("SELECT max(active_bytes) FROM totals", None, True),
    "ten largest holders at the peak":
        (f"{HOLDERS} allocations, {PEAK} AS peak WHERE first_step <= peak.step AND last_step >= peak.step {TOP}",
         f"{HOLDERS} live_at(0, (SELECT peak_active_step FROM devices)) {TOP}", True),
    "allocations `GROUP BY stack_id`": (f"{HOLDERS} allocations {TOP}", None, True),
}


def above_noise(value_s):
    """The difference of two runs says nothing of less."""
    return seconds(value_s) if value_s >= NOISE_S else f"< {seconds(NOISE_S)}"


def script(*words, **more):
    return measure.cost(sys.executable, SCRIPT, *words, **more)


def measured(binary, folder, paths, runs):
    """`paths`: {events: file}."""
    table = Table("SQLite on the exported tables", "bench/report/run.py --only sqlite",
                  ["file", "query", f"SQLite {sqlite3.sqlite_version}", "tidegauge query FILE", "less reading"])
    start = script("ask", ":memory:", "SELECT 1")  # Python and its modules
    for events, path in paths.items():
        database = folder / f"{path.stem}.sqlite"
        loaded = script("load", binary, path, database)
        reading = {lives: measure.least(runs, binary, "query", path, f"SELECT count(*) FROM {rows}").processor_s
                   for lives, rows in ((False, "events"), (True, "allocations"))}
        table.add(path.name, "the tables: processor time; elapsed",
                  f"{seconds(loaded.processor_s)}; {seconds(loaded.wall_s)}",
                  f"{seconds(reading[False])}, with allocations {seconds(reading[True])}", "")
        table.add(path.name, "on disk", megabytes(database.stat().st_size), megabytes(path.stat().st_size), "")
        for name, (sql, better, lives) in QUESTIONS.items():
            words = [binary, "query", "--format", "csv", path, better or sql]
            theirs = min((script("ask", database, sql, keeps_output=True) for _ in range(min(runs, 2))),
                         key=lambda it: it.processor_s)
            ours = measure.cost(*words, keeps_output=True)
            if ours.output.split(b"\n", 1)[1].replace(b"\r", b"") != theirs.output:
                raise RuntimeError(f"{path}: {sql}: SQLite answers {theirs.output[:300]}, Tidegauge {ours.output[:300]}")
            ours = min(ours, measure.least(runs, *words), key=lambda it: it.processor_s)
            table.add(path.name, name, above_noise(theirs.processor_s - start.processor_s),
                      seconds(ours.processor_s), above_noise(ours.processor_s - reading[lives]))
        database.unlink()
    return table
