"""torch's page in Chromium against ours: bench/page/memory_viz.mjs as a table."""
import json
import pathlib
import subprocess

import memory_viz
from table import Table, megabytes, seconds

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "page" / "memory_viz.mjs"
LIMIT_S = 180


def asked(*words):
    done = subprocess.run(["node", PROGRAM, "--limit", str(LIMIT_S), *words], capture_output=True, check=True)
    return json.loads(done.stdout)


def measured(binary, folder, viz, paths):
    """`paths`: {events: file}. A page of trace_plot is made here unless memory_viz.py has made it."""
    version = (viz / "version").read_text(encoding="utf-8").strip()
    table = Table("MemoryViz.js in Chromium", "bench/report/run.py --only browser",
                  ["file", "page", "until the timeline is drawn", "processor time", "memory of the browser"])

    def add(path, name, it, where=""):
        drawn = it.get("failed") or seconds(it["drawn_ms"] / 1e3)
        table.add(path.name, name, drawn, seconds(it["processor_s"]), megabytes(it["browser_bytes"]) + where)

    for path in paths.values():
        page = memory_viz.page_of(folder, path)
        if not page.exists():
            memory_viz.made(viz / "_memory_viz.py", "trace_plot", path, page)
        add(path, f"`trace_plot` of torch {version}", asked("--viz", viz, page))
        it = asked("--binary", binary, path)
        add(path, "`view`, from its command on", it, f", and {megabytes(it['server_bytes'])} of the server")
    return table
