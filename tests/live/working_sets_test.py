#!/usr/bin/env python3
"""`monitor --wss` beside programs whose working set is known: its metrics as they are scraped, who is left
out, and that those who are gone leave no figure behind."""
import re
import subprocess
import sys

from live import FOLDER, HERE, main, program
from monitored import MonitorTest, until

sys.path.insert(0, str(HERE.parent / "wss"))
from wss_case import cgroup_with_limit  # noqa: E402  # found in the folder beside this one

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

    def test_of_a_name_and_of_a_cgroup(self):
        first, second = self.touching(64, 4), self.touching(64, 8)
        bystander = self.start(["sleep", "600"])
        _, port = self.monitor("-p", bystander.pid, "--wss", "comm:touch", *OFTEN)
        for process, hot in ((first, 4), (second, 8)):
            until(lambda: self.near(port, process, hot), f"{hot} MiB")
        self.assertIsNone(self.value(port, "tidegauge_wss_cold_bytes", pid=bystander.pid))
        later = self.touching(64, 2)
        until(lambda: self.near(port, later, 2), "the one that began meanwhile")
        with cgroup_with_limit(self, 1 << 30) as folder:
            (folder / "cgroup.procs").write_text(str(second.pid))
            _, port = self.monitor("-p", bystander.pid, "--wss", f"cgroup:/{folder.name}", *OFTEN)
            until(lambda: self.near(port, second, 8), "the one in the cgroup")
            self.assertIsNone(self.value(port, "tidegauge_wss_cold_bytes", pid=first.pid))
            self.assertIsNotNone(self.value(port, "tidegauge_wss_at_least", pid=second.pid))
            (folder.parent / "cgroup.procs").write_text(str(second.pid))

    def near(self, port, process, hot_mib):
        touched = self.value(port, "tidegauge_wss_referenced_bytes", pid=process.pid, comm="touch", window="0.1")
        return touched is not None and hot_mib * 0.97 <= touched / MIB <= hot_mib + 2

    def test_large_processes_are_sampled(self):
        large = self.touching(1024, 300)
        _, port = self.monitor("-p", large.pid, "--wss", large.pid, *OFTEN)

        def value(name):
            return self.value(port, f"tidegauge_wss_{name}", pid=large.pid, window="0.1")

        error = until(lambda: value("error_bytes"), "a sample")
        self.assertLess(error / MIB, 200)
        # The error of 95 % of the samples; twice as much, for the two figures may be of two windows.
        until(lambda: abs((value("referenced_bytes") or 0) - 300 * MIB) <= 2 * (value("error_bytes") or 0), "300 MiB")
        self.assertEqual(self.sum(self.get(port)[1], "tidegauge_wss_skipped_total"), 0)

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
