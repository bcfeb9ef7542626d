"""The reader against Python's pickle.load, on one file: bench/compare_pickle.py as a table."""
import pathlib
import sys

from table import Table, megabytes, seconds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import compare_pickle  # noqa: E402  pylint: disable=wrong-import-position


def measured(bench, path):
    table = Table("Reading", "bench/compare_pickle.py --bench build/bench/bench/reader_bench FILE.pickle",
                  ["file", "side", "processor time", "MB/s", "peak memory", "reader is faster"])
    run = compare_pickle.measure_reader(str(bench), str(path))
    size, reader_s = run["input_bytes"], run["cpu_time"] / 1e3
    table.add(path.name, "reader", seconds(reader_s), f"{size / reader_s / 1e6:,.0f}", megabytes(run["peak_rss_bytes"]),
              "")
    for collector in ("on", "off"):
        took_s, _, peak = compare_pickle.measure_pickle(str(path), collector)
        table.add(path.name, f"`pickle.load`, collector {collector}", seconds(took_s), f"{size / took_s / 1e6:,.0f}",
                  megabytes(peak), f"{took_s / reader_s:.1f} times")
    return table
