#!/usr/bin/env python3
"""`tidegauge view` as a process: what it shows to the browser and other users, and how it ends."""

import fcntl
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TIDEGAUGE_BINARY", ROOT / "build/dev/tidegauge")
EXAMPLE = ROOT / "examples/two_gpus.pickle.zst"
LARGE = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", ROOT.parent / "shared"),
                     "data/large/train-1m-events.pickle.zst")
ENDLESS = ("WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) "
           "SELECT count(*) FROM c")
HANGS_S = 60  # no answer by then: it hangs

# Stands in for the desktop's opener: notes what it was given, and what the others may see of it.
OPENER = """#!/bin/sh
{ echo "$@"; stat -c %a "$1" "$(dirname "$1")"; cat "$1"; } > "$NOTES.part"
mv "$NOTES.part" "$NOTES"
"""


class View:
    def __init__(self, *arguments, environment=None):
        self.process = subprocess.Popen([BINARY, "view", *map(str, arguments)], text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        env=os.environ | (environment or {}))
        self.greeting = self.process.stdout.readline()
        found = re.search(r"http://127\.0\.0\.1:\d+/\w+/", self.greeting)
        self.url = found[0] if found else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def interrupt(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(HANGS_S)

    def ask(self, question, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + question, data,
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=HANGS_S) as answer:
            return json.load(answer)


class ViewTest(unittest.TestCase):
    def test_the_token_is_shown_to_the_browser_only(self):
        with tempfile.TemporaryDirectory() as folder:
            opener = pathlib.Path(folder, "xdg-open")
            opener.write_text(OPENER)
            opener.chmod(0o755)
            notes = pathlib.Path(folder, "notes")
            with View(EXAMPLE, environment={
                    "PATH": f"{folder}:{os.environ['PATH']}", "DISPLAY": ":99", "NOTES": str(notes),
                    "XDG_RUNTIME_DIR": folder}) as view:
                for _ in range(HANGS_S * 20):
                    if notes.exists():
                        break
                    threading.Event().wait(0.05)
                arguments, file_mode, folder_mode, *page = notes.read_text().splitlines()
                token = view.url.split("/")[-2]
                self.assertNotIn(token, arguments)
                self.assertEqual((file_mode, folder_mode), ("600", "700"))
                self.assertIn(view.url, "".join(page))
                opened = pathlib.Path(arguments)
                self.assertEqual(view.interrupt(), 0)
                self.assertFalse(opened.exists() or opened.parent.exists(), "it is removed")

    def test_ctrl_c_while_the_address_is_printed_ends_it_in_order(self):
        reads, writes = os.pipe()
        fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, 4096)
        os.write(writes, bytes(4096))  # full: the address waits
        process = subprocess.Popen([BINARY, "view", "--no-browser", EXAMPLE], stdout=writes)
        os.close(writes)
        waits = pathlib.Path(f"/proc/{process.pid}/wchan")
        for _ in range(HANGS_S * 20):
            if "pipe_write" in waits.read_text():
                break
            threading.Event().wait(0.05)
        process.send_signal(signal.SIGINT)
        with open(reads, "rb") as pipe:
            self.assertIn(b"Ctrl-C stops it.", pipe.read()[4096:])
        self.assertEqual(process.wait(HANGS_S), 0)

    def test_ctrl_c_before_the_address_is_printed_stops_it(self):
        for sent in (signal.SIGINT, signal.SIGTERM):
            with tempfile.TemporaryDirectory() as folder:
                pipe = pathlib.Path(folder, "slow.pickle")
                os.mkfifo(pipe)
                process = subprocess.Popen([BINARY, "view", "--no-browser", pipe], stdout=subprocess.PIPE)
                with open(pipe, "wb"):  # it is being read from now on
                    process.send_signal(sent)
                    said, _ = process.communicate(timeout=HANGS_S)
                self.assertEqual((process.returncode, said), (128 + sent, b""))

    def test_ctrl_c_while_files_are_read_ends_it_in_order(self):
        if not LARGE.exists():
            self.skipTest("needs a large file: set TIDEGAUGE_SHARED to the folder of the real files")
        with View("--no-browser", *[LARGE] * 8) as view:
            self.assertFalse(view.ask("api/opening")["open"])
            self.assertEqual(view.interrupt(), 0)

    def test_too_few_descriptors_are_said(self):
        if b"__asan_init" in pathlib.Path(BINARY).read_bytes():
            self.skipTest("sanitizers need descriptors themselves, and call memory bad without; the other build runs this")
        for most in (5, 6):
            done = subprocess.run([BINARY, "view", "--no-browser", EXAMPLE], text=True, capture_output=True, timeout=HANGS_S,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most)))
            self.assertIn(done.returncode, (2, 3), done.stderr)
            self.assertIn("Too many open files", done.stderr)
            self.assertNotIn("terminate", done.stderr)

    def test_ctrl_c_ends_a_running_query(self):
        with View("--no-browser", EXAMPLE) as view:
            answers = []

            def query():
                try:
                    answers.append(view.ask("api/sql", {"sql": ENDLESS}))
                except OSError:
                    pass  # the server went away, as it should

            asking = threading.Thread(target=query)
            asking.start()
            view.ask("api/session")  # the query came in before this, on its own connection or soon
            self.assertEqual(view.interrupt(), 0)
            asking.join(HANGS_S)
            self.assertEqual(answers, [])

    def test_good_files_open_beside_bad_ones(self):
        with tempfile.NamedTemporaryFile() as bad:
            bad.write(b"\x00\x01\x02\x03")
            bad.flush()
            with View("--no-browser", bad.name, EXAMPLE) as view:
                files = view.ask("api/session")["files"]
                self.assertEqual([file["name"] for file in files], [EXAMPLE.name])
                view.interrupt()
                self.assertIn(bad.name, view.process.stderr.read())

    def test_files_of_one_name_are_distinguished(self):
        with tempfile.TemporaryDirectory() as folder:
            paths = [pathlib.Path(folder, part, "rank0.pickle.zst") for part in "ab"]
            for path in paths:
                path.parent.mkdir()
                path.write_bytes(EXAMPLE.read_bytes())
            with View("--no-browser", *paths) as view:
                names = [file["name"] for file in view.ask("api/session")["files"]]
                self.assertEqual(names, ["a/rank0.pickle.zst", "b/rank0.pickle.zst"])

    def test_closed_streams_are_not_taken_by_sockets(self):
        done = subprocess.run(f"{BINARY} view --no-browser {EXAMPLE} >&-", shell=True, text=True,
                              stderr=subprocess.PIPE, timeout=HANGS_S, check=False)
        self.assertEqual(done.returncode, 5)
        self.assertIn("the output could not be written", done.stderr)


if __name__ == "__main__":
    sys.exit(not unittest.main(exit=False).result.wasSuccessful())
