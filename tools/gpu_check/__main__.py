"""Checks Tidegauge on a real GPU: one command of at most 4 minutes.

    python3 tools/gpu_check                    all parts; prints what differs
    python3 tools/gpu_check --write            the figures go to docs/hardware.md
    python3 tools/gpu_check --parts cost       one part
    python3 tools/gpu_check --stand-in         tries the check itself on the stand-in GPU of the tests
    python3 tools/gpu_check --json FILE        all figures

Parts: `ledger` (the recorder's ledger against cudaMemGetInfo, NVML and PyTorch at 100 moments of a
training run), `cost` (`record`, PyTorch's history, both, neither over 200 steps), `settings` (12
settings of `whatif` against the program under each). Each has a share of the time and says what it
left out. eBPF needs root; where it is refused, the check uses `record --preload`, which records no
blocks of PyTorch. Installing PyTorch and building Tidegauge, where they are missing, come on top.

Exit code: 0 all as it should be, 1 something differs, 2 wrong use, 77 no GPU, or something that the
check needs is missing.
"""
import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
import time

import cost
import ledger
import machine
import page
import prepare
import settings
from outcome import Missing, WrongUse

ROOT = prepare.ROOT
PAGE = "docs/hardware.md"
# What a part may take of the time that is left when it begins.
SHARES = {"ledger": 0.3, "cost": 0.45, "settings": 0.9}


def _options():
    parser = argparse.ArgumentParser(prog="gpu_check", description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--write", nargs="?", const=PAGE, metavar="PAGE",
                        help=f"write the figures into this page (default: {PAGE})")
    parser.add_argument("--parts", nargs="+", choices=SHARES, default=list(SHARES), help="some of the parts")
    parser.add_argument("--seconds", type=float, default=240, help="time for all parts (default: %(default)s)")
    parser.add_argument("--moments", type=int, default=100, help="of the ledger (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=200, help="of each way of the cost (default: %(default)s)")
    parser.add_argument("--binary", metavar="FILE", help="the tidegauge to check (default: one in build/, or a new build)")
    parser.add_argument("--python", metavar="FILE", help="a Python with PyTorch (default: this one, or a new venv)")
    parser.add_argument("--preload", action="store_true", help="record with --preload, also where eBPF is permitted")
    parser.add_argument("--stand-in", action="store_true", help="use the stand-in GPU of tests/standin")
    parser.add_argument("--json", metavar="FILE", help="write all figures as JSON")
    options = parser.parse_args()
    if options.seconds <= 0 or options.moments < 1 or options.steps < 1:
        parser.error("--seconds, --moments and --steps take numbers above 0")
    if options.write == PAGE and options.stand_in:
        parser.error(f"a stand-in is not hardware: its figures do not go into {PAGE}; --write PAGE names another page")
    if options.write:
        _check_page(parser, options)
    return options


def _check_page(parser, options):
    """The page can be written: known before minutes are spent on its figures."""
    path = ROOT / options.write if options.write == PAGE else options.write
    try:
        with open(path, "r+", encoding="utf-8") as file:
            text = file.read()
    except OSError as error:
        parser.error(f"--write {options.write}: {error.strerror}")
    if page.BEGIN not in text or page.END not in text:
        parser.error(f"--write {options.write}: the page has no lines {page.BEGIN} and {page.END}")
    options.write = path


def _run_parts(options, tools, result):
    parts = {"ledger": lambda folder, seconds: ledger.run(tools, folder, options.moments, seconds),
             "cost": lambda folder, seconds: cost.run(tools, folder, options.steps, seconds),
             "settings": lambda folder, seconds: settings.run(tools, folder, seconds)}
    until = time.monotonic() + options.seconds
    for name in SHARES:
        if name not in options.parts:
            continue
        left = until - time.monotonic()
        if left <= 0:
            result["not_run"][name] = "no time was left"
            continue
        share = 1 if name == options.parts[-1] else SHARES[name]
        prepare.say(f"{name}: at most {left * share:.0f} s")
        with tempfile.TemporaryDirectory(prefix="gpu_check-") as folder:
            try:
                result["parts"][name] = parts[name](folder, left * share)
            except Exception as error:  # pylint: disable=broad-except  # the other parts still run
                result["not_run"][name] = f"{type(error).__name__}: {error}"


def _problems(options, result):
    for name, of in (("ledger", ledger), ("cost", cost), ("settings", settings)):
        if name in result["parts"]:
            yield from of.problems(result["parts"][name])
        elif name in options.parts:
            yield f"{name} did not run: {result['not_run'][name]}"


def main():
    options = _options()
    if os.geteuid() == 0:  # else `record` becomes the user who called sudo, who may not write into our folders
        for name in ("SUDO_UID", "SUDO_GID", "SUDO_USER", "PKEXEC_UID"):
            os.environ.pop(name, None)
    # What needs no PyTorch comes first: a machine without a GPU installs and builds nothing.
    gpu = None if options.stand_in else machine.find(sys.executable, dict(os.environ))
    tools = prepare.Tools.find(options)
    gpu = gpu or {"name": "Stand-in GPU", "driver": "of the tests"}
    if tools.why_preload:
        prepare.say(f"recording with --preload: {tools.why_preload}")
    result = {"machine": gpu, "kernel": platform.release(), "date": datetime.date.today().isoformat(),
              "why_preload": tools.why_preload, "stand_in": options.stand_in, "parts": {}, "not_run": {},
              "torch": tools.torch_version()}
    began = time.monotonic()
    _run_parts(options, tools, result)
    result["seconds"] = round(time.monotonic() - began, 1)
    result["problems"] = list(_problems(options, result))
    print("\n".join(page.section(result)))
    for problem in result["problems"]:
        print(f"DIFFERS: {problem}")
    print(f"{'different' if result['problems'] else 'as it should be'}, in {result['seconds']:.0f} s")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)
    if options.write:
        page.write(options.write, result)
    return 1 if result["problems"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Missing as missing:
        print(f"gpu_check: skipped: {missing}", file=sys.stderr)
        sys.exit(77)
    except WrongUse as wrong:
        print(f"gpu_check: {wrong}", file=sys.stderr)
        sys.exit(2)
