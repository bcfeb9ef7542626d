#!/usr/bin/env python3
"""The whole engine against programs whose truth is known: random snapshots of tools/make_snapshot,
reported by `tidegauge report --json`, compared with the generator's --truth.

    tests/twin/truth_twin.py --binary build/dev/tidegauge [--count 60] [--seed 1] [--show]

A failure prints the generator's command line; --show prints it for each case.
"""

import argparse
import json
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RELEASES = ["2.0", "2.1", "2.2", "2.3", "2.5", "2.9", "2.10", "2.12", "2.13", "2.14"]


def place(peak):
    """A peak without the SQL beside it."""
    return {"bytes": peak["bytes"], "step": peak["step"]}


def random_arguments(rng):
    """One case: mostly small, each option now and then."""
    release = rng.choice(RELEASES)
    newer = RELEASES.index(release)
    events = rng.choice([1, 10, 300, 3000, 3000, 12000])
    arguments = ["--seed", rng.randrange(1 << 30), "--events", events, "--torch", release,
                 "--live", rng.choice([1, 20, 150, 1000]), "--stacks", rng.choice([0, 1, 60, 900]),
                 "--shape", rng.choice(["clean", "clean", "midrun", "overflow"]),
                 "--depth", rng.choice(["1", "2-9", "20-60"])]

    def now_and_then(probability, *extra):
        if rng.random() < probability:
            arguments.extend(extra)

    now_and_then(0.3, "--devices", rng.choice([2, 3]))
    now_and_then(0.4, "--streams", rng.choice([2, 5]))
    now_and_then(0.3, "--pools", 3)
    now_and_then(0.3, "--oom", 2)
    now_and_then(0.3, "--capacity", rng.choice(["600MiB", "4GiB"]))
    now_and_then(0.3, "--dumps", 2)
    now_and_then(0.2, "--segments", 5)
    now_and_then(0.2, "--high-addresses")
    now_and_then(0.3, "--cpp-frames")
    if newer >= RELEASES.index("2.1"):
        now_and_then(0.4, "--expandable")
    if newer >= RELEASES.index("2.5"):
        now_and_then(0.4, "--annotations")
    form = rng.choice(["python", "python", "torch", "json", "html"])
    if form in ("json", "html"):
        arguments += ["--format", form]
    if form in ("python", "html"):
        arguments += ["--protocol", rng.choice([2, 4, 5])]
    if form == "torch":
        arguments += ["--dialect", "torch"]
    now_and_then(0.3, "--compress", rng.choice(["gzip", "zip"]))
    return [str(argument) for argument in arguments]


def differences(truth, report):
    """What the report says otherwise than the truth, as text."""
    # A device that was never used is not reported.
    used = {ordinal: known for ordinal, known in enumerate(truth["devices"])
            if known["events"] or known["reserved_at_end_bytes"]}
    if [shown["device"] for shown in report["devices"]] != list(used):
        yield f"reported are {[shown['device'] for shown in report['devices']]}, used are {list(used)}"
        return
    for known, shown in zip(used.values(), report["devices"]):
        actions, final, live = known["actions"], shown["final"], known["live_at_end"]
        kinds = shown["allocations_by_provenance"]
        pairs = {
            "events": (shown["events"], known["events"]),
            "OOMs": (len(shown["ooms"]), actions.get("oom", 0)),
            "requested at the end": (final["requested_bytes"], live["requested_bytes"]),
            "active at the end": (final["active_bytes"], live["active_bytes"]),
            "reserved at the end": (final["reserved_bytes"], known["reserved_at_end_bytes"]),
            "peak requested": (place(shown["peak"]["requested"]), known["peak_requested"]),
            "peak reserved": (place(shown["peak"]["reserved"]), known["peak_reserved"]),
            "allocations born in the trace": (kinds["traced"], actions.get("alloc", 0)),
            "allocations older than the trace": (
                kinds["before_recording"] + kinds["ghost"],
                known["frees_without_alloc"] + known["live_without_alloc"]),
        }
        for what, (came, wanted) in pairs.items():
            if came != wanted:
                yield f"{shown['label']}: {what}: reported {came}, true {wanted}"
        # Sizes of blocks that were freed are inferred; the report says how far they may be off.
        active, bound = shown["peak"]["active"]["bytes"], shown["peak"]["uncertain_bytes"]
        if abs(active - known["peak_active"]["bytes"]) > bound:
            yield (f"{shown['label']}: peak active: reported {active} ± {bound}, "
                   f"true {known['peak_active']}")
        for identity in shown["identities"]:
            if not identity["holds"]:
                yield f"{shown['label']}: does not hold: {identity['text']}"


def check(arguments, binary, folder):
    snapshot, truth = folder / "snapshot", folder / "truth.json"
    subprocess.run([sys.executable, ROOT / "tools" / "make_snapshot", "-o", snapshot,
                    "--truth", truth, *arguments], check=True)
    shown = subprocess.run([binary, "report", "--json", snapshot], capture_output=True, text=True)
    if shown.returncode != 0:
        return [f"exit code {shown.returncode}: {shown.stderr.strip()}"]
    return list(differences(json.loads(truth.read_text()), json.loads(shown.stdout)))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--binary", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="print each case's command line")
    args = parser.parse_args()
    rng, failed = random.Random(args.seed), 0
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.count):
            arguments = random_arguments(rng)
            problems = check(arguments, args.binary.resolve(), pathlib.Path(folder))
            failed += bool(problems)
            if problems or args.show:
                print(f"python3 tools/make_snapshot -o FILE {shlex.join(arguments)}")
            for problem in problems:
                print(f"  {problem}")
    print(f"{args.count - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
