"""Compares what two builds of tidegauge answer, byte for byte: nothing may change by accident.

    python3 tools/same_answers OLD NEW                 all of it, some two minutes on two cores
    python3 tools/same_answers OLD NEW --quick         examples and recordings: half a minute
    python3 tools/same_answers OLD NEW --files FILE…   these snapshots only
    python3 tools/same_answers OLD NEW --words         texts were reworded: compare their numbers
    python3 tools/same_answers OLD NEW --metrics OLD_PROGRAM NEW_PROGRAM
    python3 tools/same_answers --self-test             proves that a difference is found

It asks report, frag, diff, whatif and wss (JSON and text), every row of every SQL table, the server
of view, and make_metrics of the tests. Files: examples/, ../shared/data, three recordings, and files
of `wss -o`. Names that changed on purpose are rows of the table "Renames" in CHANGELOG.md; what
differs between two runs of one binary is listed in masks.py. `wss` of a running process is compared
by its keys. Exit code: 0 equal, 1 something differs, 2 it could not run.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import cases
import inputs
import metrics
import recordings
import runner
import tally
from comparison import Comparison
from renames import Renames

KINDS = ("commands", "live", "query", "server", "metrics")
WIDE = 400  # columns


def main():
    options = _options()
    if options.self_test:
        import self_test
        self_test.run()
        return 0
    began = time.monotonic()
    try:
        renames = Renames.of_changelog(options.changelog)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    found = tally.Tally()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pair = runner.Pair(options.old, options.new, renames, options.limit,
                           WIDE if options.words else 100)
        if not _both_run(pair):
            return 2
        files = (inputs.Inputs.of_files(options.files, folder) if options.files
                 else inputs.Inputs(options.quick, folder))
        taken, joined = _recordings(options, folder, found)
        for reason in files.skips:
            found.skipped(reason)
        comparison = Comparison(pair, renames, options, found, folder)
        if "commands" in options.only:
            asked = cases.command_cases(files, taken, joined)
            # --help may be rewritten as a whole; docs/contract.md has its options.
            comparison.commands([case for case in asked
                                 if not (options.words and case.kind == "help")])
        if "live" in options.only:
            comparison.live()
        if "query" in options.only:
            comparison.query(files.snapshots, taken)
        if "server" in options.only:
            comparison.server([*files.some, *taken, *files.working_sets])
        if "metrics" in options.only:
            if options.metrics:
                metrics.compare(options.metrics, taken, renames, options.words, found, options.limit)
            else:
                found.skipped("metrics: --metrics names two builds of make_metrics")
    found.print()
    print(f"{'different' if found.any_different else 'the same'}, "
          f"in {time.monotonic() - began:.0f} s")
    return 1 if found.any_different else 0


def _recordings(options, folder, found):
    """([recording], (snapshot, recording) or None)."""
    taken, joined = [], None
    if options.files:
        return taken, joined
    beside = pathlib.Path(options.new).resolve().parent / "tests" / "make_recording"
    try:
        if options.recordings:
            taken = recordings.given(options.recordings)
        elif options.make or beside.exists():
            taken = recordings.make(folder, options.make or beside)
        else:
            found.skipped(f"recordings: --recordings or --make; there is no {beside}")
    except recordings.Unavailable as error:
        found.skipped(str(error))
    try:
        joined = recordings.joined(folder)
        taken.append(joined[1])
    except recordings.Unavailable as error:
        found.skipped(str(error))
    return taken, joined


def _both_run(pair):
    for number, binary in enumerate(pair.binaries):
        try:
            answer = pair.run_one(number, ["--version"])
        except OSError as error:
            print(f"{binary}: {error.strerror}", file=sys.stderr)
            return False
        if answer is None or answer.code != 0:
            print(f"{binary}: --version did not end with 0", file=sys.stderr)
            return False
    return True


def _options():
    parser = argparse.ArgumentParser(prog="same_answers", description=__doc__.split("\n")[0])
    parser.add_argument("old", nargs="?", metavar="OLD", help="the binary before")
    parser.add_argument("new", nargs="?", metavar="NEW", help="the binary after")
    parser.add_argument("--quick", action="store_true", help="examples and recordings only")
    parser.add_argument("--files", nargs="+", metavar="FILE", help="these snapshots only")
    parser.add_argument("--words", action="store_true",
                        help="compare texts and sentences by their numbers and units alone")
    parser.add_argument("--only", nargs="+", choices=KINDS, default=KINDS, help="some of the kinds")
    parser.add_argument("--recordings", metavar="FOLDER", help="recordings to ask about")
    parser.add_argument("--make", metavar="PROGRAM",
                        help="make_recording (default: tests/make_recording beside NEW)")
    parser.add_argument("--metrics", nargs=2, metavar="PROGRAM", help="two builds of make_metrics")
    parser.add_argument("--limit", type=float, default=runner.LIMIT_S, metavar="SECONDS",
                        help="for one command (default: %(default)s)")
    parser.add_argument("--slow", type=float, metavar="SECONDS",
                        help="name each command that takes longer")
    parser.add_argument("--changelog", default=inputs.ROOT / "CHANGELOG.md", metavar="FILE",
                        help="with the table of renames (default: CHANGELOG.md)")
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if not options.self_test and not (options.old and options.new):
        parser.error("two binaries: OLD NEW")
    return options


if __name__ == "__main__":
    sys.exit(main())
