"""Answers that the page asks for once per view: the first time, seen from the client, and the server's processor time.

The server has read the file and shown its first picture, as a person has who opens a view.
"""
import pathlib
import sys
import time

import first_tile
from table import Table, seconds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import measure_view  # noqa: E402  pylint: disable=wrong-import-position

REST_S = 1.0  # the server prepares some answers right after reading


def questions(device):
    """Name: question, parameters."""
    middle = {"at": f"step:{device['events'] // 2}", "at_b": "peak", "by": "stack"}
    table = {"order": "desc", "limit": 100}
    return {
        "overview": ("overview", {}),
        "flame of everything": ("flame", {"of": "allocated", "from": 0, "to": device["events"]}),
        "fragmentation at 200 steps": ("frag", {"samples": 200}),
        "growth": ("growth", {}),
        "diff of a step and the peak, by stack": ("diff", middle),
        "table of allocations, by size": ("table", {"name": "allocations", "sort": "block_bytes", **table}),
        "table of stacks, by bytes": ("table", {"name": "stacks", "sort": "total_bytes", **table}),
    }


def one_run(binary, path):
    server, url, _ = measure_view.start(str(binary), [str(path)])
    client = measure_view.Client(url)
    try:
        _, device, _ = measure_view.first_picture(client)
        time.sleep(REST_S)
        found = {}
        for name, (question, parameters) in questions(device).items():
            before = sum(first_tile.times_of(server.pid))
            _, took_ms = client.get(question, device=device["ordinal"], **parameters)
            found[name] = (took_ms / 1e3, sum(first_tile.times_of(server.pid)) - before)
        return found
    finally:
        for connection in client.connections.values():
            connection.close()
        server.terminate()
        server.wait(60)
        server.stdout.close()


def measured(binary, path, runs):
    table = Table("Answers, the first time", "bench/report/run.py --only answers",
                  ["file", "request", "processor time", "elapsed"])
    found = [one_run(binary, path) for _ in range(runs)]
    for name in found[0]:
        table.add(path.name, name, seconds(min(it[name][1] for it in found)), seconds(min(it[name][0] for it in found)))
    return table
