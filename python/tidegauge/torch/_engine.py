"""The way from here to the engine: `tidegauge.open()`, and the command in a process of its own."""

from __future__ import annotations

import importlib
import json
import os
import pathlib
import resource
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tidegauge.errors import Error
from tidegauge.programs import command

if TYPE_CHECKING:
    from tidegauge import Trace


# Low, but not lowest: the program waits for the report, and on a busy host priority 19 never runs.
NICE = 5


def open_trace(snapshot: dict[str, Any]) -> Trace:
    """Opens a snapshot that is a dictionary."""
    trace: Trace = importlib.import_module("tidegauge").open(snapshot)
    return trace


@dataclass
class Report:
    """What the command reported of a file, as text and as numbers; `problem` says what went wrong."""

    text: str = ""
    numbers: dict[str, Any] = field(default_factory=dict)
    problem: str = ""


def _modest(process: subprocess.Popen[bytes], memory_bytes: int) -> None:
    """Low priority, bounded memory, and the first to be killed when the host runs out."""
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
    with suppress(OSError):
        pathlib.Path(f"/proc/{process.pid}/oom_score_adj").write_text("1000")
    with suppress(OSError, ValueError):
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (memory_bytes, memory_bytes))


def _run(words: list[str], end: float, memory_bytes: int) -> tuple[bytes, str]:
    """Output and problem of one run that ends in time."""
    try:
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, "COLUMNS": "100"})
    except OSError as error:
        return b"", f"the command did not start: {error}"
    _modest(process, memory_bytes)
    try:
        out, err = process.communicate(timeout=max(0.0, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return b"", f"the report took too long and was stopped; run: tidegauge report {words[-1]}"
    except BaseException:
        process.kill()
        process.wait()
        raise
    if process.returncode != 0:
        return b"", err.decode(errors="replace").strip()[:500] or f"exit code {process.returncode}"
    return out, ""


def report_of(path: pathlib.Path, device: int | None, end: float, memory_bytes: int) -> Report:
    """Runs `tidegauge report` in processes of its own.

    Args:
        path: the snapshot.
        device: the report is about the last request that failed on it; None: about the whole file.
        end: of `time.monotonic()`; a run that lasts longer is killed.
        memory_bytes: the memory of its own that a run may use.
    """
    try:
        program = command()
    except Error as error:
        return Report(problem=str(error).rstrip("."))
    words = [program, "report", *([] if device is None else ["--oom", "last"])]
    written, problem = _run([*words, "--json", str(path)], end, memory_bytes)
    if problem:
        return Report(problem=problem)
    try:
        numbers = json.loads(written)
    except ValueError as error:
        return Report(problem=f"the report was not JSON: {error}")
    # A device that holds nothing is not in a file without events.
    if any(each.get("device") == device for each in numbers.get("devices", [])):
        words += ["--device", str(device)]
    text, problem = _run([*words, str(path)], end, memory_bytes)
    return Report(text.decode(errors="replace"), numbers, problem)
