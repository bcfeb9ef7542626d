"""Whole commands on one file: user and system time, elapsed time, peak memory."""
import measure
from table import Table, megabytes, seconds

CANDIDATES = 12


def settings(count):
    return [word for mib in range(513 - count, 513) for word in ("--set", f"max_split_size_mb:{mib}")]


COMMANDS = {
    "`query FILE \"SELECT count(*) FROM events\"`": lambda file: ["query", file, "SELECT count(*) FROM events"],
    "`query FILE \"SELECT count(*) FROM allocations\"`":
        lambda file: ["query", file, "SELECT count(*) FROM allocations"],
    "`report --no-replay FILE`": lambda file: ["report", "--no-replay", file],
    "`frag FILE`": lambda file: ["frag", file],
}


def measured(binary, path, runs):
    table = Table("Whole commands", "/usr/bin/time -f \"%U user %S sys %e wall %M KB\" tidegauge COMMAND FILE",
                  ["file", "command", "user", "system", "elapsed", "peak memory"])

    def add(file, name, words):
        it = measure.least(runs, binary, *words)
        table.add(file, name, seconds(it.user_s), seconds(it.system_s), seconds(it.wall_s), megabytes(it.peak_bytes))

    add("", "`--version`", ["--version"])
    for name, words in COMMANDS.items():
        add(path.name, name, words(path))
    return table


def what_if(binary, path, events, runs):
    """One candidate costs the difference between 12 settings and one, by 11: reading and verifying are in both."""
    table = Table("What-if", "TIDEGAUGE_BINARY=build/bench/tidegauge python3 bench/replay.py",
                  ["file", "`--verify`", f"{CANDIDATES} settings, processor time", "elapsed", "peak memory",
                   "one candidate", "of a request's event"])
    verify = measure.least(runs, binary, "whatif", path, "--verify")
    one = measure.least(runs, binary, "whatif", path, *settings(1))
    all_of_them = measure.least(runs, binary, "whatif", path, *settings(CANDIDATES))
    candidate_s = max(0.0, (all_of_them.processor_s - one.processor_s) / (CANDIDATES - 1))
    table.add(path.name, seconds(verify.processor_s), seconds(all_of_them.processor_s), seconds(all_of_them.wall_s),
              megabytes(all_of_them.peak_bytes), seconds(candidate_s), f"{candidate_s / events * 1e9:,.0f} ns")
    return table
