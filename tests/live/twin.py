"""An independent twin of the recorder's ledger: reads a recording with sqlite3 alone and works out who
holds what, by the rules in docs/formats/recording.md and by none of the project's code.

    twin = Twin(path); twin.processes[0].live["device"], .peak_bytes, .failures
"""
import collections
import json
import sqlite3

ON_DEVICE = ("device", "managed", "pool", "physical", "array")
CHARGED = (*ON_DEVICE, "pinned host", "registered host")
MASK = (1 << 64) - 1  # SQLite's integers are signed


class Process:
    def __init__(self, row):
        self.row = row
        self.blocks = {}        # address, or ("array", handle): (kind, bytes, device)
        self.physical = {}      # handle: [bytes, device, references]
        self.maps = {}          # address: (bytes, handle)
        self.contexts = {}      # handle: device
        self.handles = {}       # of a stream or pool: device
        self.live = collections.Counter()
        self.allocations = collections.Counter()
        self.frees = collections.Counter()
        self.peak_bytes = self.total = self.failures = self.aliases = self.unknown_frees = 0
        self.framework = {}     # address: requested bytes
        self.framework_allocations = self.framework_bytes = self.framework_peak = 0

    def took(self, kind, size):
        self.allocations[kind] += 1
        self.live[kind] += size
        if kind in ON_DEVICE:
            self.total += size
            self.peak_bytes = max(self.peak_bytes, self.total)

    def gave(self, kind, size, by_call=True):
        self.frees[kind] += by_call
        self.live[kind] -= size
        self.total -= size if kind in ON_DEVICE else 0

    def free(self, place, start_ns):
        if place == 0:
            return
        if place not in self.blocks:
            self.unknown_frees += 1
        elif start_ns >= self.blocks[place][3]:
            kind, size, _, _ = self.blocks.pop(place)
            self.gave(kind, size)
        # else: it began before this block was there, so it freed the one before: see allocate()

    def allocate(self, place, kind, call):
        """An address that is handed out again was freed by a call of another thread that has not
        returned yet, and comes later in the order of ends."""
        if place in self.blocks:
            self.gave(*self.blocks[place][:2])
        names = (call["handle"] or call["stream"]) & MASK if kind == "pool" else None
        device = self.handles.get(names, call["device"])
        self.blocks[place] = (kind, call["size_bytes"], device, call["end_ns"])
        self.took(kind, call["size_bytes"])

    def settle(self, handle, by_call=True):
        """Physical memory goes with its last handle and mapping."""
        size, _, references = self.physical[handle]
        if references > 0 or any(h == handle for _, h in self.maps.values()):
            return
        del self.physical[handle]
        self.gave("physical", size, by_call)

    def drop_device(self, device):
        for place in [p for p, block in self.blocks.items() if block[2] == device]:
            kind, size, _, _ = self.blocks.pop(place)
            self.gave(kind, size, by_call=False)

    def take(self, call):
        name, plane, verb, kind = call["name"], call["plane"], call["verb"], call["kind"]
        address, size, handle = call["address"] & MASK, call["size_bytes"], call["handle"] & MASK
        if kind == "answer":
            return  # nothing moves
        if call["code"] != 0:
            self.failures += 1
        elif plane == "driver" and kind in ("stream", "pool itself") and verb in ("create", "retain"):
            self.handles[handle] = call["device"]
        elif plane == "framework":
            self.take_block(verb, address, size)
        elif plane == "runtime" and (call["inner"] > 0 or kind == "context" or verb in ("set", "reset")):
            return  # the driver was seen inside
        elif kind == "context" or verb in ("create", "destroy", "release", "reset"):
            self.take_context(verb, kind, handle, call["device"])
        elif kind == "alias":
            self.aliases += verb in ("allocate", "retain")
        elif name == "cuMemCreate":
            self.physical[handle] = [size, call["device"], 1]
            self.took("physical", size)
        elif kind == "physical":
            self.take_physical(verb, address, size, handle)
        elif kind not in CHARGED:
            return
        elif kind == "array":
            if verb == "allocate":
                self.allocate(("array", handle), kind, call)
            else:
                self.free(("array", handle), call["start_ns"])
        elif verb == "allocate":
            self.allocate(address, kind, call)
        elif verb == "free":
            self.free(address, call["start_ns"])

    def take_physical(self, verb, address, size, handle):
        if verb == "map":
            self.maps[address] = (size, handle)
        elif verb == "unmap":
            gone = {p: self.maps.pop(p)[1] for p in sorted(self.maps) if address <= p < address + size}
            for one in set(gone.values()):
                self.settle(one)
        elif verb == "retain":
            self.physical[handle][2] += 1
        elif verb == "free":
            self.physical[handle][2] -= 1
            self.settle(handle)

    def take_context(self, verb, kind, handle, device):
        if kind != "context":
            return
        if verb in ("create", "retain"):
            self.contexts[handle] = device
        elif verb == "destroy":
            self.drop_device(self.contexts.pop(handle))
        elif verb == "reset":
            self.drop_device(device)

    def take_block(self, verb, address, size):
        if verb == "allocate":
            self.framework[address] = size
            self.framework_allocations += 1
            self.framework_bytes += size
            self.framework_peak = max(self.framework_peak, self.framework_bytes)
        elif address in self.framework:
            self.framework_bytes -= self.framework.pop(address)


class Twin:
    def __init__(self, path):
        self.file = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.file.row_factory = sqlite3.Row
        check = self.file.execute("PRAGMA integrity_check").fetchone()[0]
        if check != "ok":
            raise AssertionError(f"{path}: {check}")
        self.calls = self.rows(
            "SELECT c.*, f.name, f.plane, f.verb, f.kind FROM calls c JOIN functions f "
            "USING(function_id) ORDER BY c.end_ns, c.call_id")
        self.processes = {row["process_id"]: Process(row) for row in self.rows("SELECT * FROM processes")}
        for call in self.calls:
            self.processes[call["process_id"]].take(call)

    def rows(self, sql, *values):
        return [dict(row) for row in self.file.execute(sql, values)]

    def losses(self):
        """{reason: count} of what was not recorded."""
        return {row["reason"]: row["count"] for row in
                self.rows("SELECT reason, sum(count) AS count FROM losses GROUP BY reason") if row["count"]}

    def unwatched(self, **wanted):
        """What the recorder says that it did not watch: rows with these values."""
        return [row for row in self.rows("SELECT * FROM unwatched")
                if all(row[key] == value for key, value in wanted.items())]

    def process(self, **wanted):
        """The only process whose row has these values and that did not become another program."""
        found = [p for p in self.processes.values() if p.row["end_reason"] != "exec"
                 and all(p.row[k] == v for k, v in wanted.items())]
        if len(found) != 1:
            every = self.rows("SELECT * FROM processes")
            raise AssertionError(f"{len(found)} processes with {wanted}: {every}")
        return found[0]

    def launches(self, process):
        return sum(row["count"] for row in self.rows(
            "SELECT count FROM launches WHERE process_id = ?", process.row["process_id"]))

    def copied(self, process, direction):
        return sum(row["size_bytes"] for row in self.rows(
            "SELECT size_bytes FROM copies WHERE process_id = ? AND direction = ?",
            process.row["process_id"], direction))


def is_pool_asked_for(call):
    """A call that says which pool a device has; the stand-in does not log it."""
    return call["kind"] == "pool itself" and call["verb"] == "retain"


def driver_calls(twin):
    """{(pid, thread): [(function, code, address, bytes, handle)]} of the recording's driver plane, in
    the order of each thread."""
    calls = collections.defaultdict(list)
    for call in twin.calls:
        if call["plane"] == "driver" and call["kind"] not in ("answer", "stream") and not is_pool_asked_for(call):
            pid = twin.processes[call["process_id"]].row["pid"]
            calls[pid, call["thread"]].append(what(
                call["name"], call["code"], call["address"] & MASK, call["size_bytes"],
                call["handle"] & MASK))
    return calls


def logged_calls(path):
    """The same from the log that the stand-in's own driver wrote (FAKE_GPU_CALLS)."""
    calls = collections.defaultdict(list)
    for line in path.read_text().splitlines() if path.exists() else []:
        pid, thread, function, *words = line.split()
        values = {key: int(value, 0) for key, _, value in (word.partition("=") for word in words)}
        if values["code"] and ("Ctx" in function):
            continue  # a context that did not come: not a matter of memory
        calls[int(pid), int(thread)].append(what(function, values["code"], values["address"],
                                                 values["bytes"], values["handle"]))
    return calls


def what(function, code, address, size, handle):
    # A failed call has no result; its arguments are not compared.
    return (function, code, address, size, handle) if code == 0 else (function, code)


def has_expectation(path):
    """Whether a program has written what it did: the file is there a moment before its first line."""
    return path.exists() and path.read_text().endswith("\n")


def expectations(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
