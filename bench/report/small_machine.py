"""A file of 5 GB on a small machine: commands in a group whose processes share a limit of memory.

The file's pages are taken out of the cache before each command, so that they count for it. A command works, or the
kernel ends it; whether a warning came before is in the table, too.
"""
import tempfile

import first_tile
import group
import measure
from table import Table, seconds

GIB = 2**30
LIMITS = (8, 4, 3.5)  # GiB; the last one is too little for a report of 55 M events
WARNING = b"may take"


def queried(binary, path, **more):
    return measure.cost(binary, "query", path, "SELECT count(*) FROM events", **more)


def reported(binary, path, **more):
    return measure.cost(binary, "report", "--no-replay", path, **more)


COMMANDS = {
    "`query FILE \"SELECT count(*) FROM events\"`": queried,
    "`report --no-replay`": reported,
    "`view`, until the first tiles": first_tile.cost,
}


def outcome(run, binary, path, folder):
    """The cost, or None; what came of it; what was said on standard error."""
    with tempfile.TemporaryFile() as errors:
        cost, result = None, "works"
        try:
            cost = run(binary, path, stderr=errors, preexec_fn=lambda: group.enter(folder))
        except measure.CommandFailed as error:
            result = "ended by the kernel" if error.was_killed else "failed"
        except (SystemExit, OSError, EOFError):  # of the client, when the server has gone
            result = "ended by the kernel"
        errors.seek(0)
        return cost, result, errors.read()


def measured(binary, path):
    table = Table("5 GB on a small machine", "sudo bench/report/run.py --large --only small_machine",
                  ["limit of the group", "command", "result", "warned", "processor time", "elapsed, from the disk",
                   "peak memory, with pages of the file"])
    for limit in LIMITS:
        for name, run in COMMANDS.items():
            with group.limited(int(limit * GIB)) as folder:
                group.forget(path)
                cost, result, said = outcome(run, binary, path, folder)
            figures = ["", "", ""]
            if cost:
                figures = [seconds(cost.processor_s), seconds(cost.wall_s), f"{cost.peak_bytes / GIB:.1f} GiB"]
            table.add(f"{limit:g} GiB", name, result, "yes" if WARNING in said else "no", *figures)
    return table
