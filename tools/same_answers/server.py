"""`tidegauge view` of the old and the new binary on the same files, asked the same questions.

    with Servers(pair, files, folder) as servers:
        old, new = servers.ask(Question("tile", {"file": 0, …}))     (status, type, body) each

Questions go in the same order over one connection each, so that the numbers of marks agree.
"""

import concurrent.futures
import http.client
import json
import re
import threading
import urllib.parse

ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/\w+/")


class Servers:
    def __init__(self, pair, files):
        self.pair, self.files = pair, files
        self.asked, self.processes, self.connections = [], [], []

    def __enter__(self):
        try:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                for process, url in pool.map(self._start, range(2)):
                    self.processes.append(process)
                    parts = urllib.parse.urlsplit(url)
                    connection = http.client.HTTPConnection(parts.netloc, timeout=self.pair.limit_s)
                    self.connections.append((connection, parts.path))
            self.pool = concurrent.futures.ThreadPoolExecutor(2)
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_):
        self.pool.shutdown()
        for connection, _ in self.connections:
            connection.close()
        self._stop()

    def _start(self, number):
        words = self.pair.words(["view", "--no-browser", *self.files])[number]
        # Messages about unreadable files are compared by the cases of report.
        process = self.pair.start(number, words, stdout=-1, stderr=-3)
        timer = threading.Timer(self.pair.limit_s, process.kill)
        timer.start()
        found = ADDRESS.search(process.stdout.readline().decode())
        timer.cancel()
        if not found:
            process.kill()
            process.wait()
            raise OSError(f"{words[0]} of {self.pair.binaries[number]} printed no address")
        return process, found[0]

    def _stop(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            try:
                process.wait(30)
            except Exception:  # whatever happens, no server stays
                process.kill()
                process.wait()
            process.stdout.close()

    def ask(self, question):
        return list(self.pool.map(lambda number: self._ask_one(number, question), range(2)))

    def _ask_one(self, number, question):
        connection, root = self.connections[number]
        path = f"{root}api/{question.route}?{urllib.parse.urlencode(question.params)}"
        if question.body is None:
            connection.request("GET", path)
        else:
            connection.request("POST", path, json.dumps(question.body),
                               {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, answer.headers.get("Content-Type", ""), answer.read()
