"""Growth curves: time and memory per event, from small files to large ones. A flat line is linear growth."""
import commands
import files
import first_tile
import measure
from table import Table, nanoseconds

SIZES, LARGE = (10_000, 100_000, 1_000_000, 10_000_000), (50_000_000,)


def measured(binary, folder, sizes, runs):
    table = Table("Per event, by the size of the file", "bench/report/run.py --only growth",
                  ["events", "open", "report", "first tile, elapsed", "frag", "what-if, one candidate", "memory of report"])
    start_s = measure.least(runs, binary, "--version").processor_s
    for events in sizes:
        path = files.path_of(folder, events)
        size = path.stat().st_size

        def took(*words):
            return max(0.0, measure.least(runs, binary, *words).processor_s - start_s)

        opened_s = took("query", path, "SELECT count(*) FROM events")
        report = measure.least(runs, binary, "report", "--no-replay", path)
        tile_s = sum(first_tile.measured(binary, path, runs))
        one_s = took("whatif", path, *commands.settings(1))
        many_s = took("whatif", path, *commands.settings(commands.CANDIDATES))
        candidate_s = max(0.0, many_s - one_s) / (commands.CANDIDATES - 1)
        table.add(f"{events:,}", nanoseconds(opened_s, events), nanoseconds(max(0.0, report.processor_s - start_s), events),
                  nanoseconds(tile_s, events), nanoseconds(took("frag", path), events),
                  nanoseconds(candidate_s, events), f"{max(0, report.peak_bytes - size) / events:,.0f} bytes")
    return table
