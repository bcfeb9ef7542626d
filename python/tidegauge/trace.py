"""A trace: what was recorded about one process, and every question about it."""
from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence, SupportsIndex

from . import from_json
from .errors import Error, UnpicklableError, UsageError
from .results import Fragmentation, Growth, Holder, Later, OutOfMemory, Peak, Report, Verification, WhatIf
from .arguments import Place, index_of, place_of, seconds_of, shown, step_of, text_of, texts_of, truth_of, whole_of
from .sizes import Size, bytes_of, capacity_of, counted, human_bytes
from .table import Table

if TYPE_CHECKING:
    from types import TracebackType

    from . import _engine
    from .notebook import View
    from .plot import Plot
    from .server import Server

_ALL_ROWS = (1 << 64) - 1
_LIMIT = "Give a whole number from 1 to 2**64 - 2, or None for all rows"
_MOST_PIXELS = 100_000


def _table(name: str, doc: str) -> property:
    def get(self: "Trace") -> Table:
        return self.table(name)

    return property(get, doc=doc + f" Columns: docs/use/sql.md, {name}.")


class Trace:
    """One recorded process; made by `tidegauge.open`.

    Steps are indexes of events within a device; the state at step s is the state after event s. Methods that
    answer about one device take the only GPU if `device` is None. Any number of threads may ask one trace.
    """

    def __init__(self, engine: "_engine.Trace", source: Optional[object] = None) -> None:
        self._engine = engine
        self._about: dict[str, Any] = json.loads(engine.answer("schema", "{}"))
        self._source = source
        self._server: Optional["Server"] = None

    # ---- what it is

    @property
    def name(self) -> str:
        """The path, with the member of an archive or the process of a recording."""
        return str(self._about["name"])

    @property
    def format(self) -> str:
        """E.g. "pickle protocol 4"."""
        return str(self._about["format"])

    @property
    def is_recording(self) -> bool:
        """True for a recording of `tidegauge record`, False for a snapshot."""
        return bool(self._about["is_recording"])

    @property
    def device_ordinals(self) -> tuple[int, ...]:
        """The devices: 0, 1, …; -1 is pinned host memory."""
        return tuple(self._about["devices"])

    # ---- tables

    @property
    def tables(self) -> dict[str, str]:
        """Names of all tables, and a sentence about each."""
        return {one["name"]: one["doc"] for one in self._about["tables"]}

    def table(self, name: str) -> Table:
        """A table by its name, e.g. "launches" of a recording.

        Raises:
            UsageError: There is no such table.
        """
        return Table(self._engine.table(text_of(name, "name", "Give the name of a table, such as 'events'")), name)

    events = _table("events", "One row per recorded action of the allocator.")
    allocations = _table("allocations", "One row per allocation, from alloc to free.")
    segments = _table("segments", "One row per segment, from its allocation to its return to the driver.")
    pieces = _table("pieces", "Ranges of addresses that the process owned, exact in time.")
    blocks = _table("blocks", "Blocks and free parts of the segments in the final state.")
    totals = _table("totals", "Requested, active, allocated and reserved bytes after each event.")
    stacks = _table("stacks", "One row per distinct call stack.")
    frames = _table("frames", "One row per distinct frame of a stack.")
    stack_frames = _table("stack_frames", "Which frames a stack has, in order.")
    devices = _table("devices", "One row per device, with its peaks.")
    annotations = _table("annotations", "Ranges that the program named.")
    streams = _table("streams", "One row per stream.")
    pools = _table("pools", "One row per memory pool.")
    settings = _table("settings", "The allocator's settings.")
    issues = _table("issues", "What is odd in the file.")

    def sql(self, query: str, *, limit: Optional[SupportsIndex] = None, timeout_seconds: float = 60.0) -> Table:
        """The rows of one SELECT statement (SQLite's SQL over the tables; docs/use/sql.md).

        A column with integers and reals becomes real, one with numbers and texts becomes text. Ctrl-C ends it.

        Args:
            query: One statement that only reads.
            limit: Most rows; None: all.
            timeout_seconds: 0.001 to 1,000,000.

        Raises:
            UsageError: The SQL is wrong; byte_offset is the place in it, advice a correction.
            LimitError: It took longer.
        """
        text_of(query, "query", "Give SQL, such as t.sql('SELECT count(*) FROM events')")
        seconds = seconds_of(timeout_seconds, "timeout_seconds", 0.001, 1e6, "Give 0.001 to 1,000,000 seconds")
        most = _ALL_ROWS if limit is None else whole_of(limit, "limit", _LIMIT, 1, _ALL_ROWS - 1)
        return Table(self._engine.sql(query, most, seconds), query)

    # ---- answers

    def _ask(self, question: str, **options: Any) -> Any:
        try:
            text = self._engine.answer(question, json.dumps(options))
        except Error as error:
            error.file = error.file or self.name
            raise
        return text if question.endswith(("_text", "_svg")) else json.loads(text)

    def _device(self, device: Optional[SupportsIndex]) -> int:
        known = self.device_ordinals
        if device is not None:
            number = index_of(device)
            if number in known:
                return number
            if number is None:
                what = ("the text " if isinstance(device, str) else "") + shown(device)
                raise UsageError(f"device is {what}, but a number is needed", advice=f"Give a number, such as device={known[0] if known else 0}", file=self.name)
            has = f"The trace has: {', '.join(map(str, known))}" if known else self._emptiness()
            raise UsageError(f"there is no device {shown(number)}", advice=has, file=self.name)
        gpus = [one for one in known if one >= 0] or list(known)
        if len(gpus) == 1:
            return gpus[0]
        if not gpus:
            raise UsageError("the trace has no device", advice=self._emptiness(), file=self.name)
        raise UsageError(f"the trace has {len(gpus)} devices", advice=f"Say which: device={_few(gpus)}", file=self.name)

    def _emptiness(self) -> str:
        return ("The trace is empty: it has no events and no segments. Take the snapshot in the process that uses the GPU, "
                "after it has allocated memory")

    def _step(self, step: object, device: int) -> int:
        """The step, which must exist on the device; -1 is before the first event."""
        number = step_of(step)
        events, name = self.sql(f"SELECT events, name FROM devices WHERE device = {device}").rows()[0]
        if number >= max(events, 1):  # the only state of a snapshot without events is that of step 0
            last = f"Its last step is {events - 1}" if events else "It has no events: its only state is that of step 0"
            raise UsageError(f"{name} has no step {shown(number)}", advice=last, file=self.name)
        return number

    def _some_device(self, device: Optional[SupportsIndex]) -> Optional[int]:
        """The device, which must exist; None: all of them."""
        return None if device is None else self._device(device)

    def _of_device(self, device: Optional[SupportsIndex], **options: Any) -> Mapping[str, Any]:
        chosen = self._device(device)
        found: Mapping[str, Any] = self._ask("report", device=chosen, replay="none", **options)["devices"][0]
        return found

    def report(self, *, device: Optional[SupportsIndex] = None, begin: Optional[Place] = None, end: Optional[Place] = None,
               capacity: Optional[Size] = None, replay: str = "short") -> Report:
        """What happened, why, and what helps; as `tidegauge report`.

        Args:
            device: None: all of them.
            begin, end: A part of the recording, as --from and --to: 3101 (a step), "2.5s", "forward" (an annotation).
            capacity: Size of the device, e.g. "80GiB".
            replay: Which recordings are replayed to prove the advice: "short" (up to 500,000 events), "all", "none".
        """
        if replay not in ("short", "all", "none"):
            raise UsageError(f"replay is {replay!r}", advice="Give 'short', 'all' or 'none'")
        options = {"device": self._some_device(device), "from": place_of(begin, "begin"), "to": place_of(end, "end"), "capacity_bytes": capacity_of(capacity), "replay": replay}
        return from_json.report(self._ask("report", **options), self._later("report_text", **options))

    def _later(self, question: str, **options: Any) -> Later:
        engine = self._engine.share()  # the text stays after close()
        return Later(lambda: engine.answer(question, json.dumps(options)))

    def peak(self, device: Optional[SupportsIndex] = None) -> Peak:
        """The most memory that was in use."""
        return from_json.peak(self._of_device(device))

    def oom(self, device: Optional[SupportsIndex] = None, *, capacity: Optional[Size] = None) -> list[OutOfMemory]:
        """All out-of-memory events in order, with why; of all devices if `device` is None."""
        data = self._ask("report", device=self._some_device(device), replay="none", capacity_bytes=capacity_of(capacity))
        return [from_json.out_of_memory(of["device"], row) for of in data["devices"] for row in of["ooms"]]

    def live_at(self, step: SupportsIndex, device: Optional[SupportsIndex] = None) -> Table:
        """The allocations that are live after a step; -1 is before the first event."""
        chosen = self._device(device)
        return self.sql(f"SELECT * FROM live_at({chosen}, {self._step(step, chosen)})")

    def holders(self, step: Optional[SupportsIndex] = None, device: Optional[SupportsIndex] = None) -> list[Holder]:
        """Live memory by call stack, most bytes first.

        Args:
            step: After which step; None: at the peak of active memory.
        """
        chosen = self._device(device)
        if step is None:
            after = self.sql(f"SELECT peak_active_step FROM devices WHERE device = {chosen}").rows()[0][0]
        else:
            after = self._step(step, chosen)
        found = self.sql(f"SELECT h.*, ifnull(s.caller, '') AS caller FROM holders({chosen}, {after}) h "
                         "LEFT JOIN stacks s ON s.id = h.stack_id")
        names = found.column_names
        return [from_json.holder(dict(zip(names, row))) for row in found]

    def fragmentation(self, *, device: Optional[SupportsIndex] = None, begin: Optional[Place] = None, end: Optional[Place] = None,
                      request: Optional[Size] = None, capacity: Optional[Size] = None, samples: SupportsIndex = 200) -> Fragmentation:
        """Free memory inside segments at the end of the recording or of a part; as `tidegauge frag`.

        Args:
            request: A size; to_dict()["fit"] then says which free list would serve it.
            samples: Number of points over time in to_dict()["samples"].
        """
        points = whole_of(samples, "samples", "Give a whole number from 1 to 10,000", 1, 10_000)
        options = {"device": self._device(device), "from": place_of(begin, "begin"), "to": place_of(end, "end"), "request_bytes": bytes_of(request, "request"),
                   "capacity_bytes": capacity_of(capacity), "samples": points}
        return from_json.fragmentation(self._ask("frag", **options)["devices"][0], self._later("frag_text", **options))

    def growth(self, device: Optional[SupportsIndex] = None) -> Growth:
        """Which stacks hold more and more memory."""
        return from_json.growth(self._of_device(device))

    def whatif(self, settings: Optional[Sequence[str]] = None, *, capacity: Optional[Size] = None,
               device: Optional[SupportsIndex] = None, recorded_capacity: Optional[Size] = None, min_capacity: bool = False,
               drop: Sequence[str] = (), halve: Sequence[str] = ()) -> WhatIf:
        """The recording under other allocator settings, replayed; as `tidegauge whatif`.

        Args:
            settings: Texts for PYTORCH_CUDA_ALLOC_CONF; None: settings known to help.
            capacity: Memory of the device in the replays; None: as recorded.
            recorded_capacity: Memory of the recorded device; None: inferred.
            min_capacity: Also find the smallest device on which no request fails.
            drop, halve: Texts or /regexes/ of stacks whose allocations are left out, or have half their size.

        Raises:
            UsageError: PyTorch would reject a setting, or its caching allocator does not manage this memory.
        """
        confs = texts_of([settings] if isinstance(settings, str) else settings or (), "settings")
        data = self._ask("whatif", device=self._device(device), settings=confs, capacity_bytes=capacity_of(capacity),
                         recorded_capacity_bytes=capacity_of(recorded_capacity, "recorded_capacity"),
                         min_capacity=truth_of(min_capacity, "min_capacity"), drop=texts_of(drop, "drop"), halve=texts_of(halve, "halve"))
        return from_json.what_if(data["devices"][0])

    def verify(self, device: Optional[SupportsIndex] = None) -> Verification:
        """Replays the recording under its own settings and compares every event."""
        chosen = self._device(device)
        data = self._ask("whatif", device=chosen, verify_only=True)["devices"][0]
        return from_json.verification(chosen, data["verify"])

    # ---- pictures

    @property
    def plot(self) -> "Plot":
        """Pictures: `plot.timeline()`, `plot.fragmentation()`, `plot.whatif()`."""
        from .plot import Plot

        return Plot(self)

    def view(self, *, height_pixels: SupportsIndex = 720) -> "View":
        """The page of this trace: a notebook shows it in the cell; elsewhere open its `url`.

        Starts `tidegauge view` on this machine; it ends with this Python, or with stop(). A trace that was opened from
        bytes or objects is written to the temporary folder for that time. The page shows the whole file, also if `pick` or
        `pid` chose a part of it.

        Args:
            height_pixels: Of the frame in a notebook.

        Raises:
            MissingFeatureError: The program `tidegauge` is missing.
            UsageError: The trace was opened with keep_source=False, or is closed.
        """
        from .notebook import View
        from .server import Server

        if self.closed:
            raise UsageError("the trace is closed", advice="Open it again to show its page", file=self.name)
        pixels = whole_of(height_pixels, "height_pixels", f"Give a whole number from 1 to {_MOST_PIXELS:,}", 1, _MOST_PIXELS)
        if self._source is None:
            raise UsageError("what the trace was opened from was not kept", advice="Open it from its path to show its page", file=self.name)
        if self._server is None or not self._server.is_running:
            self._server = Server(self._source)
        return View(self._server, str(self._about["short_name"]), pixels)

    # ---- its life

    def close(self) -> None:
        """Frees it. Tables and Arrow data that were taken stay valid, and keep its memory until they go. Its page ends."""
        self._engine.close()
        self._source = None
        if self._server is not None:
            self._server.stop()

    @property
    def closed(self) -> bool:
        """True after close()."""
        return self._engine.closed()

    def __enter__(self) -> "Trace":
        if self.closed:
            raise UsageError("the trace is closed", advice="Open it again", file=self.name)
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional["TracebackType"]) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise UnpicklableError("a Trace cannot be pickled", advice="In the other process, open the file again")

    def __repr__(self) -> str:
        if self.closed:
            return f"<tidegauge.Trace {self.name}, closed>"
        rows = {one["name"]: one["rows"] for one in self._about["tables"]}
        parts = [counted(rows["events"], "event"), counted(rows["allocations"], "allocation")]
        for row in self.devices.select("name", "peak_active_bytes"):
            parts.append(f"{row[0]} peak {human_bytes(row[1])}")
        return f"<tidegauge.Trace {self.name}: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        from .notebook import trace_html

        return trace_html(self)


def _few(numbers: Sequence[int]) -> str:
    """ "0 or 1", "0, 1, …, 7"."""
    if len(numbers) > 3:
        return f"{numbers[0]}, {numbers[1]}, …, {numbers[-1]}"
    return ", ".join(map(str, numbers[:-1])) + f" or {numbers[-1]}"
