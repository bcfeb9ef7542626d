#!/usr/bin/env python3
"""`monitor --wss` beside programs whose working set is known: its metrics as they are scraped, who is left
out, and that those who are gone leave no figure behind."""
import re
import subprocess

from live import FOLDER, HERE, main, program
from monitored import MonitorTest, until

MIB = 1 << 20
OFTEN = ("--wss-window", "0.1", "--wss-every", "0.3")


def touch():
    path = FOLDER / "touch"
    subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", path, HERE.parent / "wss" / "touch.c"],
                   check=True)
    return path


class WorkingSets(MonitorTest):
    def touching(self, rss_mib, hot_mib):
        process = self.start([touch(), rss_mib, hot_mib], stdout=subprocess.PIPE)
        process.stdout.readline()  # all of it is there
        return process

    def test_of_processes_by_number(self):
        few, many = self.touching(64, 4), self.touching(128, 32)
        _, port = self.monitor("-p", few.pid, "--wss", few.pid, many.pid, *OFTEN)

        def touched(process):
            return self.value(port, "tidegauge_wss_referenced_bytes", pid=process.pid, comm="touch", window="0.1")

        until(lambda: touched(few) is not None and touched(many) is not None, "the first windows")
        for process, rss, hot in ((few, 64, 4), (many, 128, 32)):
            # A busy machine may keep it from touching all of it in a window; more than that it never has.
            until(lambda: hot * 0.97 <= touched(process) / MIB <= hot + 2, f"{hot} MiB")
            cold = self.value(port, "tidegauge_wss_cold_bytes", pid=process.pid)
            self.assertAlmostEqual(cold / MIB, rss - hot, delta=2 + 0.03 * hot)
            self.assertIsNotNone(self.value(port, "tidegauge_wss_measure_stall_seconds", pid=process.pid))
            ratio = self.value(port, "tidegauge_wss_ratio", pid=process.pid)
            self.assertAlmostEqual(ratio, hot / rss, delta=0.05)
        text = self.get(port)[1]
        self.assertRegex(text, r'tidegauge_wss_backend_info{[^}]*backend="(pte|smaps)"')
        self.assertGreater(self.sum(text, "tidegauge_wss_measure_cpu_seconds_total"), 0)
        self.assertEqual(self.sum(text, "tidegauge_wss_skipped_total"), 0)
        self.assertGoodForPrometheus(port)
        many.kill()
        many.wait()
        until(lambda: touched(many) is None, "that it is gone")
        self.assertIsNotNone(touched(few))
        self.assertGoodForPrometheus(port)

    def sum(self, text, name):
        found = re.search(rf"^{name}(?:{{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        self.assertIsNotNone(found, text)
        return float(found[1])

    def test_who_would_wait_too_long_is_left_out_and_counted(self):
        process = self.touching(64, 4)
        _, port = self.monitor("-p", process.pid, "--wss", process.pid, "--wss-max-stall-ms", "0.001", *OFTEN)
        until(lambda: "tidegauge_wss_skipped_total" in self.get(port)[1], "a window that was left out")
        first = self.sum(self.get(port)[1], "tidegauge_wss_skipped_total")
        self.assertGreater(first, 0)
        until(lambda: self.sum(self.get(port)[1], "tidegauge_wss_skipped_total") > first, "another one")
        self.assertNotIn("tidegauge_wss_referenced_bytes{", self.get(port)[1])
        self.assertGoodForPrometheus(port)

    def test_of_all_that_have_called_cuda(self):
        holder = self.start([program("holds")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            env=self.environment(self.folder()))
        self.assertEqual(holder.stdout.readline(), "ready\n")
        other = self.touching(64, 4)
        _, port = self.monitor("-p", holder.pid, "--wss", "all-watched", *OFTEN)
        holder.stdin.write("x\n")
        holder.stdin.flush()
        self.assertEqual(holder.stdout.readline(), "done\n")
        cold = until(lambda: self.value(port, "tidegauge_wss_cold_bytes", pid=holder.pid, comm="holds"),
                     "its working set")
        self.assertGreater(cold, 0)
        self.assertIsNone(self.value(port, "tidegauge_wss_cold_bytes", pid=other.pid))
        self.assertGoodForPrometheus(port)


if __name__ == "__main__":
    main()
