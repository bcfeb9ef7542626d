"""Growth curves: time and memory per event, from small files to large ones. A flat line is linear growth."""
import commands
import files
import first_tile
import measure
from table import Table, nanoseconds

SIZES, LARGE = (10_000, 100_000, 1_000_000, 10_000_000), 55_000_000
FEW = 10_000_000  # from here on, one run and fewer candidates: a run takes seconds to minutes
COMMAND = "bench/report/run.py --large --only growth"


def costs(binary, path, events, runs):
    """Column: cost. What-if has one candidate, and several."""
    few = events >= FEW
    runs, several = (1, 3) if few else (runs, commands.CANDIDATES)

    def least(*words):
        return measure.least(runs, binary, *words)

    return {
        "open": least("query", path, "SELECT count(*) FROM events"),
        "report": least("report", "--no-replay", path),
        "first tiles": first_tile.measured(binary, path, runs),
        "frag": least("frag", path),
        "what-if": least("whatif", path, *commands.settings(1)),
    }, least("whatif", path, *commands.settings(several)), several


def measured(binary, folder, sizes, runs):
    """Two tables: time, and memory above the program and the mapped file."""
    start = measure.least(runs, binary, "--version")
    columns = ["open", "report", "first tiles", "frag", "what-if"]
    times = Table("Time per event, by the size of the file", COMMAND,
                  ["events", *columns[:2], "first tiles; elapsed", "frag", "what-if, one candidate"])
    memory = Table("Memory per event, by the size of the file", COMMAND, ["events", *columns])
    for events in sizes:
        path = files.path_of(folder, events)
        found, several_costs, several = costs(binary, path, events, runs)
        cells = {name: nanoseconds(max(0.0, it.processor_s - start.processor_s), events) for name, it in found.items()}
        cells["first tiles"] += f"; {nanoseconds(found['first tiles'].wall_s, events)}"
        # reading and verifying are in both
        more_s = max(0.0, several_costs.processor_s - found["what-if"].processor_s)
        cells["what-if"] = nanoseconds(more_s / (several - 1), events)
        times.add(f"{events:,}", *cells.values())
        above = path.stat().st_size + start.peak_bytes
        memory.add(f"{events:,}", *(f"{max(0, it.peak_bytes - above) / events:,.0f} bytes" for it in found.values()))
    return [times, memory]
