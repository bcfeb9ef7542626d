"""Loads tables that Tidegauge wrote as CSV into a database, or asks it: the side of SQLite, in a process of its own.

    sqlite_tables.py load BINARY FILE.pickle FILE.sqlite
    sqlite_tables.py ask FILE.sqlite SQL          prints the rows as CSV
"""
import csv
import pathlib
import sqlite3
import subprocess
import sys

# table: columns
TABLES = {
    "events": "step INTEGER, action TEXT, address INTEGER, size_bytes INTEGER, stream INTEGER, stack_id INTEGER",
    "totals": "step INTEGER, requested_bytes INTEGER, active_bytes INTEGER, reserved_bytes INTEGER",
    "allocations": "id INTEGER, requested_bytes INTEGER, block_bytes INTEGER, stack_id INTEGER, first_step INTEGER, "
                   "last_step INTEGER",
}


def load(binary, path, database):
    pathlib.Path(database).unlink(missing_ok=True)
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    for table, columns in TABLES.items():
        names = ", ".join(column.split()[0] for column in columns.split(", "))
        connection.execute(f"CREATE TABLE {table} ({columns})")
        with subprocess.Popen([binary, "query", "--format", "csv", "--timeout", "600", path, f"SELECT {names} FROM {table}"],
                              stdout=subprocess.PIPE, text=True, encoding="utf-8") as process:
            rows = csv.reader(process.stdout)
            next(rows)
            connection.execute("BEGIN")
            marks = ", ".join("?" * len(columns.split(", ")))
            connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
            connection.execute("COMMIT")
        if process.returncode != 0:
            sys.exit(f"exporting {table}: exit code {process.returncode}")
    connection.close()


def ask(database, sql):
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerows(sqlite3.connect(f"file:{database}?mode=ro", uri=True).execute(sql))


if __name__ == "__main__":
    {"load": load, "ask": ask}[sys.argv[1]](*sys.argv[2:])
