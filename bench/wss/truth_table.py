#!/usr/bin/env python3
"""How far off a working set is, beside the calls of wss.pl, on a program that has a core for itself and whose
working set is known (tests/wss/touch.c).

    sudo TIDEGAUGE_BINARY=build/dev/tidegauge python3 bench/wss/truth_table.py [--runs 5] [--core 1]

Each measurement is made by the others' methods in turn, so that what disturbs one disturbs all. Prints a row for
each set: what is touched, and by how much each method is off at the worst run, MiB; `!` where that is more than
0.5 % and 0.1 MiB. A last line counts those. Of wss.pl what it calls touched is of the whole process."""
import argparse
import json
import os
import pathlib
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
BINARY = os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")
MIB = 2 ** 20
METHODS = ("pte", "smaps", "wss.pl")
# RSS, touched (MiB), seconds, way. A round through 500 MiB takes some 10 ms.
SETS = [(rss, hot, seconds, way)
        for rss, hot, windows in ((64, 1, (0.01, 0.1, 1)), (64, 4, (0.01, 0.1, 1)), (128, 16, (0.01, 0.1, 1)),
                                  (256, 64, (0.01, 0.1, 1)), (512, 100, (0.1, 1)), (600, 250, (0.1, 1)), (1000, 500, (0.1, 1)))
        for seconds in windows for way in ((), ("random",))] + [
    (512, 16, 0.1, ("scattered",)), (512, 64, 0.1, ("scattered",)), (1024, 512, 1, ("scattered",)),
    (256, 64, 0.1, ("huge",)), (1024, 500, 0.1, ("huge",)), (256, 64, 0.1, ("read",)),
    (3000, 100, 0.1, ()), (3000, 100, 1, ("random",)),
    (512, 512, 0.1, ("rate=100",)), (512, 512, 1, ("rate=100",)), (1024, 1024, 1, ("rate=500",))]


def swap():
    return len(pathlib.Path("/proc/swaps").read_text(encoding="utf8").splitlines()) > 1


def measured(method, calls, pid, address, seconds, core):
    """The reported touched bytes, and their windows."""
    words = [calls, pid, seconds] if method == "wss.pl" else [
        BINARY, "wss", "--json", "--by", "vma", "--top", 1000, "--backend", method, "--sample", "exact", pid, seconds]
    if method == "smaps":
        del words[words.index("--sample"):words.index("--sample") + 2]
    said = json.loads(subprocess.run(["taskset", "-c", str(core), *map(str, words)], check=True, capture_output=True,
                                     text=True).stdout)
    if method == "wss.pl":
        return said["referenced"], (seconds, seconds)
    mine = next(group for group in said["rows"][0]["groups"] if group.get("start") == address)
    return mine["bytes"]["referenced"], (mine["window_s"]["least"], mine["window_s"]["most"])


def off(told, window, hot, way, rss):
    """How far beyond what may have been touched, and how much that is. At a steady rate, where the windows of the
    first and of the last page differ, that is a range."""
    rate = next((float(word[5:]) for word in way if word.startswith("rate=")), None)
    if rate is None:
        return told / MIB - hot, hot
    least, most = (min(rate * seconds, rss) for seconds in window)
    return max(told / MIB - most, 0) + min(told / MIB - least, 0), least


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--core", type=int, default=1, help="of the program; the others take core 0")
    options = parser.parse_args()
    sets = SETS + ([(512, 64, 0.1, ("swapped",))] if swap() else [])
    wrong = dict.fromkeys(METHODS, 0)
    with tempfile.TemporaryDirectory() as folder:
        touch, calls = pathlib.Path(folder, "touch"), pathlib.Path(folder, "calls")
        subprocess.run(["gcc", "-O2", "-o", touch, HERE.parents[1] / "tests/wss/touch.c"], check=True)
        subprocess.run(["gcc", "-O2", "-o", calls, HERE / "wss_pl_calls.c"], check=True)
        print(f"{'in memory':>9} {'touched':>8} {'window s':>8}  {'way':<11}" + "".join(f"{name:>12}" for name in METHODS))
        for rss, hot, seconds, way in sets:
            process = subprocess.Popen(["taskset", "-c", str(options.core), touch, str(rss), str(hot), *way],
                                       stdout=subprocess.PIPE, text=True)
            try:
                address = int(process.stdout.readline().split()[0], 16)
                worst = dict.fromkeys(METHODS, (0.0, 0.0))
                for _ in range(options.runs):
                    for method in METHODS:
                        found = off(*measured(method, calls, process.pid, address, seconds, 0), hot, way, rss)
                        worst[method] = max(worst[method], found, key=lambda it: abs(it[0]))
            finally:
                process.kill()
                process.wait()
                process.stdout.close()
            cells = ""
            for method, (miss, touched) in worst.items():
                bad = abs(miss) > max(0.005 * touched, 0.1)
                wrong[method] += bad
                cells += f"{miss:>+11.2f}{'!' if bad else ' '}"
            print(f"{rss:>9} {hot:>8} {seconds:>8}  {' '.join(way) or 'contiguous':<11}{cells}", flush=True)
    print(f"{len(sets)} sets, {options.runs} runs each; too far off: " +
          ", ".join(f"{name} {count}" for name, count in wrong.items()) +
          ("" if swap() else "; no swap here, so nothing was swapped out"))


if __name__ == "__main__":
    main()
