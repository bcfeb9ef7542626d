"""The programs of bench/, as tables: one row per benchmark, processor time and elapsed time."""
import json
import os
import subprocess

from table import Table, seconds

# program: heading, variable that names its input, which of its benchmarks
PROGRAMS = {
    "query_bench": ("SQL", None, "first/"),
    "tile_bench": ("Tiles", "TIDEGAUGE_BENCH_FILE", "FileTile.*columns:512"),
    "views_bench": ("State, map, flame, tables", "TIDEGAUGE_BENCH_FILE",
                    "State|MapIndex|MapGrid|MapTile/x:(1000|10)/y:(1000|10)/|Flame|Categories|Filter|Sort"),
    "frag_bench": ("Fragmentation", "TIDEGAUGE_BENCH_FILE", "."),
}
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def rows_of(answer):
    for run in answer["benchmarks"]:
        if run.get("run_type", "iteration") != "iteration" or run.get("error_occurred"):
            continue
        unit = UNITS[run["time_unit"]]
        yield run["name"], run["cpu_time"] * unit, run["real_time"] * unit


def measured(folder, program, path, events, least_time_s):
    heading, variable, which = PROGRAMS[program]
    prefix = f"{variable}={path.name} " if variable else f"TIDEGAUGE_BENCH_EVENTS={events} "
    table = Table(heading, f"{prefix}build/bench/bench/{program} --benchmark_filter='{which}'",
                  ["benchmark", "processor time", "elapsed"])
    environment = {**os.environ, "TIDEGAUGE_BENCH_EVENTS": str(events)}
    if variable:
        environment[variable] = str(path)
    done = subprocess.run([folder / program, "--benchmark_format=json", f"--benchmark_min_time={least_time_s}",
                           f"--benchmark_filter={which}"],
                          env=environment, capture_output=True, check=True)
    for name, processor_s, wall_s in rows_of(json.loads(done.stdout)):
        table.add(f"`{name}`", seconds(processor_s), seconds(wall_s))
    return table
