#!/usr/bin/env python3
"""doctor, monitor and top beside a program on the stand-in GPU: the figures that they show while it
runs, checked by promtool, by a Prometheus that scrapes them, and by protoc; nothing stays in the
kernel."""
import contextlib
import http.server
import json
import os
import pathlib
import pty
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from live import BINARY, HERE, LIMIT_S, libraries, main, program
from monitored import MonitorTest, until

MONITOR = HERE.parent / "monitor"
DEPLOY = HERE.parents[1] / "deploy"
MIB = 1 << 20


def probes_of(pid):
    """How many links of probes (of one library each) a process holds."""
    links = 0
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(OSError):
            links += "link_type:\tuprobe_multi" in path.read_text()
    return links


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Watch(MonitorTest):
    def holder(self):
        """The program, ready; one step of it is one line."""
        process = self.start([program("holds")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             env=self.environment(self.folder()))
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def step(self, process, times=1):
        for _ in range(times):
            process.stdin.write("x\n")
            process.stdin.flush()
            self.assertEqual(process.stdout.readline(), "done\n")

    # ---- doctor

    def test_doctor_finds_a_machine_that_can_record_and_the_library_in_use(self):
        holder = self.holder()
        run = subprocess.run([BINARY, "doctor", "--json"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        found = json.loads(run.stdout)
        self.assertTrue(found["can_record"])
        states = {it["what"]: it["state"] for it in found["machine"]}
        for what in ("kernel", "CAP_BPF", "BPF programs", "uprobe_multi", "tp_btf", "ring buffers"):
            self.assertEqual(states[what], "ok", what)
        mine = [it for it in found["libraries"] if it["path"] == str(libraries() / "libcuda.so.1")]
        self.assertEqual(len(mine), 1, found["libraries"])
        self.assertGreaterEqual(mine[0]["processes"], 1)
        self.assertEqual(mine[0]["behind_stub"], mine[0]["functions"])
        self.assertEqual(mine[0]["functions"], mine[0]["known_functions"])
        self.assertIsNone(holder.poll())

    def test_doctor_without_privilege_says_what_is_missing(self):
        if os.geteuid() != 0 or not shutil.which("setpriv"):
            self.skipTest("needs root and setpriv, to drop privileges")
        run = subprocess.run(["setpriv", "--bounding-set=-all", "--inh-caps=-all", BINARY, "doctor"],
                             capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 4, run.stdout + run.stderr)
        self.assertIn("This machine cannot record with eBPF, but with a library", run.stdout)
        self.assertRegex(run.stdout, r"missing +CAP_BPF +not held")
        self.assertRegex(run.stdout, r"missing +CAP_PERFMON +not held")
        self.assertRegex(run.stdout, r"limited +CAP_SYS_PTRACE +not held")

    # ---- monitor

    def test_monitor_serves_what_a_process_does_while_it_runs(self):
        holder = self.holder()
        pid = str(holder.pid)
        monitor, port = self.monitor("-p", pid)
        self.step(holder, 3)
        until(lambda: self.value(port, "tidegauge_kernel_launches_total", pid=pid) == 30, "launches")
        # Launches are counted in the kernel and may be known some ms before the calls in the ring.
        until(lambda: self.value(port, "tidegauge_device_memory_bytes", pid=pid, kind="device",
                                 comm="holds") == 6 * MIB, "the memory")
        self.assertEqual(self.value(port, "tidegauge_peak_bytes", pid=pid), 6 * MIB)
        self.assertEqual(self.value(port, "tidegauge_allocations_total", pid=pid), 3)
        self.assertEqual(self.value(port, "tidegauge_copy_bytes_total", pid=pid,
                                    direction="host_to_device"), 3 * MIB)
        self.assertEqual(self.value(port, "tidegauge_events_lost_total", reason="memory_ring_full"), 0)
        # Without a framework's blocks nothing is divided, so there is no score of that.
        self.assertIsNone(self.value(port, "tidegauge_fragmentation_score", pid=pid))
        self.assertGoodForPrometheus(port)
        # It ends without freeing: its series stay for a while, and its unfreed memory is reported by name.
        holder.stdin.close()
        holder.wait()
        until(lambda: self.value(port, "tidegauge_unfreed_at_exit_bytes_total", comm="holds") == 6 * MIB,
              "the unfreed bytes")
        self.assertEqual(self.value(port, "tidegauge_device_memory_bytes", pid=pid), 0)
        for target, headers, status in (("/", {}, 404), ("/metrics", {"Host": "evil.example"}, 421),
                                        ("/metrics", {"Origin": "http://evil.example"}, 403)):
            self.assertEqual(self.get(port, target, **headers)[0], status)
        monitor.send_signal(signal.SIGTERM)
        self.assertEqual(monitor.wait(LIMIT_S), 0)

    def test_on_a_shared_node_it_asks_for_a_token_and_names_nobody(self):
        """And it keeps four capabilities of root's."""
        token, holders = "0123456789abcdef", [self.holder(), self.holder()]
        file = self.folder() / "token"
        file.write_text(token + "\n")
        file.chmod(0o600)
        monitor, port = self.monitor("--metrics-token", file, "--no-process-labels",
                                     *(word for it in holders for word in ("-p", it.pid)))
        for it in holders:
            self.step(it, 3)
        value = lambda line: float(self.get(port, Authorization=f"Bearer {token}")[1].split(f"\n{line} ", 1)[1].split("\n")[0])
        text = lambda: self.get(port, Authorization=f"bearer {token}")[1]  # RFC 9110: any capitals
        until(lambda: 'kind="device"} ' in text() and value('tidegauge_device_memory_bytes{device="unknown",kind="device"}') == 12 * MIB,
              "the memory of both, on a device that was chosen before")
        until(lambda: "\ntidegauge_kernel_launches_total " in text() and value("tidegauge_kernel_launches_total") == 60, "launches")
        self.assertEqual(value('tidegauge_allocations_total{device="unknown"}'), 6)
        for word in ("pid=", "comm=", "kernel=", "library=", "holds", "peak_bytes"):
            self.assertNotIn(word, text())
        for headers in ({}, {"Authorization": "Bearer " + "x" * 16}, {"Authorization": token}):
            status, said = self.get(port, **headers)
            self.assertEqual((status, "tidegauge_" in said), (401, False))
        status = pathlib.Path(f"/proc/{monitor.pid}/status").read_text()
        four = sum(1 << number for number in (2, 19, 38, 39))  # DAC_READ_SEARCH, SYS_PTRACE, PERFMON, BPF
        for kind in ("CapPrm", "CapEff"):
            self.assertIn(f"{kind}:\t{four:016x}\n", status)
        file.chmod(0o644)
        # Whatever the file is: it is not said to change its mode.
        for wrong, why in ((file, "other users may read"), ("/dev/null", "not a regular file"), ("/", "not a regular file"),
                           ("/etc/passwd", "other users may read")):
            refused = subprocess.run([BINARY, "monitor", "--listen", "127.0.0.1:0", "--metrics-token", wrong],
                                     capture_output=True, text=True, timeout=LIMIT_S, check=False)
            self.assertEqual(refused.returncode, 2, refused.stderr)
            self.assertIn(why, refused.stderr)
            self.assertIn("umask 077", refused.stderr)
            self.assertNotIn("chmod", refused.stderr)

    def test_of_all_processes_it_keeps_only_what_those_with_cuda_need(self):
        monitor, port = self.monitor("--all")  # which sees what else runs on this machine, too
        descriptors = lambda: len(os.listdir(f"/proc/{monitor.pid}/fd"))

        def seen():
            holder = self.holder()

            def step():  # the first may come before its libraries are watched
                self.step(holder)
                return self.value(port, "tidegauge_allocations_total", pid=str(holder.pid))

            until(step, "a process with CUDA")
            holder.stdin.close()
            holder.wait()
            until(lambda: self.value(port, "tidegauge_device_memory_bytes", pid=str(holder.pid)) == 0,
                  "its end")

        seen()
        before = descriptors()
        for _ in range(250):  # their starts and ends come in the same ring: before what is seen next
            subprocess.run(["true"], check=True)
        seen()
        self.assertLess(descriptors(), before + 125)
        # With CUDA, but without a call of it: their ends are not reported.
        environment = {**os.environ, "LD_PRELOAD": str(libraries() / "libcudart.so.13")}
        for _ in range(250):
            run = subprocess.run(["true"], check=True, env=environment, capture_output=True, text=True)
            self.assertEqual(run.stderr, "", "the library was not loaded")
        seen()
        until(lambda: descriptors() < before + 125, "what was kept of them to go")

    def test_a_library_at_hand_is_watched_before_a_process_maps_it(self):
        """The loader's cache names it, so the first program that maps it misses nothing."""
        if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("ldconfig"):
            self.skipTest("needs root, unshare and ldconfig, to give the monitor a cache of its own")
        folder = self.folder()
        (folder / "conf").write_text(f"{libraries()}\n")
        subprocess.run(["ldconfig", "-X", "-f", folder / "conf", "-C", folder / "cache"], check=True,
                       capture_output=True)
        in_mount_namespace = ["unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/ld.so.cache && exec "$@"',
                              folder / "cache"]
        plain, _ = self.monitor()
        monitor, port = self.monitor(through=in_mount_namespace)
        until(lambda: probes_of(monitor.pid) >= probes_of(plain.pid) + 8, "the probes of both libraries")
        first = self.start([program("first_launch")], env=self.environment(folder))
        self.assertEqual(first.wait(LIMIT_S), 0)
        until(lambda: self.value(port, "tidegauge_kernel_launches_total", pid=first.pid) == 4, "its launches")

    def test_a_real_prometheus_scrapes_monitor(self):
        if not shutil.which("prometheus"):
            self.skipTest("no prometheus (apt-get install prometheus)")
        holder = self.holder()
        _, port = self.monitor("-p", str(holder.pid))
        self.step(holder, 2)
        folder = self.folder()
        config = (DEPLOY / "prometheus" / "prometheus.yml").read_text()
        config = config.replace("127.0.0.1:9400", f"127.0.0.1:{port}").replace("15s", "1s")
        (folder / "prometheus.yml").write_text(config)
        shutil.copy(DEPLOY / "prometheus" / "tidegauge-alerts.yml", folder)
        own = free_port()
        self.start(["prometheus", f"--config.file={folder}/prometheus.yml",
                    f"--storage.tsdb.path={folder}/data", f"--web.listen-address=127.0.0.1:{own}"],
                   stderr=subprocess.DEVNULL)
        query = "tidegauge_device_memory_bytes{comm='holds'}"

        def scraped():
            try:
                _, text = self.get(own, "/api/v1/query?query=" + urllib.parse.quote(query))
                return json.loads(text)["data"]["result"]
            except (OSError, ValueError, KeyError):
                return None

        result = until(scraped, "a scrape")
        self.assertEqual(result[0]["metric"]["pid"], str(holder.pid))
        self.assertEqual(result[0]["metric"]["job"], "tidegauge")
        self.assertEqual(float(result[0]["value"][1]), 4 * MIB)

    def test_monitor_pushes_otlp_and_comes_back_after_failures(self):
        if not shutil.which("protoc"):
            self.skipTest("no protoc (apt-get install protobuf-compiler)")
        bodies, statuses = [], [503, 503]

        class Collector(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                bodies.append((self.path, self.headers["Content-Type"], body))
                self.send_response(statuses.pop(0) if statuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *words):
                pass

        server = http.server.HTTPServer(("127.0.0.1", 0), Collector)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(lambda: (server.shutdown(), thread.join(), server.server_close()))
        holder = self.holder()
        self.monitor("-p", str(holder.pid), "--otlp", f"http://127.0.0.1:{server.server_port}",
                     "--otlp-every", "0.5")
        self.step(holder)

        def decoded():
            if len(bodies) < 3:
                return None
            path, kind, body = bodies[-1]
            self.assertEqual((path, kind), ("/v1/metrics", "application/x-protobuf"))
            done = subprocess.run(["protoc", f"--proto_path={MONITOR}", "--decode",
                                   "subset.ExportMetricsServiceRequest", "metrics.proto"],
                                  input=body, capture_output=True, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            text = done.stdout.decode()
            return text if '"tidegauge_kernel_launches_total"' in text else None

        text = until(decoded, "a body with launches")
        self.assertEqual(statuses, [])
        self.assertIn(f'string_value: "{holder.pid}"', text)
        self.assertIn("as_int: 2097152", text)

    # ---- top

    def test_top_prints_once_as_text_and_json(self):
        holder = self.holder()
        top = self.start([BINARY, "top", "-p", holder.pid, "--once", "--json", "--every", "3"],
                         stdout=subprocess.PIPE)
        until(lambda: probes_of(top.pid) >= 2, "probes on the driver and the runtime")
        self.step(holder, 2)
        found = json.loads(top.communicate(timeout=LIMIT_S)[0])
        self.assertEqual(sum(found["lost"].values()), 0)
        # It ran before: what it held by then is not known.
        self.assertEqual([it["incomplete"] for it in found["processes"]], [["memory"]])
        self.assertTrue(found["incomplete"])
        self.assertEqual([it["pid"] for it in found["processes"]], [holder.pid])
        self.assertEqual(found["processes"][0]["live_bytes"], 4 * MIB)
        run = subprocess.run([BINARY, "top", "--once", "-p", str(holder.pid)], capture_output=True,
                             text=True, env={**os.environ, "COLUMNS": "80"}, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("LIVE*", run.stdout)
        self.assertLessEqual(max(map(len, run.stdout.splitlines())), 80)

    def top_of(self, pid):
        """A `top` in a terminal of its own, and shows(PART, KEYS): it shows PART after KEYS."""
        ours, theirs = pty.openpty()
        top = self.start([BINARY, "top", "-p", pid, "--every", "0.2"], stdin=theirs, stdout=theirs,
                         stderr=subprocess.DEVNULL)
        os.close(theirs)
        self.addCleanup(os.close, ours)
        screen = ""

        def shows(part, keys=b""):
            nonlocal screen
            if keys:
                screen = ""
                os.write(ours, keys)
            end = time.monotonic() + LIMIT_S
            while part not in screen and time.monotonic() < end:
                if select.select([ours], [], [], 1)[0]:
                    try:
                        screen += os.read(ours, 65536).decode(errors="replace")
                    except OSError:
                        break
            self.assertIn(part, screen)

        return top, shows

    def test_top_names_the_line_of_python(self):
        holder = self.start([sys.executable, HERE / "programs/python/holds.py"], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, env=self.environment(self.folder()))
        self.assertEqual(holder.stdout.readline(), "ready\n")
        top, shows = self.top_of(holder.pid)
        shows("LIVE*")
        self.step(holder)
        shows("2.0 MiB")
        shows("holds.py:10 grab", b"\r")
        shows("\x1b[?1049l", b"q")
        self.assertEqual(top.wait(LIMIT_S), 0)

    def test_top_takes_keys_and_leaves_the_terminal_as_it_was(self):
        holder = self.holder()
        top, shows = self.top_of(holder.pid)
        shows("LIVE*")
        self.step(holder)
        shows("2.0 MiB")
        shows("PEAK*", b"s")
        shows("filter: zzz_", b"/zzz")
        shows("No process matches the filter", b"\r")
        shows("holds", b"\x1b")
        shows("Call sites that hold device memory", b"\r")
        shows("Kernels", b"j")
        shows("sort (peak)", b"\x1b")
        shows("\x1b[?1049l", b"q")
        self.assertEqual(top.wait(LIMIT_S), 0)


if __name__ == "__main__":
    main()
