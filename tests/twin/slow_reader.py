"""The slow, obvious reader: Python's own unpickler, then plain loops over dicts and lists.

Writes the lines that tests/twin/reader_dump writes. Loads nothing but data: a pickle that names a
class or function is refused.
"""

import functools
import io
import json
import pickle
import re

EMPTY = "-"
UNKNOWN = (1 << 64) - 1
KNOWN_ACTIONS = set(
    "alloc free_requested free_completed free segment_alloc segment_free segment_map segment_unmap"
    " oom snapshot annotate user_defined".split()
)
EVENT_KEYS = set(
    "action addr device_free size stream time_us frames compile_context user_metadata pool_id"
    " category internal_metadata forward_frames".split()
)
BEGINS = ("alloc", "segment_alloc", "segment_map", "oom")  # events with a context of their own
MOST_RUNS, FEWEST_EVENTS = 64, 8  # of a ring buffer that was resized
FORWARD = re.compile(r'  File "(.*)", line (\d+), in (.*)\n(?:    (.*)\n)?')
FRAME_KEYS = set(
    "filename line name fx_node_op fx_node_name fx_node_target fx_original_trace".split()
)
SEGMENT_KEYS = set(
    "device address total_size allocated_size active_size requested_size stream segment_type"
    " segment_pool_id is_expandable frames forward_frames blocks".split()
)
BLOCK_KEYS = set("address size requested_size state frames forward_frames history".split())
TOP_KEYS = set(
    "segments device_traces allocator_settings external_annotations host_segments"
    " host_traces tidegauge".split()
)
ANNOTATION_KEYS = set("name stage device time_us".split())
TENSOR_KEYS = set("device address bytes name kind of state shape dtype time_us".split())


class _DataOnly(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused: {module}.{name}")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("refused: persistent id")


def load(data):
    if data[:1] == b"\x80":
        return _DataOnly(io.BytesIO(data)).load()
    return json.loads(data)


def lines(data):
    return SlowReader(load(data)).lines


@functools.lru_cache(maxsize=1 << 16)
def escaped(text):
    text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
    text = text.replace("\\", "\\\\").replace("\n", "\\n").replace(" ", "\\s")
    return text or "\\e"


def described(value, nested=False):
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return repr(value).removesuffix(".0")
    if nested and isinstance(value, (dict, list, tuple)) and value and not is_pair(value):
        return "…"
    if isinstance(value, dict):
        items = (f"{described(k, True)}: {described(v, True)}" for k, v in value.items())
        return "{" + ", ".join(items) + "}"
    if is_pair(value):
        return "({}, {})".format(*value)
    if isinstance(value, (list, tuple)):
        text = ", ".join(described(v, True) for v in value)
        return f"[{text}]" if isinstance(value, list) else f"({text})"
    return str(value)


def is_pair(value):
    return isinstance(value, tuple) and len(value) == 2 and all(type(v) is int for v in value)


def address(value):
    return value % (1 << 64)


def contradictions(events):
    """Events that cannot follow the one before them at their address."""
    places, count = {}, 0
    for event in events:
        action = event["action"]
        segment = action in ("segment_alloc", "segment_free")
        if not segment and action not in ("alloc", "free_requested", "free_completed", "free"):
            continue
        place = (segment, address(event["addr"]))
        before = places.get(place)
        if action in ("alloc", "segment_alloc"):
            count += before in ("live", "requested")
            places[place] = "live"
        elif action == "free_requested":
            count += before in ("requested", "freed")
            places[place] = "requested"
        else:
            count += before == "freed"
            places[place] = "freed"
    return count


class SlowReader:
    def __init__(self, top):
        self.lines = []
        self.stacks = {}  # tuple of frames -> number
        self.frames_seen = {}  # id of a frame -> what its line holds
        self.unknown_keys = 0
        self.unknown_actions = 0
        self.unordered = 0
        if isinstance(top, list):
            top = {"segments": top}
        self.count_unknown(top, TOP_KEYS)
        self.read(top)

    def line(self, *parts):
        self.lines.append(" ".join(str(part) for part in parts))

    def count_unknown(self, dictionary, known):
        self.unknown_keys += sum(1 for key in dictionary if key not in known)

    # ---- stacks

    def frame(self, frame):
        known = self.frames_seen.get(id(frame))  # stays alive as long as the top level does
        if known is None:
            known = self.frames_seen[id(frame)] = self.described_frame(frame)
        return known

    def described_frame(self, frame):
        self.count_unknown(frame, FRAME_KEYS)
        note = ""
        for key in ("fx_node_op", "fx_node_name", "fx_node_target", "fx_original_trace"):
            if frame.get(key) is not None:
                note += ("\n" if key == "fx_original_trace" else " ") if note else ""
                note += described(frame[key])
        return (
            "f",
            escaped(frame.get("filename", "")),
            address(frame.get("line", 0)),
            escaped(frame.get("name", "")),
            escaped(note) if note else EMPTY,
        )

    def forward(self, texts):
        """Frames of the forward pass, innermost first: tracebacks have the outermost first."""
        found = [frame for text in texts or [] for frame in FORWARD.findall(text)]
        return [("F", escaped(file), int(line), escaped(name), escaped(code) if code else EMPTY)
                for file, line, name, code in reversed(found)]

    def stack(self, frames, forward=None, region=None):
        content = [self.frame(frame) for frame in frames or []] + self.forward(forward)
        if not content and region not in (None, "", "N/A"):
            content = [("f", "\\e", 0, escaped(region), EMPTY)]
        if not content:
            return EMPTY
        return self.stacks.setdefault(tuple(content), len(self.stacks))

    # ---- the order of events

    def in_order(self, events):
        """Sorted by time, if a resized ring buffer explains that times go back."""
        times = [event.get("time_us") for event in events]
        known = [time for time in times if time is not None]
        if all(a <= b for a, b in zip(known, known[1:])):
            return events
        begins = [i for i in range(1, len(times)) if None not in times and times[i] < times[i - 1]]
        if None in times or len(begins) > MOST_RUNS:
            return events
        by_time = sorted(events, key=lambda event: event["time_us"])
        before, after = contradictions(events), contradictions(by_time)
        lengths = [b - a for a, b in zip([0, *begins], [*begins, len(events)])]
        runs = all(length >= FEWEST_EVENTS for length in lengths)
        return by_time if after < before or (after == before and runs) else events

    # ---- parts

    def read(self, top):
        devices = {}
        for ordinal, events in enumerate(top.get("device_traces") or []):
            devices[ordinal] = (events, [])
        if top.get("host_traces") or top.get("host_segments"):
            devices[-1] = (top.get("host_traces") or [], [])
        for segment in top.get("segments") or []:
            devices.setdefault(segment.get("device", 0), ([], []))[1].append(segment)
        for segment in top.get("host_segments") or []:
            devices[-1][1].append(segment)
        for ordinal in sorted(devices, key=lambda number: number % (1 << 32)):
            events, segments = devices[ordinal]
            if events or segments:
                self.line("d", ordinal, len(events), len(segments))
                self.read_events(ordinal, events)
                for segment in sorted(segments, key=lambda s: address(s["address"])):
                    self.read_segment(ordinal, segment)
        self.read_annotations(top.get("external_annotations") or [], top)
        self.read_tensors((top.get("tidegauge") or {}).get("tensors") or [])
        self.read_settings(top.get("allocator_settings"))
        for content, number in self.stacks.items():
            self.line("s", number, len(content))
            for frame in content:
                self.line(*frame)
        self.line("u unknown_key", self.unknown_keys)
        self.line("u unknown_action", self.unknown_actions)
        self.line("u unordered_time", self.unordered)

    def read_events(self, ordinal, events):
        latest = None
        for event in self.in_order(events):
            self.count_unknown(event, EVENT_KEYS)
            self.unknown_actions += event["action"] not in KNOWN_ACTIONS
            time_us = event.get("time_us")
            if time_us is not None:
                self.unordered += latest is not None and time_us < latest
                latest = time_us if latest is None else max(latest, time_us)
            oom = event["action"] == "oom"
            place = event.get("device_free", UNKNOWN) if oom else event.get("addr", 0)
            pool = event.get("pool_id")
            self.line(
                "e",
                ordinal,
                escaped(event["action"]),
                address(place),
                event.get("size", 0),
                address(event.get("stream", 0)),
                EMPTY if time_us is None else time_us,
                EMPTY if pool is None else "{},{}".format(*map(address, pool)),
                self.text(event, "compile_context"),
                self.text(event, "user_metadata"),
                self.text(event, "category"),
                self.text(event, "internal_metadata"),
                self.stack(event.get("frames"), event.get("forward_frames"),
                           event.get("compile_context") if event["action"] in BEGINS else None),
            )

    def text(self, event, key):
        return escaped(described(event[key])) if key in event else EMPTY

    def read_segment(self, ordinal, segment):
        self.count_unknown(segment, SEGMENT_KEYS)
        blocks = segment.get("blocks", [])
        kind = segment.get("segment_type", "unknown")
        self.line(
            "g",
            ordinal,
            address(segment["address"]),
            segment.get("total_size", sum(block["size"] for block in blocks)),
            segment.get("allocated_size", EMPTY),
            segment.get("active_size", EMPTY),
            segment.get("requested_size", EMPTY),
            "expandable" if segment.get("is_expandable") else kind,
            int(kind == "small"),
            address(segment.get("stream", 0)),
            "{},{}".format(*segment.get("segment_pool_id", (0, 0))),
            self.stack(segment.get("frames"), segment.get("forward_frames")),
        )
        place = segment["address"]
        for block in blocks:
            self.count_unknown(block, BLOCK_KEYS)
            newest = (block.get("history") or [{}])[0]
            state = block["state"].replace("awaiting", "pending")
            default = 0 if state == "inactive" else block["size"]
            requested = newest.get("real_size", block.get("requested_size", default))
            frames = newest.get("frames", block.get("frames"))
            self.line("b", address(place), block["size"], requested, state,
                      self.stack(frames, block.get("forward_frames")))
            place += block["size"]

    def read_annotations(self, marks, top):
        for mark in marks:
            self.count_unknown(mark, ANNOTATION_KEYS)
        marks = sorted(marks, key=lambda mark: mark["time_us"])
        if not marks:
            return
        traces = [*(top.get("device_traces") or []), top.get("host_traces") or []]
        times = [event["time_us"] for trace in traces for event in trace if "time_us" in event]
        earliest = min([marks[0]["time_us"], *times])
        rows, opened, depths = [], {}, {}
        for mark in marks:
            device, name, time_us = mark.get("device", 0), mark["name"], mark["time_us"]
            stack = opened.setdefault((device, name), [])
            taken = depths.setdefault(device, set())
            if mark["stage"] == "START":
                depth = next(number for number in range(1 << 16) if number not in taken)
                taken.add(depth)
                stack.append(len(rows))
                rows.append([device, escaped(name), time_us, EMPTY, depth])
            elif stack:
                row = rows[stack.pop()]
                row[3] = time_us
                taken.discard(row[4])
            else:
                rows.append([device, escaped(name), earliest, time_us, 0])
        for row in rows:
            self.line("a", *row)

    def read_tensors(self, tensors):
        for tensor in tensors:
            self.count_unknown(tensor, TENSOR_KEYS)
            texts = (tensor.get("of"), tensor.get("state"),
                     str(tensor["shape"]) if "shape" in tensor else None, tensor.get("dtype"))
            self.line("n", tensor["device"], address(tensor["address"]),
                      tensor.get("bytes", EMPTY), escaped(tensor["name"]), tensor["kind"],
                      *(escaped(text) if text else EMPTY for text in texts),
                      tensor.get("time_us", EMPTY))

    def read_settings(self, settings):
        items = settings or {}
        conf = items.get("PYTORCH_CUDA_ALLOC_CONF", items.get("PYTORCH_ALLOC_CONF", ""))
        max_split = items.get("max_split_size", -1)
        divisions = [0] * 16
        for key, value in (items.get("roundup_power2_divisions") or {}).items():
            divisions[int(key).bit_length() - 1] = value
        self.line(
            "t",
            int(settings is not None),
            escaped(conf),
            int(bool(items.get("expandable_segments"))),
            EMPTY if max_split < 0 else max_split,
            ",".join(map(str, divisions)),
        )
        for key, value in items.items():
            self.line("i", escaped(key), escaped(described(value)))
