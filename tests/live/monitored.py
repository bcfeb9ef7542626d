"""A `tidegauge monitor` on a free port of loopback, and what it serves there.

    monitor, port = self.monitor("-p", pid)
    until(lambda: self.value(port, "tidegauge_peak_bytes", pid=pid) == 6 * MIB, "the memory")
"""
import http.client
import re
import shutil
import subprocess
import time

from live import BINARY, LIMIT_S, LiveTest


def until(ready, what):
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        found = ready()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"never came: {what}")


class MonitorTest(LiveTest):
    def start(self, words, **options):
        process = subprocess.Popen([str(word) for word in words], text=True, **options)
        def end():
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream:
                    stream.close()
        self.addCleanup(end)
        return process

    def monitor(self, *words, through=()):
        """`through`: words before the command, which become it by exec."""
        monitor = self.start([*through, BINARY, "monitor", "--listen", "127.0.0.1:0", *words],
                             stderr=subprocess.PIPE)
        line = until(monitor.stderr.readline, "the address")
        while "metrics at" not in line:
            line = monitor.stderr.readline()
            self.assertTrue(line, "monitor ended")
        return monitor, int(re.search(r":(\d+)/metrics", line)[1])

    def get(self, port, target="/metrics", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=LIMIT_S)
        connection.request("GET", target, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def value(self, port, name, **labels):
        for line in self.get(port)[1].splitlines():
            if line.startswith(name + "{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
                return float(line.rsplit(" ", 1)[1])
        return None

    def assertGoodForPrometheus(self, port):
        if not shutil.which("promtool"):
            return
        checked = subprocess.run(["promtool", "check", "metrics"], input=self.get(port)[1],
                                 capture_output=True, text=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout + checked.stderr), (0, ""))
