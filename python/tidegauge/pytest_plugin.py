"""The pytest plugin: limits and leaks of GPU memory per test, and a report per test.

    @pytest.mark.limit_gpu_memory("2GiB")     the test may allocate that much above what was there before
    @pytest.mark.no_gpu_leak                  nothing that the test allocated may stay
    pytest --tidegauge[=FOLDER]               a snapshot and a report per test that used a GPU, and a summary

Works under pytest-xdist: each worker measures its own tests, and the summary has those of all workers. Two
workers on one device do not disturb each other, because PyTorch counts per process.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import pathlib
import re
import time
from collections.abc import Callable, Generator
from typing import Any

import pytest

PROPERTY = "tidegauge"
RING_EVENTS = 100_000
REPORT_LIMIT_S = 60.0
HUNGRIEST = 10


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --tidegauge and --tidegauge-folder."""
    group = parser.getgroup("tidegauge", "GPU memory")
    group.addoption("--tidegauge", action="store_true", help="Write a GPU memory snapshot and a report per test")
    # Not a value of --tidegauge: pytest would take the next test's file for it.
    group.addoption("--tidegauge-folder", default=None, metavar="FOLDER",
                    help="The same, into this folder (default: tidegauge-report)")


def _folder_of(config: pytest.Config) -> str | None:
    """Where reports go; None if none are asked for."""
    folder: str | None = config.getoption("tidegauge_folder")
    if folder is None and config.getoption("tidegauge"):
        return "tidegauge-report"
    return folder


def pytest_configure(config: pytest.Config) -> None:
    """Adds the markers, and the summary where results of all workers arrive."""
    config.addinivalue_line("markers", "limit_gpu_memory(size, device=None): fail if the test allocates more GPU "
                                       "memory than this above what was allocated before it, e.g. '2GiB'")
    config.addinivalue_line("markers", "no_gpu_leak(allowed_bytes=0): fail if GPU memory that the test allocated "
                                       "stays allocated after it")
    if not hasattr(config, "workerinput"):  # not a worker of xdist
        config.pluginmanager.register(_Summary(), "tidegauge summary")


class _Summary:
    """The tests with the highest peaks."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, str, str]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            for name, value in report.user_properties:
                if name == PROPERTY and isinstance(value, dict):
                    self.rows.append((int(value["added_bytes"]), report.nodeid, str(value.get("report", ""))))

    def pytest_terminal_summary(self, terminalreporter: Any, config: pytest.Config) -> None:
        if _folder_of(config) is None:
            return
        from .sizes import human_bytes

        terminalreporter.section("GPU memory (tidegauge)")
        if not self.rows:
            terminalreporter.line("no test used a GPU through PyTorch")
        for size, test, report in sorted(self.rows, key=lambda row: (-row[0], row[1]))[:HUNGRIEST]:
            terminalreporter.line(f"{human_bytes(size):>9}  {test}" + (f"  {report}" if report else ""))


def _file_name(nodeid: str) -> str:
    """A name of a file that no other test takes, also on file systems that ignore case."""
    plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", nodeid).strip("-")[-120:]
    return f"{plain}-{hashlib.sha256(nodeid.encode()).hexdigest()[:8]}"


def _limit_gpu_memory(size: Any, device: Any = None) -> tuple[Any, Any]:
    return size, device


def _no_gpu_leak(allowed_bytes: Any = 0) -> Any:
    return allowed_bytes


def _given(take: Callable[..., Any], marker: pytest.Mark, usage: str) -> Any:
    """The arguments of a marker. One that is not known must not be a limit that nobody checks."""
    try:
        return take(*marker.args, **marker.kwargs)
    except TypeError:
        raise pytest.UsageError(f"{marker.name} needs {usage}") from None


class _Limits:
    """The markers of a test, checked before it runs."""

    def __init__(self, item: pytest.Item) -> None:
        from .errors import UsageError
        from .sizes import bytes_or_zero
        from .torch._live import ordinal_of

        self.size: int | None = None
        self.device: int | None = None
        self.leak: int | None = None
        marker = item.get_closest_marker("limit_gpu_memory")
        if marker is not None:
            size, self.device = _given(_limit_gpu_memory, marker,
                                       'one size, perhaps a device: @pytest.mark.limit_gpu_memory("2GiB", device=0)')
            self.size = _bytes(bytes_or_zero, marker, size)
            try:
                self.device = ordinal_of(self.device)
            except UsageError as error:
                raise pytest.UsageError(f"{marker.name}: {error}") from None
        marker = item.get_closest_marker("no_gpu_leak")
        if marker is not None:
            allowed = _given(_no_gpu_leak, marker, 'at most a size: @pytest.mark.no_gpu_leak("1MiB")')
            self.leak = _bytes(bytes_or_zero, marker, allowed)


def _bytes(read: Callable[[Any, str], int], marker: pytest.Mark, size: Any) -> int:
    try:
        return read(size, f"the size of {marker.name}")
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


# hookwrapper, not wrapper: that one is new in pluggy 1.2, and the plugin is loaded with any pytest.
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    """Measures the test's call, without its fixtures' set-up."""
    folder = _folder_of(item.config)
    if folder is None and not any(item.get_closest_marker(name) for name in ("limit_gpu_memory", "no_gpu_leak")):
        yield
        return
    from .torch import _live
    from .torch._limit import History
    from .torch._peaks import PeakWatch

    limits = _Limits(item)
    history, watch = History(RING_EVENTS), PeakWatch()
    history.start()
    with contextlib.suppress(ImportError):
        history.begin_later()
    watch.start()
    outcome = yield
    try:
        watch.stop()
        if limits.leak is not None:
            gc.collect()
        if folder is not None and _live.cuda_ready():
            _write(item, pathlib.Path(folder), watch)
        if outcome.excinfo is None:
            _check(limits, watch)
    except BaseException as error:
        _force(outcome, error)
    finally:
        history.stop()


def _force(outcome: Any, error: BaseException) -> None:
    """Makes the error the outcome. A wrapper that raises would keep pytest's other wrappers from their ends."""
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(error)
    else:  # pluggy before 1.1
        outcome._excinfo = (type(error), error, error.__traceback__)


def _check(limits: _Limits, watch: Any) -> None:
    from .torch import _live
    from .sizes import counted, human_bytes
    from .torch._limit import holders_at_peak
    from .torch._holders import holders
    from .torch._snapshot import snapshot

    _live.check_ordinal(limits.device)
    for device, added in sorted(watch.added_bytes().items()):
        if limits.size is not None and added > limits.size and limits.device in (None, device):
            lines = holders_at_peak(device)
            text = (f"the test allocated {human_bytes(added)} on cuda:{device}, more than its limit of "
                    f"{human_bytes(limits.size)}.{' At the peak, with what was there before:' if lines else ''}")
            pytest.fail("\n  ".join([text, *lines]), pytrace=False)
        now = _live.stats(device).get("allocated_bytes.all.current", 0)
        left = now - watch.start_bytes.get(device, 0)
        if limits.leak is not None and left > limits.leak:
            held = holders(snapshot(events=False), device)[:3]
            pytest.fail("\n  ".join([f"{human_bytes(left)} that the test allocated on cuda:{device} stayed. "
                                     "The largest holders now:",
                                     *(f"{human_bytes(each.bytes)} in {counted(each.blocks, 'block')}  {each.label}"
                                       for each in held)]), pytrace=False)


def _write(item: pytest.Item, folder: pathlib.Path, watch: Any) -> None:
    """Snapshot and report of a test that allocated something, and its figures for the summary."""
    from .torch import _host
    from .torch._engine import report_of
    from .torch._snapshot import save

    added = max(watch.added_bytes().values(), default=0)
    peak = max(watch.peak_bytes.values(), default=0)
    if added <= 0:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{_file_name(item.nodeid)}.pickle"
    values = {"added_bytes": added, "peak_bytes": peak, "report": ""}
    try:
        save(path)
        report = report_of(path, None, time.monotonic() + REPORT_LIMIT_S, int(_host.headroom().bytes * 0.8))
        path.with_suffix(".txt").write_text(report.text or f"no report: {report.problem}\n")
        values["report"] = str(path.with_suffix(".txt"))
    except OSError as error:
        item.warn(pytest.PytestWarning(f"tidegauge: no report of this test: {error}"))
    item.user_properties.append((PROPERTY, values))
