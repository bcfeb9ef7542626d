"""The questions for the servers: some 200 tiles, flames and states, and all other API routes.

    for question in questions(session, per_place=17): …      the same list for the same session

Places, levels and options are drawn by a random generator with a fixed seed, from what the old
server says about its files. docs/formats/page-api.md describes the routes.
"""

import dataclasses
import random

SEED = 27
FLAMES = ({"of": "peak"}, {"of": "live"}, {"of": "allocated"}, {"of": "churn"}, {"of": "growth"},
          {"of": "peak", "frames": "python"}, {"of": "peak", "by": "function", "noise": 1},
          {"of": "live", "filter": "size:>1MiB"}, {"of": "peak", "hide": "/forward/"})
STATES = ({"sort": "size"}, {"sort": "age"}, {"sort": "waste", "group": "pool"}, {"sort": "pinned"},
          {"sort": "address", "group": "none", "filter": "-provenance:traced"})
TABLES = ("allocations", "segments", "stacks", "phases", "streams", "kernels", "copies")
FILTERS = ("", "size:>1MiB", "provenance:traced", "category:parameters,activations", "stack:forward")
KEYS = ("stack", "category", "stream", "pool", "size", "age", "provenance")
WRONG = (("tile", {}), ("tile", {"x0": 9, "x1": 1, "columns": 8}), ("allocation", {"id": -1}),
         ("state", {"sort": "colour"}), ("flame", {"of": "nothing"}), ("map", {"axis": "sideways"}),
         ("overview", {"file": 9999}), ("search", {"q": ""}), ("filter", {"filter": "size:huge"}),
         ("oom", {"step": 1}), ("nothing", {}))


@dataclasses.dataclass(frozen=True)
class Question:
    route: str
    params: dict
    body: dict = None

    @property
    def name(self):
        words = " ".join(f"{key}={value}" for key, value in self.params.items())
        verb = "GET" if self.body is None else "POST"
        return f"{verb} api/{self.route} {words}".strip() + (f" {self.body}" if self.body else "")


def questions(session, quick):
    place = random.Random(SEED)
    yield Question("session", {})
    for file in session["files"]:
        for device in file["devices"]:
            where = {"file": file["id"], "device": device["ordinal"]}
            yield from _pictures(place, where, device, 3 if quick else 8)
            yield from _texts(place, where, device, quick)
        yield from _of_file(file)
    yield from _of_session(session)
    for route, params in WRONG:
        yield Question(route, params)


def _pictures(place, where, device, count):
    events = max(1, device["events"])
    peak = max(1, device["peak"]["active"]["bytes"])
    has_times = device["first_time_us"] is not None
    first, last = device["first_time_us"] or 0, (device["last_time_us"] or 0) + 1

    def window(level):
        width = events / 2 ** level
        begin = place.randrange(2 ** level) * width
        return {"x0": begin, "x1": begin + width, "columns": place.choice((64, 256, 512))}

    for number in range(count):
        level = number % 6
        picture = {**where, **window(level), "y0": 0, "y1": peak, "px": peak / 700,
                   "filter": place.choice(FILTERS)}
        if number % 3 == 2:
            picture |= {"y0": peak / 3, "y1": peak / 2, "px": peak / 9000}
        yield Question("tile", picture)
        if number % 2 == 0:
            yield Question("map", {**where, **window(level), "rows": 256, "y0": 0, "y1": 2 ** 62,
                                   "axis_y": place.choice(("owned", "plain"))})
            yield Question("state", {**where, "step": place.randrange(events), "limit": 50,
                                     **place.choice(STATES)})
            yield Question("flame", {**where, "step": place.randrange(events), "from": 0,
                                     "to": place.randrange(events), **place.choice(FLAMES)})
    yield Question("lines", {**where, **window(0)})
    if has_times and last > first:
        span = {"axis": "time", "x0": first, "x1": last, "columns": 256}
        yield Question("tile", {**where, **span, "y0": 0, "y1": peak, "px": peak / 500, "quads": 500})
        yield Question("lines", {**where, **span})


def _texts(place, where, device, quick):
    events, ids = max(1, device["events"]), max(1, device["allocations"])
    step = place.randrange(events)
    peak = max(1, device["peak"]["active"]["bytes"])
    yield Question("overview", where)
    for sort in STATES:
        yield Question("state", {**where, "step": step, "limit": 20, **sort})
    for flame in FLAMES:
        yield Question("flame", {**where, "step": step, "from": 0, "to": events - 1, **flame})
    yield Question("sandwich", {**where, "of": "peak", "frame": place.randrange(8)})
    for by in KEYS:
        yield Question("legend", {**where, "step": step, "by": by})
    for _ in range(3):
        yield Question("pick", {**where, "step": place.randrange(events), "y": place.random() * peak})
        number = place.randrange(ids)
        yield Question("allocation", {**where, "id": number})
        yield Question("shape", {**where, "id": number, "x0": 0, "x1": events, "columns": 128})
        yield Question("neighbour", {**where, "step": place.randrange(events), "id": number,
                                     "direction": place.choice(("up", "down"))})
        yield Question("at", {**where, "x": place.random() * events, "stacks": "shared"})
    yield Question("at", {**where, "x": events + 5, "stacks": "whole"})
    for words in ("forward", ">1MiB", "train.py"):
        yield Question("search", {**where, "q": words, "limit": 20})
    yield Question("annotations", where)
    yield Question("events", {**where, "step": step, "limit": 200})
    yield Question("events", {**where, "action": "alloc,oom", "size": ">1MiB", "limit": 50})
    for axis in ("owned", "plain"):
        yield Question("ranges", {**where, "axis_y": axis})
        yield Question("map_pick", {**where, "axis_y": axis, "step": step, "at": peak // 3})
    for text in FILTERS[1:]:
        yield Question("filter", {**where, "filter": text})
    yield Question("categories", {**where, "step": step})
    yield Question("growth", where)
    yield Question("frag", {**where, "samples": 100})
    yield Question("frag_at", {**where, "step": step})
    yield Question("fit", {**where, "step": step, "bytes": 64 << 20})
    for name in TABLES:
        yield Question("table", {**where, "name": name, "limit": 100})
    yield Question("table", {**where, "name": "stacks", "sort": "peak_bytes", "order": "desc",
                             "format": "csv"})
    for oom in device["ooms"][:2]:
        yield Question("oom", {**where, "step": oom["step"]})
    if not quick:
        for arena in ("reserved", "address"):
            yield Question("forecast", {**where, "arena": arena})
        yield Question("what_if", {**where, "set": "max_split_size_mb:64"})
        yield Question("proof", where)


def _of_file(file):
    where = {"file": file["id"]}
    yield Question("schema", where)
    for number in (0, 1, 7):
        yield Question("stack", {**where, "id": number})
    for sql in ("SELECT * FROM devices", "SELECT id, block_bytes, address FROM allocations LIMIT 500",
                "SELECT action, count(*) AS n FROM events GROUP BY 1 ORDER BY 1", "SELECT nothing"):
        yield Question("sql", {}, {**where, "sql": sql})


def _of_session(session):
    count = len(session["files"])
    for first, second in ((0, 1), (1, 0), (0, count - 1)):
        if second < count:
            pair = {"file": first, "file_b": second}
            yield Question("diff", {**pair, "by": "stack"})
            yield Question("diff", {**pair, "at": "end", "at_b": "end", "by": "size"})
            yield Question("diff_flame", {**pair, "width": "change"})
    yield Question("follow", {})
    for number in range(len(session["working_sets"])):
        yield Question("working_set", {"id": number})
    for number in range(len(session["lives"])):
        for window in ("minute", "whole"):
            yield Question("live", {"source": number, "window": window, "columns": 100})
