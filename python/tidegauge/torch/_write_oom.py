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

from tidegauge.sizes import human_bytes

from . import _files, _host, _live, _plan
from ._engine import Report, report_of
from ._holders import LiveHolder, holders
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
    """A request that failed. Sizes in bytes; `start` as of `time.monotonic()`."""

    device: int
    requested: int
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
    while (folder / f"{stem}-{number}.json").exists():
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


def _figures(failure: Failure, found: _Found) -> dict[str, Any]:
    return {
        "version": 1, "device": failure.device, "requested_bytes": failure.requested,
        "device_total_bytes": failure.total, "device_free_bytes": failure.free, "failures_so_far": failure.ooms,
        "rank": _host.rank(), "local_rank": os.environ.get("LOCAL_RANK"), "process": os.getpid(),
        "host": _host.host_name(), "time_us": time.time_ns() // 1000, "command": sys.argv,
        "torch": str(_live.torch_module().__version__), "history": history, "taken": plan.take,
        "missing": missing, "stack": [list(frame) for frame in failure.stack],
        "stats": {str(device): _live.stats(device) for device in _live.devices()},
    }


def _missing(plan: _plan.Plan, history: bool) -> list[str]:
    """What the files lack, and how to have it next time."""
    missing = []
    if not history:
        missing.append("history was off, so events and stacks are missing: on_oom(…, history=100_000)")
    if plan.reason:
        missing.append(plan.reason)
    return missing


def write_oom(failure: Failure, settings: Settings) -> list[pathlib.Path]:
    """Writes what the plan allows; returns the files. Errors of the disk are reported on stderr."""
    folder = pathlib.Path(settings.folder)
    folder.mkdir(parents=True, exist_ok=True)
    end = failure.start + settings.max_delay_s
    written: list[pathlib.Path] = []
    report, history = Report(), _live.history_on()
    top: list[Holder] = []
    base = _base(failure, folder)
    with _files.one_writer(folder, WAIT_SHARE * settings.max_delay_s) as alone:
        plan = _plan.Plan(_plan.COUNTERS, "another process of this host was writing, so only counters were written")
        if alone:
            plan = _plan.plan_now(folder, PATTERN, settings.max_folder_bytes, settings.keep_free_bytes,
                                  TAKE_SHARE * (end - time.monotonic()))
        missing = _missing(plan, history)
        if plan.take != _plan.COUNTERS:
            path = base.with_suffix(".pickle")
            taken = with_names(_live.take(plan.take == _plan.EVENTS), lazily=True)
            _files.write_whole(path, lambda file: write_snapshot(file, taken))
            top = holders({"segments": taken["segments"]}, failure.device)[:1]
            del taken
            written.append(path)
    if written and settings.report:
        # The lock was free between the two, so that every rank has its snapshot before the first report.
        with _files.one_writer(folder, end - time.monotonic() - LEAST_REPORT_S) as alone:
            report = _report(written[0], end) if alone else Report(problem="other processes of this host took the time")
        if report.problem:
            missing.append(f"no report: {report.problem}")
    written += _write_texts(base, failure, plan, history, missing, report)
    _say(lines_of(failure, written, missing, report, top))
    return written


def _report(path: pathlib.Path, end: float) -> Report:
    memory = _host.headroom()
    if end - time.monotonic() < LEAST_REPORT_S:
        return Report(problem="no time was left")
    # The command needs about twice the file, and less than 64 MiB beside.
    if 3 * path.stat().st_size + _plan.WRITE_BYTES > _plan.SHARE * memory.bytes:
        return Report(problem=f"only {human_bytes(memory.bytes)} of host memory are left ({memory.limit})")
    return report_of(path, end, int(memory.bytes * _plan.SHARE))


def _write_texts(base: pathlib.Path, failure: Failure, plan: _plan.Plan, history: bool, missing: list[str],
                 report: Report) -> list[pathlib.Path]:
    texts = {}
    if report.text:
        texts[base.with_suffix(".txt")] = report.text
    figures = _figures(failure, plan, history, missing)
    figures["why"], figures["helps"] = _why(report, failure.device), _helps(report, failure.device)
    texts[base.with_suffix(".json")] = json.dumps(figures, indent=1) + "\n"
    for path, text in texts.items():
        _files.write_whole(path, partial(_write_bytes, text.encode()))
    return list(texts)


def _write_bytes(data: bytes, file: BinaryIO) -> int:
    return file.write(data)


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
    rows = _of_device(report, device, "holders_at_oom", "rows") or _of_device(report, device, "holders_at_peak", "rows")
    found = [LiveHolder(row["bytes"], row["blocks"], row["label"]) for row in rows[:1]] or top
    return "".join(f"; largest holder: {human_bytes(each.bytes)} in {each.blocks} blocks, {each.label}"
                   for each in found)


def lines_of(failure: Failure, written: list[pathlib.Path], missing: list[str], report: Report,
             top: list[Holder]) -> list[str]:
    """The five lines: what failed, what held memory, why, what helps, and where the files are."""
    device, stats = failure.device, _live.stats(failure.device)
    held = stats.get("allocated_bytes.all.current", 0)
    reserved = stats.get("reserved_bytes.all.current", 0)
    helps = _helps(report, device)
    why = _why(report, device) or "; ".join(missing) or "see the report"
    places = " ".join(str(path) for path in written) or "nothing was written"
    return [
        f"cuda:{device} is out of memory (rank {_host.rank()}, process {os.getpid()}): requested "
        f"{human_bytes(failure.requested)}, the driver had {human_bytes(failure.free)} free of "
        f"{human_bytes(failure.total)}",
        f"held: {human_bytes(held)} allocated, {human_bytes(reserved)} reserved{_holder(report, device, found.top)}",
        f"why: {why}",
        f"helps: {(helps[0]['copy'] or helps[0]['text']) if helps else 'no advice'}"
        + (f"; missing: {'; '.join(missing)}" if missing and _why(report, device) else ""),
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
