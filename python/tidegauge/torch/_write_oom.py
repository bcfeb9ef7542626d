"""Writes one out-of-memory failure: snapshot, report, figures, and five lines on stderr."""

from __future__ import annotations

import json
import os
import pathlib
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegauge.sizes import counted, human_bytes

from . import _files, _host, _live, _plan
from ._engine import Report, report_of
from ._holders import LiveHolder, holders
from ._request import requested_of
from ._snapshot import with_names
from ._stream import write_snapshot

if TYPE_CHECKING:
    from ._oom import Settings

# File, line and function of each frame, innermost first.
Stack = tuple[tuple[str, int, str], ...]
PATTERN = "oom-*.pickle"
# Shares of the delay: waiting for other processes of the host, and for the snapshot; the rest is the report's.
WAIT_SHARE, TAKE_SHARE = 0.3, 0.7
# A report is given up if less than this is left, in seconds.
LEAST_REPORT_S = 0.2


@dataclass(frozen=True)
class Failure:
    """A request that failed. Sizes in bytes; `start` as of `time.monotonic()`.

    `segment` is what the allocator asked of the driver for it: an observer of PyTorch gets no more. A request of
    4 MiB asks for 20 MiB.
    """

    device: int
    segment: int
    total: int
    free: int
    number: int
    ooms: int
    stack: Stack
    start: float


def _base(failure: Failure, folder: pathlib.Path) -> pathlib.Path:
    """A name that no other process, rank or host takes; an earlier run's files stay."""
    stem = f"oom-{_host.host_name()}-r{_host.rank()}-p{os.getpid()}"
    number = failure.number
    while any((folder / f"{stem}-{number}{ending}").exists() for ending in (".pickle", ".txt", ".json")):
        number += 1
    return folder / f"{stem}-{number}"


@dataclass
class _Found:
    """What is known and written so far."""

    history: bool
    plan: _plan.Plan = _plan.Plan(_plan.COUNTERS, "another process of this host was writing, so only counters were "
                                                  "written")
    written: list[pathlib.Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    report: Report = field(default_factory=Report)
    top: list[LiveHolder] = field(default_factory=list)
    requested: int | None = None


def _figures(failure: Failure, found: _Found) -> dict[str, Any]:
    return {
        "version": 1, "device": failure.device, "requested_bytes": found.requested,
        "segment_bytes": failure.segment, "device_total_bytes": failure.total,
        "device_free_bytes": failure.free, "failures_so_far": failure.ooms,
        "rank": _host.rank(), "local_rank": os.environ.get("LOCAL_RANK"), "process": os.getpid(),
        "host": _host.host_name(), "time_us": time.time_ns() // 1000, "command": sys.argv,
        "torch": str(_live.torch_module().__version__), "history": found.history, "taken": found.plan.take,
        "missing": found.missing, "stack": [list(frame) for frame in failure.stack],
        "stats": {str(device): _live.stats(device) for device in _live.devices()},
        "why": _why(found.report, failure.device), "helps": _helps(found.report, failure.device),
    }


def _missing(plan: _plan.Plan, history: bool) -> list[str]:
    """What the files lack, and how to have it next time."""
    missing = []
    if not history:
        missing.append("history was off, so events and stacks are missing: on_oom(…, history=100_000)")
    if plan.reason:
        missing.append(plan.reason)
    return missing


def write_oom(failure: Failure, settings: Settings) -> tuple[list[pathlib.Path], int | None]:
    """Writes what the plan allows, and says five lines; returns the files, and the bytes that the program requested.

    A disk or a memory that is full in the middle costs the file that was being written. The lines say so.
    """
    folder = pathlib.Path(settings.folder)
    end = failure.start + settings.max_delay_s
    found = _Found(_live.history_on())
    base = folder / "oom"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        base = _base(failure, folder)
        _write_snapshot(base, failure, settings, found, end)
    except Exception as error:
        found.plan = _plan.Plan(_plan.COUNTERS, f"the snapshot was left out: {_text_of(error)}")
    found.missing = _missing(found.plan, found.history)
    if found.written and settings.report:
        try:
            # The lock was free between the two, so that every rank has its snapshot before the first report.
            with _files.one_writer(folder, end - time.monotonic() - LEAST_REPORT_S) as alone:
                found.report = (_report(found.written[0], failure.device, end) if alone
                                else Report(problem="other processes of this host took the time"))
        except Exception as error:
            found.report = Report(problem=_text_of(error))
        if found.report.problem:
            found.missing.append(f"no report: {found.report.problem}")
    _write_texts(base, failure, found)
    _say(lines_of(failure, found))
    return found.written, found.requested


def _text_of(error: Exception) -> str:
    """An error for people: that of a full memory has no text of its own."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def _write_snapshot(base: pathlib.Path, failure: Failure, settings: Settings, found: _Found, end: float) -> None:
    """Plans, and writes the snapshot if the plan has one."""
    with _files.one_writer(base.parent, WAIT_SHARE * settings.max_delay_s) as alone:
        if not alone:
            return
        found.plan = _plan.plan_now(base.parent, PATTERN, settings.max_folder_bytes, settings.keep_free_bytes,
                                    TAKE_SHARE * (end - time.monotonic()))
        if found.plan.take == _plan.COUNTERS:
            return
        path = base.with_suffix(".pickle")
        taken = with_names(_live.take(found.plan.take == _plan.EVENTS), lazily=True)
        found.requested = requested_of(taken, failure.device, failure.segment)
        _files.write_whole(path, lambda file: write_snapshot(file, taken))
        found.written.append(path)
        with suppress(Exception):  # one line has less then, the file is there
            found.top = holders({"segments": taken["segments"]}, failure.device)[:1]


def _report(path: pathlib.Path, device: int, end: float) -> Report:
    memory = _host.headroom()
    if end - time.monotonic() < LEAST_REPORT_S:
        return Report(problem="no time was left")
    # The command needs about twice the file, and less than 64 MiB beside.
    if 3 * path.stat().st_size + _plan.WRITE_BYTES > _plan.SHARE * memory.bytes:
        return Report(problem=f"only {human_bytes(memory.bytes)} of host memory are left ({memory.limit})")
    return report_of(path, device, end, int(memory.bytes * _plan.SHARE))


def _write_texts(base: pathlib.Path, failure: Failure, found: _Found) -> None:
    """The report, and the figures: the second has what the first lacks."""
    if found.report.text:
        _write_text(base.with_suffix(".txt"), lambda: found.report.text, found)
    _write_text(base.with_suffix(".json"), lambda: json.dumps(_figures(failure, found), indent=1) + "\n", found)


def _write_text(path: pathlib.Path, text: Callable[[], str], found: _Found) -> None:
    try:
        data = text().encode()
        _files.write_whole(path, lambda file: file.write(data))
        found.written.append(path)
    except Exception as error:
        found.missing.append(f"no {path.suffix} file: {_text_of(error)}")


def _of_device(report: Report, device: int, *keys: str) -> list[dict[str, Any]]:
    """A list of the report's JSON; empty if the report has none there."""
    for each in report.numbers.get("devices", []):
        if each.get("device") == device:
            found: Any = each
            for key in keys:
                found = found.get(key) if isinstance(found, dict) else None
            return found if isinstance(found, list) else []
    return []


def _why(report: Report, device: int) -> str:
    sentences = _of_device(report, device, "story", "sentences")
    return str(sentences[0]["text"]) if sentences else ""


def _helps(report: Report, device: int) -> list[dict[str, str]]:
    advice = _of_device(report, device, "advice")
    return [{"text": str(each.get("text", "")), "copy": str(each.get("copy") or "")} for each in advice]


def _holder(report: Report, device: int, top: list[LiveHolder]) -> str:
    """The largest holder as the report has it; without a report, of the snapshot's blocks."""
    rows = _of_device(report, device, "holders_at_oom", "rows")
    found = [LiveHolder(row["bytes"], row["blocks"], row["label"]) for row in rows[:1]] or top
    return "".join(f"; largest holder: {human_bytes(each.bytes)} in {counted(each.blocks, 'block')}, {each.label}"
                   for each in found)


def _request(segment: int, requested: int | None) -> str:
    """What the program requested; without events only the segment for it is known."""
    if requested is None:
        return f"requested a segment of {human_bytes(segment)}" if segment else "requested an unknown size"
    if human_bytes(requested) == human_bytes(segment) or not segment:
        return f"requested {human_bytes(requested)}"
    return f"requested {human_bytes(requested)} in a segment of {human_bytes(segment)}"


def lines_of(failure: Failure, found: _Found) -> list[str]:
    """The five lines: what failed, what held memory, why, what helps, and where the files are."""
    device, stats, report = failure.device, _live.stats(failure.device), found.report
    held = stats.get("allocated_bytes.all.current", 0)
    reserved = stats.get("reserved_bytes.all.current", 0)
    helps = _helps(report, device)
    why = _why(report, device) or "; ".join(found.missing) or "see the report"
    places = " ".join(str(path) for path in found.written) or "nothing was written"
    return [
        f"cuda:{device} is out of memory (rank {_host.rank()}, process {os.getpid()}): "
        f"{_request(failure.segment, found.requested)}, the driver had {human_bytes(failure.free)} free of "
        f"{human_bytes(failure.total)}",
        f"held: {human_bytes(held)} allocated, {human_bytes(reserved)} reserved{_holder(report, device, found.top)}",
        f"why: {why}",
        f"helps: {(helps[0]['copy'] or helps[0]['text']) if helps else 'no advice'}"
        + (f"; missing: {'; '.join(found.missing)}" if found.missing and _why(report, device) else ""),
        f"files: {places}",
    ]


def _say(lines: list[str]) -> None:
    """One write, so that the lines of several ranks do not mix."""
    text = "".join(f"tidegauge: {' '.join(line.split())}\n" for line in lines)
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError, AttributeError):
        pass
