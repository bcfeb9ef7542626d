#!/usr/bin/env python3
"""Writes how a suite of `./dev test --all` went into docs/status.md.

    tools/write_status.py SUITE LOG     one row: date, commit, passed, failed, skipped, machine
    tools/write_status.py --self-test   proves that the summaries of all runners are read

The counts come from the summary lines of the runners in LOG: ctest, unittest, node, vitest, and
the project's own lines ("3 passed, 0 failed, 1 skipped"). A log without any of them counts as failed.
Where a guest ran the tests, the log says which kernel it had ("Ran on: Linux 6.12 in QEMU").
"""

import datetime
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

HEAD = """# Status of the suites

`./dev test` runs for each change. These suites take longer; `./dev test --all [SUITE…]` runs them
and writes this page.

| suite | date | commit | passed | failed | skipped | on |
|---|---|---|---|---|---|---|
"""
TAIL = """
Idle pages (`wss --backend idle`) are the suite `vm_idle`. What no machine of these tests has: a
processor with performance counters (`wss --backend pmc`) or with resctrl (`--backend resctrl`), and
arm64 hardware (`--backend pte` there). None of these has ever been shown right.
"""


def counts_of(log):
    """(passed, failed, skipped) as the runners in the log report them; None without a summary."""
    passed = failed = skipped = 0
    seen = False
    for line in log.splitlines():
        if found := re.match(r"\s*\d+% tests passed, (\d+) tests? failed out of (\d+)", line):
            failed += int(found[1])
            passed += int(found[2]) - int(found[1])
        elif found := re.match(r"(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", line.strip()):
            passed += int(found[1])
            failed += int(found[2])
            skipped += int(found[3] or 0)
        elif found := re.match(r"Ran (\d+) tests? in", line):
            passed += int(found[1])
        elif found := re.match(r"FAILED \((.*)\)", line):
            bad = sum(int(n) for n in re.findall(r"(?:failures|errors)=(\d+)", found[1]))
            failed += bad
            passed -= bad
        elif re.search(r"\b\d+ (passed|failed|errors?|skipped)\b.* in [\d.]+s\b", line):  # pytest's
            numbers = {what: int(count) for count, what in re.findall(r"(\d+) (passed|failed|error|skipped)", line)}
            passed += numbers.get("passed", 0)
            failed += numbers.get("failed", 0) + numbers.get("error", 0)
            skipped += numbers.get("skipped", 0)
        elif found := re.search(r"\*\*\*Skipped", line):
            skipped += 1
            passed -= 1
        else:
            continue
        seen = True
    return (passed, failed, skipped) if seen else None


def page_with(page, suite, row):
    """The page with the row of the suite added or replaced; rows are sorted by suite."""
    rows = {line.split("|")[1].strip(): line for line in page.splitlines() if line.startswith("| ")}
    rows.pop("suite", None)
    rows[suite] = row
    return HEAD + "".join(rows[name] + "\n" for name in sorted(rows)) + TAIL


def place_of(log):
    """Where the tests ran: the guests that the log names, else this machine."""
    guests = sorted(set(re.findall(r"\bRan on: (.+)$", log, re.MULTILINE)))
    if guests:
        return ", ".join(guests)
    model = re.search(r"^model name\s*: (.+)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"Linux {platform.release()}, {model[1] if model else platform.machine()}"


def self_test():
    cases = [
        ("99% tests passed, 2 tests failed out of 200\n", (198, 2, 0)),
        ("100% tests passed, 0 tests failed out of 20\n 3/4 Test #3: x ...***Skipped 0.1 sec\n",
         (19, 0, 1)),
        ("Ran 12 tests in 3.1s\n\nOK\n", (12, 0, 0)),
        ("Ran 12 tests in 3.1s\n\nFAILED (failures=1, errors=2)\n", (9, 3, 0)),
        ("3 passed, 1 failed, 2 skipped\n", (3, 1, 2)),
        ("108 passed, 51 subtests passed in 221.64s (0:03:41)\n", (108, 0, 0)),
        ("1 failed, 107 passed, 2 skipped, 3 errors in 90.00s\n", (107, 4, 2)),
        ("nothing\n", None),
    ]
    for log, expected in cases:
        assert counts_of(log) == expected, (log, counts_of(log))
    page = page_with("", "live", "| live | d | c | 1 | 0 | 0 |")
    page = page_with(page, "fuzz", "| fuzz | d | c | 1 | 0 | 0 |")
    page = page_with(page, "live", "| live | d | c | 2 | 0 | 0 |")
    assert page == HEAD + "| fuzz | d | c | 1 | 0 | 0 |\n| live | d | c | 2 | 0 | 0 |\n" + TAIL, page
    assert page_with(page, "live", "| live | d | c | 2 | 0 | 0 |") == page
    log = "test_damon (x.Linux612.test_damon) ... Ran on: Linux 6.1 in QEMU\nok\nRan on: Linux 5.10 in QEMU\nRan on: Linux 6.1 in QEMU\n"
    assert place_of(log) == "Linux 5.10 in QEMU, Linux 6.1 in QEMU"
    assert place_of("").startswith("Linux ")
    print(f"{len(cases) + 4} cases as expected")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    suite, log = sys.argv[1], pathlib.Path(sys.argv[2])
    root = pathlib.Path(__file__).resolve().parent.parent

    def said(*words):
        return subprocess.run(words, cwd=root, capture_output=True, text=True,
                              check=False).stdout.strip()

    commit = said("git", "describe", "--always")
    if said("git", "status", "--porcelain", "--untracked-files=no", "--", ".", ":!docs/status.md"):
        commit += "-dirty"  # but for this page, which the suite before has changed
    text = log.read_text(errors="replace")
    passed, failed, skipped = counts_of(text) or (0, 1, 0)
    today = datetime.date.today().isoformat()
    row = f"| {suite} | {today} | {commit} | {passed} | {failed} | {skipped} | {place_of(text)} |"
    page = root / "docs/status.md"
    page.write_text(page_with(page.read_text() if page.exists() else "", suite, row))


if __name__ == "__main__":
    main()
