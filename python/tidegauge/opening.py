"""Opening files, bytes and Python objects."""
from __future__ import annotations

import builtins
import contextlib
import io
import json
import os
import stat
import warnings
from typing import IO, Any, Optional, SupportsIndex, Union

from . import _engine, from_json
from .arguments import Place, device_of, path_of, place_of, shown, text_of, truth_of, whole_of
from .errors import Error, LimitError, MissingFileError, UnreadableError, UsageError
from .results import Diff, Later
from .sizes import with_article
from .trace import Trace

Source = Union[str, "os.PathLike[str]", "os.PathLike[bytes]", bytes, bytearray, memoryview, IO[bytes], dict[str, Any], list[Any]]
"""A path; the bytes of a file; a binary file object; or what torch.cuda.memory._snapshot() or
memory_snapshot() returns."""


def open(source: Source, *, name: Optional[str] = None, pick: Optional[SupportsIndex] = None, pid: Optional[SupportsIndex] = None,
         categories: Optional[str] = None, keep_source: bool = True) -> Trace:
    """Opens a snapshot or a recording.

    Any file of `tidegauge view`: PyTorch's snapshots (pickle, JSON, HTML; plain, gzip, zstd, xz, bzip2 or zip) and
    recordings of `tidegauge record`. Nothing in it is executed. Objects of Python are taken over without a pickle;
    that holds the GIL, about 1 µs per event, and they may be changed afterwards.

    Args:
        source: Where it is.
        name: A name for people, of bytes and objects. A path is its own name and takes none.
        pick: Which one, from 1, if there are several snapshots or processes.
        pid: Which process of a recording.
        categories: A YAML file with rules for what memory is for; None: the built-in ones.
        keep_source: Whether the trace keeps bytes and objects until it is closed. `Trace.view` writes them into a file.

    Raises:
        MissingFileError: There is no such file. It is an UnreadableError and a FileNotFoundError.
        UnreadableError: It is damaged, or something else.
        UsageError: It has several snapshots or processes and neither `pick` nor `pid` says which. Or it is a file of
            `tidegauge wss -o`, which `tidegauge.wss` opens.
        LimitError: It does not fit into memory.
    """
    process = None if pid is None else whole_of(pid, "pid", "Give the number of a process")
    place = None if pick is None else whole_of(pick, "pick", "Give a number from 1, or take tidegauge.open_all()")
    traces = open_all(source, name=name, categories=categories, keep_source=keep_source)
    if process is not None:
        fits = [one for one in traces if _pid_of(one) == process]
        if not fits:
            known = ", ".join(str(each) for each in map(_pid_of, traces[:20]) if each is not None)
            advice = f"The file has: {known}" if known else "A snapshot does not say which process it is of: leave pid out"
            raise UsageError(f"there is no process {shown(process)}", advice=advice, file=traces[0].name)
        traces = fits
    if place is not None:
        if not 1 <= place <= len(traces):
            advice = f"Give pick=1 to {len(traces)}" if len(traces) > 1 else "It has one alone: leave pick out, or give pick=1"
            raise UsageError(f"there is no number {shown(place)}", advice=advice, file=traces[0].name)
        return traces[place - 1]
    if len(traces) == 1:
        return traces[0]
    names = "".join(f"\n  {i} {one.name}" for i, one in enumerate(traces[:20], 1))
    raise UsageError(f"it has {len(traces)} snapshots or processes",
                     advice=f"Say which with pick=1 to {len(traces)}, or take tidegauge.open_all():{names}\n", file=name or _name(source))


def open_all(source: Source, *, name: Optional[str] = None, categories: Optional[str] = None,
             keep_source: bool = True) -> list[Trace]:
    """All snapshots of an archive, or all processes of a recording; see `open`."""
    if name is not None:
        text_of(name, "name", "Give a name for people")
        if isinstance(source, (str, os.PathLike)) and not _is_pipe(os.fsdecode(source)):
            raise UsageError(f"name is {shown(name)}, but a path is its own name", advice="Leave name out", file=_name(source))
    keep_source = truth_of(keep_source, "keep_source")
    called = (name or _name(source)).encode(errors="replace").decode().replace("\0", "?")
    rules = "" if categories is None else _text_of(path_of(categories, "categories"))
    try:
        traces, said, kept = _opened(source, called, rules)
    except Error as error:
        error.file = error.file or called
        if isinstance(error, UnreadableError):
            _raise_if_other_kind(source, error.file)
        raise
    for text in said:
        warnings.warn(text, RuntimeWarning, stacklevel=3)
    return [Trace(one, kept if keep_source or isinstance(kept, str) else None) for one in traces]


def _opened(source: Source, name: str, rules: str) -> tuple[list[_engine.Trace], list[str], object]:
    """The traces, warnings, and what `Trace.view` may show."""
    if isinstance(source, (str, os.PathLike)):
        path = path_of(source, "the path")
        _raise_if_missing(path)
        if _is_pipe(path):  # nobody may write it; Python's own open() can be interrupted
            with builtins.open(path, "rb") as pipe:
                data = _bytes_of(pipe)
            return *_engine.open_bytes(data, name, rules), data
        return *_engine.open_file(path, rules), os.path.abspath(path)
    if isinstance(source, (bytes, bytearray, memoryview)):
        data = bytes(source)
        return *_engine.open_bytes(data, name, rules), data
    if isinstance(source, (dict, list)):
        return *_engine.open_objects(source, name, rules), source
    read = getattr(source, "read", None)
    if read is None:
        raise UsageError(f"cannot open {with_article(type(source).__name__)}",
                         advice="Give a path, bytes, a binary file object, or the dict of torch.cuda.memory._snapshot()")
    data = _bytes_of(source)
    return *_engine.open_bytes(data, name, rules), data


def _raise_if_missing(path: str) -> None:
    if not path:
        raise MissingFileError("the path is empty", advice="Give the path of a file")
    try:
        os.stat(path)
    except FileNotFoundError:
        folder = os.path.dirname(path)
        advice = "Check its name" if os.path.isdir(folder or ".") else f"The folder {folder} is missing, too"
        if not os.path.isabs(path):
            advice += ". The path is taken from the current folder"
            with contextlib.suppress(OSError):  # that may be gone
                advice += f", {os.getcwd()}"
        raise MissingFileError("no such file", advice=advice, file=path) from None
    except OSError:  # the engine says what is wrong
        pass


def _raise_if_other_kind(source: Any, called: str) -> None:
    """Some files of Tidegauge are opened by another call, or not from memory."""
    from .working_set import is_measurement

    beginning = b""
    if isinstance(source, (bytes, bytearray, memoryview)):
        beginning = bytes(source[:32])
    elif isinstance(source, (str, os.PathLike)) and not _is_pipe(os.fsdecode(source)):
        with contextlib.suppress(OSError), builtins.open(source, "rb") as file:
            beginning = file.read(32)
    elif hasattr(source, "seek"):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            place = source.tell()
            source.seek(0)
            beginning = source.read(32)
            source.seek(place)
    if is_measurement(beginning):
        raise UsageError("this is a measurement of a working set of host memory, not of GPU memory",
                         advice="Open it with tidegauge.wss(path)", file=called) from None
    if beginning.startswith(b"SQLite format 3\0") and not isinstance(source, (str, os.PathLike)):
        raise UsageError("a recording is read from its file, not from memory", advice="Give its path", file=called) from None


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except OSError:
        return False


def _bytes_of(file: Any) -> bytes:
    try:
        data = file.read()
    except io.UnsupportedOperation:
        raise UnreadableError("the file object cannot be read", advice="Open it in binary mode: open(path, 'rb')") from None
    except (OSError, ValueError) as error:
        raise UnreadableError(str(error)) from None
    except MemoryError:
        raise LimitError("not enough memory to read it") from None
    if not isinstance(data, bytes):
        raise UsageError("the file object gives text", advice="Open it in binary mode: open(path, 'rb')")
    return data


def _text_of(path: str) -> str:
    try:
        with builtins.open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadableError(getattr(error, "strerror", None) or "it is not UTF-8", file=path) from None


def _name(source: object) -> str:
    if isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    known = getattr(source, "name", None)
    return known if isinstance(known, str) else f"<{type(source).__name__}>"


def _pid_of(trace: Trace) -> Optional[int]:
    for (pid,) in trace.sql("SELECT pid FROM processes WHERE is_this").rows():
        return int(pid) if pid is not None else None
    return None


def diff(a: Trace, b: Trace, *more: Trace, at: Optional[Place] = None, at_a: Optional[Place] = None, at_b: Optional[Place] = None,
         device: Optional[SupportsIndex] = None, device_a: Optional[SupportsIndex] = None, device_b: Optional[SupportsIndex] = None,
         by: str = "stack") -> Diff:
    """Compares two traces, or two points of one; more than two are ranks of one job. As `tidegauge diff`.

    Args:
        a, b: Before and after.
        at: Where to compare: "peak" (the default), "end", "oom", "phase:NAME", "step:3101", "time:2.5s".
        at_a, at_b: The same for one side.
        device: Of both; None: the sum of all GPUs.
        by: Rows by "stack", "category", "size" or "segment".

    Raises:
        UsageError: A trace has no such place or device.
    """
    options = json.dumps({"at": place_of(at, "at"), "at_a": place_of(at_a, "at_a"), "at_b": place_of(at_b, "at_b"),
                          "device": device_of(device, "device"), "device_a": device_of(device_a, "device_a"),
                          "device_b": device_of(device_b, "device_b"), "by": text_of(by, "by", "Give 'stack', 'category', 'size' or 'segment'")})
    for one in (a, b, *more):
        if not isinstance(one, Trace):
            raise UsageError(f"{shown(one)} is not a trace", advice="Give what tidegauge.open() returns")
    engines = tuple(one._engine.share() for one in (a, b, *more))
    data = json.loads(_engine.compare(engines, "diff", options))
    return from_json.diff(data, Later(lambda: _engine.compare(engines, "diff_text", options)))

