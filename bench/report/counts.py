#!/usr/bin/env python3
"""Instructions per event of reading a file, counted by valgrind: the same on every machine with the same compiler.

    bench/report/counts.py --binary build/dev-live/tidegauge            prints them
    bench/report/counts.py --binary build/dev-live/tidegauge --update   writes counts.json

Counted: `query FILE "SELECT count(*) FROM events"` on two generated files; the difference of the two, by the
difference of their events, is free of the start of the program.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import files

FILE = pathlib.Path(__file__).with_name("counts.json")
SMALL, LARGE = 2_000, 22_000
SQL = "SELECT count(*) FROM events"


def instructions(binary, path, scratch):
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={scratch}/callgrind.out", binary,
                           "query", path, SQL], capture_output=True, text=True, check=False)
    counted = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or counted is None:
        raise RuntimeError(f"valgrind: exit code {done.returncode}: {done.stderr[-400:]}")
    return int(counted[1])


def per_event(binary):
    with tempfile.TemporaryDirectory() as scratch:
        small, large = (instructions(binary, files.path_of(scratch, events), scratch) for events in (SMALL, LARGE))
    return (large - small) / (LARGE - SMALL)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    counted = {"query_instructions_per_event": round(per_event(options.binary), 1)}
    print(json.dumps(counted))
    if options.update:
        kept = json.loads(FILE.read_text(encoding="utf-8"))
        FILE.write_text(json.dumps({**kept, **counted}, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
