"""torch's own viewer, in Python: from the file to the text that each of its functions makes, against our commands.

The functions run alone, without the rest of torch. Its flame graphs need a Perl script of the web; what is measured
is the lines for it.
"""
import os
import pathlib
import re
import sys

import first_tile
import measure
from table import Table, megabytes, seconds

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTIONS = ("trace_plot", "segment_plot", "memory", "trace")
LARGE = ("trace_plot",)  # of the 10 M file: each takes minutes
MANY = 1_000_000
CALL = """
import importlib.util, pickle, sys
script, function, path, out = sys.argv[1:]
spec = importlib.util.spec_from_file_location("_memory_viz", script)
viz = importlib.util.module_from_spec(spec)
spec.loader.exec_module(viz)
with open(path, "rb") as file:
    data = pickle.load(file)
more = {"format_flamegraph": lambda lines: lines} if function == "memory" else {}
with open(out, "w", encoding="utf-8") as file:
    file.write(getattr(viz, function)(data, **more))
"""


def script_in(folder):
    """That of torch's wheel, if the live tests have fetched it, else that of the folder; None without."""
    wheels = sorted(ROOT.glob("build/*/live/torch/venv/lib/python3*/site-packages/torch/cuda/_memory_viz.py"))
    return next((path for path in [*wheels, folder / "_memory_viz.py"] if path.exists()), None)


def version_of(script):
    """2.15.0"""
    of_wheel = script.parents[1] / "version.py"
    if of_wheel.exists():
        return re.search(r"__version__ = '([\d.]+)", of_wheel.read_text(encoding="utf-8")).group(1)
    return (script.parent / "version").read_text(encoding="utf-8").strip()


def page_of(folder, path):
    """Where the page of trace_plot is kept for the browser."""
    return folder / f"{path.stem}.trace_plot.html"


def made(script, function, path, out):
    """Writes to OUT, at first beside it."""
    part = out.with_suffix(".part")
    cost = measure.cost(sys.executable, "-c", CALL, script, function, path, part)
    os.replace(part, out)
    return cost


def measured(binary, folder, script, paths):
    """`paths`: {events: file}. Each runs once: the ratios are large."""
    table = Table("memory_viz in Python", "bench/report/run.py --only memory_viz",
                  ["file", f"torch {version_of(script)}, or Tidegauge", "processor time", "elapsed", "peak memory",
                   "writes"])

    def add(path, name, it, writes=None):
        table.add(path.name, name, seconds(it.processor_s), seconds(it.wall_s), megabytes(it.peak_bytes),
                  "" if writes is None else megabytes(writes))

    for events, path in paths.items():
        for function in FUNCTIONS if events <= MANY else LARGE:
            out = page_of(folder, path) if function == "trace_plot" else folder / f"{function}.out"
            add(path, f"`pickle.load`, `{function}`", made(script, function, path, out), out.stat().st_size)
        add(path, "`view`, until the first tiles", first_tile.cost(binary, path))
        page = folder / "export.html"
        add(path, "`export --to html`", measure.cost(binary, "export", "--to", "html", "--force", "-o", page, path),
            page.stat().st_size)
        add(path, "`report --no-replay`", measure.cost(binary, "report", "--no-replay", path))
    return table
