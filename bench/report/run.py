#!/usr/bin/env python3
"""Repeats the measurements of docs/performance.md and writes their tables into docs/performance-tables.md.

    ./dev bench --report              builds, measures, writes
    ./dev bench --report --large      also a file of 55 M events (5 GB)
    ./dev bench --report --resume     measures only what this program was not measured for
    bench/report/run.py --binary build/bench/tidegauge --bench build/bench/bench --data build/bench/data --print

Times are of the processor where nothing else is said. Each table names the command that repeats it alone. What a
section lacks is said, and the section is left as it was.
"""
import argparse
import os
import pathlib
import shutil
import sys
import time

import answers
import archives
import browser
import commands
import files
import google
import growth
import kept
import machine
import memory_viz
import reading
import section
import small_machine
import sqlite

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance-tables.md"
MANY = 1_000_000


class Lacks(Exception):
    """What a section needs and does not have."""


def need(fulfilled, what):
    if not fulfilled:
        raise Lacks(what)


class Sections:
    """One method for each: it measures, and returns tables."""

    def __init__(self, options):
        self.options = options

    def path(self, events):
        return files.path_of(self.options.data, events)

    def largest(self):
        return self.path(max(self.options.sizes))

    def some(self, *wanted):
        """Of these sizes, those that are measured at all; else the largest."""
        sizes = [size for size in wanted if size in self.options.sizes] or [max(self.options.sizes)]
        return {size: self.path(size) for size in sizes}

    def viz(self):
        need((self.options.memory_viz / "MemoryViz.js").exists(), "bench/report/get_memory_viz.sh build/bench/memory_viz")
        return self.options.memory_viz

    def reading(self):
        need((self.options.bench / "reader_bench").exists(), "the programs of bench/")
        return [reading.measured(self.options.bench / "reader_bench", self.largest())]

    def commands(self):
        return [commands.measured(self.options.binary, self.largest(), self.options.runs)]

    def what_if(self):
        events = min(max(self.options.sizes), MANY)
        return [commands.what_if(self.options.binary, self.path(events), events, self.options.runs)]

    def memory_viz(self):
        script = memory_viz.script_in(self.options.memory_viz)
        need(script, "bench/report/get_memory_viz.sh build/bench/memory_viz")
        paths = self.some(MANY, 10 * MANY)
        return [memory_viz.measured(self.options.binary, self.options.data, script, paths)]

    def browser(self):
        need(shutil.which("node") and (ROOT / "web/node_modules").exists(), "Node.js and the packages of web/")
        paths = self.some(10_000, 100_000, MANY, 10 * MANY)
        return [browser.measured(self.options.binary, self.options.data, self.viz(), paths)]

    def sqlite(self):
        return [sqlite.measured(self.options.binary, self.options.data, self.some(MANY, 10 * MANY), self.options.runs)]

    def archives(self):
        need(shutil.which("zstd"), "zstd")
        return [archives.measured(self.options.binary, self.options.data, self.largest())]

    def answers(self):
        return [answers.measured(self.options.binary, self.largest(), self.options.runs)]

    def google(self, program):
        need((self.options.bench / program).exists(), "the programs of bench/")
        path = self.largest()
        return [google.measured(self.options.bench, program, path, max(self.options.sizes), self.options.min_time)]

    def growth(self):
        sizes = self.options.sizes + ([growth.LARGE] if self.options.large else [])
        return growth.measured(self.options.binary, self.options.data, sizes, self.options.runs)

    def small_machine(self):
        need(self.options.large, "--large")
        need(os.geteuid() == 0, "root, for a group with a limit")
        return [small_machine.measured(self.options.binary, self.path(growth.LARGE))]


# in the order of the page
NAMES = ("reading", "memory_viz", "browser", "commands", "sqlite", "what_if", "answers", *google.PROGRAMS, "archives", "growth",
         "small_machine")


def tables_of(sections, name):
    return sections.google(name) if name in google.PROGRAMS else getattr(sections, name)()


def measure_all(options, store):
    sections = Sections(options)
    for name in options.only or NAMES:
        if options.resume and store.has(name):
            continue
        began = time.monotonic()
        try:
            store.put(name, tables_of(sections, name))
            print(f"{name}: measured in {time.monotonic() - began:.0f} s", file=sys.stderr)
        except Lacks as lack:
            print(f"{name}: left out; it needs {lack}", file=sys.stderr)


def command(options):
    """What repeats all tables with these options, also where only one was measured now."""
    words = ["bench/report/run.py", "--sizes", *map(str, options.sizes), "--runs", str(options.runs)]
    words += ["--large"] if options.large else []
    return " ".join(words)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    build = ROOT / "build" / "bench"
    parser.add_argument("--binary", type=pathlib.Path, default=build / "tidegauge")
    parser.add_argument("--bench", type=pathlib.Path, default=build / "bench", help="folder of programs")
    parser.add_argument("--data", type=pathlib.Path, default=build / "data", help="folder of generated files and results")
    parser.add_argument("--memory-viz", type=pathlib.Path, default=build / "memory_viz", help="of get_memory_viz.sh")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(growth.SIZES), metavar="EVENTS")
    parser.add_argument("--large", action="store_true", help="also 55 M events")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--min-time", type=float, default=0.2, help="seconds per benchmark of google-benchmark")
    parser.add_argument("--only", action="append", choices=NAMES, metavar="PART",
                        help=f"{', '.join(NAMES)}; repeatable. The other tables stay as they are")
    parser.add_argument("--resume", action="store_true", help="keeps what this program was measured for already")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE, help="the page whose section is written")
    parser.add_argument("--print", action="store_true", dest="only_print", help="writes to standard output instead")
    return parser.parse_args(arguments)


def key_of(options):
    """The program by its time and size, and what changes a table."""
    status = options.binary.stat()
    return [status.st_mtime_ns, status.st_size, options.sizes, options.large, options.runs, options.min_time]


def main(arguments=None):
    options = parsed(arguments)
    options.data.mkdir(parents=True, exist_ok=True)
    store = kept.Kept(options.data / "measured", key_of(options), machine.stamp())
    parts = [f"{machine.sentence()}\n", f"```sh\n{command(options)}\n```\n"]
    measure_all(options, store)
    parts += filter(None, map(store.text, NAMES))
    text = "\n".join(parts)
    if options.only_print:
        print(text)
    else:
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(section.replaced(page, text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
