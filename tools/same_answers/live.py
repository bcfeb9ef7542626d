"""Answers about running programs: their keys, for their numbers are never the same twice.

    live.compare(pair, renames, count)      wss and top of a sleeping process

What both binaries refuse in the same words (no privilege, another kernel) counts as an error.
"""

import subprocess

import tree

PID, OTHER_PID = "PID", "OTHER_PID"
# Kind and words. doctor is not here: it says the same each time and is compared whole.
COMMANDS = (
    ("wss keys", ["wss", "--json", "--backend", "smaps", "--by", "kind", PID, "0.05"]),
    ("wss keys", ["wss", "--json", "--backend", "smaps", "-P", "2", PID, "0.05"]),
    ("wss keys", ["wss", "--json", "--backend", "smaps", PID, OTHER_PID, "0.05"]),
    ("wss keys", ["wss", "--json", "--backend", "pte", "--rolling", "2", "-d", "0.2", PID, "0.05"]),
    ("wss keys", ["wss", "--json", "--backend", "pte", "--by", "file", PID, "0.05"]),
    ("wss keys", ["wss", "--json", "--backend", "spot", PID, "0.05"]),
    ("wss keys", ["wss", "--json", "--backend", "pressure", PID, "0.05"]),
    ("wss keys", ["wss", "--json", "--writes", PID, "0.05"]),
    ("wss keys", ["wss", "--json", "--probe"]),
    ("top keys", ["top", "--once", "--json", "--every", "0.2", "-p", PID]),
)


def compare(pair, renames, count):
    """`count(kind, file, command, places, is_error)` takes each result."""
    sleepers = [subprocess.Popen(["sleep", "600"]) for _ in range(2)]
    try:
        pids = {PID: str(sleepers[0].pid), OTHER_PID: str(sleepers[1].pid)}
        for kind, words in COMMANDS:
            old, new = pair.run([pids.get(word, word) for word in words])
            if old is None or new is None:
                places = [] if old is new else [("time", *("in time" if answer else "too slow"
                                                           for answer in (old, new)))]
            else:
                places = _places(old, new, renames)
            count(kind, "a sleeping process", "tidegauge " + " ".join(words), places,
                  old is None or old.code != 0)
    finally:
        for process in sleepers:
            process.kill()
            process.wait()


def _places(old, new, renames):
    if old.code != new.code:
        return [("exit code", str(old.code), str(new.code))]
    if old.code != 0:
        return []
    before, after = (set(keys(tree.parse(answer.out), its))
                     for answer, its in ((old, renames), (new, None)))
    return ([(path, "there", "(no such key)") for path in sorted(before - after)]
            + [(path, "(no such key)", "there") for path in sorted(after - before)])


def keys(value, renames, path=""):
    """The path of each key; with `renames` by its new name."""
    if isinstance(value, list):
        for item in value:
            yield from keys(item, renames, path + "[]")
    elif isinstance(value, dict):
        for key, item in value.items():
            name = renames.key(path, key) if renames else key
            where = f"{path}.{name}" if path else name
            yield where
            yield from keys(item, renames, where)
