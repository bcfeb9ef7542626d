#!/usr/bin/env python3
"""Measures a running `tidegauge view` the way the page uses it, and prints a table.

    tools/measure_view.py --binary build/release/tidegauge FILE     starts, measures, stops
    tools/measure_view.py --url http://127.0.0.1:PORT/TOKEN/        measures one that runs

First: command to address, address to first picture (session, lines, four tiles at once). Then
tiles at random places on every power-of-two level, as many at once as the page asks for; then the
other questions. Times are seen from the client, "engine" is what the tile says about itself.
"""

import argparse
import concurrent.futures
import http.client
import json
import random
import struct
import subprocess
import sys
import time
import urllib.parse

AT_ONCE = 4  # requests that the page has in flight


class Client:
    """Asks over kept connections, one per thread."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host, self.root, self.connections = parts.netloc, parts.path, {}

    def get(self, question, thread=0, encoding="identity", **params):
        if thread not in self.connections:
            self.connections[thread] = http.client.HTTPConnection(self.host, timeout=120)
        connection = self.connections[thread]
        path = f"{self.root}api/{question}?{urllib.parse.urlencode(params)}"
        begin = time.perf_counter()
        connection.request("GET", path, headers={"Accept-Encoding": encoding})
        answer = connection.getresponse()
        body = answer.read()
        took_ms = (time.perf_counter() - begin) * 1000
        if answer.status != 200:
            sys.exit(f"{question}: {answer.status} {body[:300].decode(errors='replace')}")
        return body, took_ms


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def row(name, values, note=""):
    print(
        f"{name:<34}{len(values):>6}{percentile(values, 0.5):>10.2f}"
        f"{percentile(values, 0.99):>10.2f}{max(values):>10.2f}  {note}"
    )


def tile_params(device, level, random_place, columns):
    width = device["events"] / 2**level
    x0 = random_place.randrange(2**level) * width
    peak = max(1, device["peak"]["active"]["bytes"])
    return {
        "device": device["ordinal"], "x0": x0, "x1": x0 + width, "columns": columns,
        "y0": 0, "y1": peak, "px": peak / 700,
    }


def first_picture(client):
    begin = time.perf_counter()
    session = json.loads(client.get("session")[0])
    device = max(session["files"][0]["devices"], key=lambda d: d["events"])
    common = {"device": device["ordinal"], "x0": 0, "x1": device["events"]}
    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        place = random.Random(1)
        waiting = [
            pool.submit(client.get, "tile", i, **tile_params(device, 2, place, 512))
            for i in range(AT_ONCE)
        ]
        waiting.append(pool.submit(client.get, "lines", 9, columns=1400, **common))
        for answer in waiting:
            answer.result()
    return session, device, (time.perf_counter() - begin) * 1000


def measure_tiles(client, device, tiles, columns, encoding):
    place = random.Random(7)
    levels = max(1, (device["events"] // 500).bit_length())
    for level in range(levels):
        jobs = [tile_params(device, level, place, columns) for _ in range(tiles)]
        for number, job in enumerate(jobs):
            job["y1"] += number  # the server keeps tiles: each is asked for once
        lanes = [jobs[i::AT_ONCE] for i in range(AT_ONCE)]

        def lane(number):
            return [client.get("tile", number, encoding, **job) for job in lanes[number]]

        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            answers = [answer for part in pool.map(lane, range(AT_ONCE)) for answer in part]
        times = [took for _, took in answers]
        note = f"{sum(len(body) for body, _ in answers) / len(answers) / 1024:.0f} KiB"
        if encoding == "identity":
            headers = [struct.unpack("<4I6d", body[:64]) for body, _ in answers]
            engine = [header[9] for header in headers]
            note += f", engine p99 {percentile(engine, 0.99):.2f}"
            note += f", quads ≤ {max(header[2] for header in headers)}"
        row(f"tile, 1/{2**level} of the recording", times, note)


def measure_questions(client, device, count):
    place = random.Random(3)
    ordinal, events = device["ordinal"], max(1, device["events"])
    peak = max(1, device["peak"]["active"]["bytes"])
    ids = max(1, device["allocations"])
    questions = {
        "pick": lambda: {"step": place.randrange(events), "y": place.random() * peak},
        "allocation": lambda: {"id": place.randrange(ids)},
        "at": lambda: {"x": place.random() * events},
        "legend": lambda: {"step": place.randrange(events), "by": "stack"},
        "shape": lambda: {"id": place.randrange(ids), "x0": 0, "x1": events, "columns": 1400},
        "lines": lambda: {"x0": 0, "x1": events, "columns": 1400},
        "search": lambda: {"q": place.choice(["forward", "train.py", ">64MiB", "conv", "zzz"])},
    }
    for question, params in questions.items():
        times = [client.get(question, **params(), device=ordinal)[1] for _ in range(count)]
        row(question, times)


def start(binary, files, **more):
    """`more`: for subprocess.Popen."""
    begin = time.perf_counter()
    server = subprocess.Popen(
        [binary, "view", "--no-browser", *files], stdout=subprocess.PIPE, text=True, **more
    )
    line = server.stdout.readline()
    if " at http" not in line:
        sys.exit(f"{binary} did not start: {line}")
    return server, line.split(" at ")[-1].strip(), (time.perf_counter() - begin) * 1000


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", metavar="FILE")
    parser.add_argument("--binary", default="build/release/tidegauge")
    parser.add_argument("--url")
    parser.add_argument("--tiles", type=int, default=40, help="per level")
    parser.add_argument("--columns", type=int, default=512)
    parser.add_argument("--encoding", default="identity", help="identity or zstd")
    options = parser.parse_args()
    if not options.url and not options.files:
        parser.error("a FILE to open, or --url")
    server, started_ms = None, 0.0
    if not options.url:
        server, options.url, started_ms = start(options.binary, options.files)
    try:
        client = Client(options.url)
        session, device, picture_ms = first_picture(client)
        file = session["files"][0]
        print(f"{file['name']}: {file['data_bytes']:,} bytes, {device['events']:,} events")
        print(f"command to address {started_ms:.0f} ms, then first picture {picture_ms:.0f} ms\n")
        print(f"{'ms, seen from the client':<34}{'count':>6}{'median':>10}{'p99':>10}{'most':>10}")
        measure_tiles(client, device, options.tiles, options.columns, options.encoding)
        measure_questions(client, device, options.tiles)
        row("overview, first", [client.get("overview", device=device["ordinal"])[1]])
        row("overview, again", [client.get("overview", device=device["ordinal"])[1]])
    finally:
        if server:
            server.terminate()
            if server.wait(30) != 0:
                sys.exit(f"the server ended with {server.returncode}")


if __name__ == "__main__":
    main()
