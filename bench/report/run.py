#!/usr/bin/env python3
"""Repeats the measurements of docs/performance.md and writes their tables into it.

    ./dev bench --report              builds, measures (some 15 minutes), writes
    ./dev bench --report --large      also a file of 50 M events (5 GB)
    bench/report/run.py --binary build/bench/tidegauge --bench build/bench/bench --data build/bench/data --print

Times are of the processor where nothing else is said. Each table names the command that repeats it alone.
"""
import argparse
import pathlib
import sys

import commands
import files
import google
import growth
import machine
import reading
import section

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"


def tables(options):
    """One after the other, as they are measured."""
    largest = max(options.sizes)

    def wanted(name):
        return not options.only or name in options.only

    path = files.path_of(options.data, largest) if any(map(wanted, ("reading", "commands", *google.PROGRAMS))) else None
    if wanted("reading") and (options.bench / "reader_bench").exists():
        yield reading.measured(options.bench / "reader_bench", path)
    if wanted("commands"):
        yield commands.measured(options.binary, path, options.runs)
    if wanted("what_if"):
        events = min(largest, 1_000_000)
        yield commands.what_if(options.binary, files.path_of(options.data, events), events, options.runs)
    for program in google.PROGRAMS:
        if wanted(program) and (options.bench / program).exists():
            yield google.measured(options.bench, program, path, largest, options.min_time)
    if wanted("growth"):
        sizes = options.sizes + (list(growth.LARGE) if options.large else [])
        yield growth.measured(options.binary, options.data, sizes, options.runs)


def command(options):
    """What repeats this run."""
    words = ["bench/report/run.py", "--sizes", *map(str, options.sizes), "--runs", str(options.runs)]
    words += ["--large"] if options.large else []
    for part in options.only or []:
        words += ["--only", part]
    return " ".join(words)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=pathlib.Path, default=ROOT / "build/bench/tidegauge")
    parser.add_argument("--bench", type=pathlib.Path, default=ROOT / "build/bench/bench", help="folder of programs")
    parser.add_argument("--data", type=pathlib.Path, default=ROOT / "build/bench/data", help="folder of generated files")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(growth.SIZES), metavar="EVENTS")
    parser.add_argument("--large", action="store_true", help="also 50 M events")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--min-time", type=float, default=0.2, help="seconds per benchmark of google-benchmark")
    parser.add_argument("--only", action="append", metavar="PART",
                        help="reading, commands, what_if, growth, or a program; repeatable")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE, help="the page whose section is written")
    parser.add_argument("--print", action="store_true", dest="only_print", help="writes to standard output instead")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    options.data.mkdir(parents=True, exist_ok=True)
    parts = [f"{machine.sentence()}\n", f"```sh\n{command(options)}\n```\n"]
    for table in tables(options):
        print(f"measured: {table.heading}", file=sys.stderr)
        parts.append(table.markdown())
    text = "\n".join(parts)
    if options.only_print:
        print(text)
    else:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(section.replaced(page, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
