"""The module among processes: import, Ctrl-C, fork, threads, the end of the interpreter; and the command's programs."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest
import urllib.request

import tidegauge
from package import OOM, ROOT, objects

# What `import tidegauge` loads of itself; the rest comes when it is used.
EAGER = ["_engine", "arguments", "errors", "from_json", "libraries", "opening", "results", "sizes", "table", "trace"]
# Parts of Python that cost milliseconds, or start threads or programs.
SLOW = {"asyncio", "concurrent", "ctypes", "email", "http", "logging", "multiprocessing", "pickle", "socket", "sqlite3", "ssl",
        "subprocess", "tempfile", "threading", "unittest", "urllib", "xml", "zipfile"}
ENDLESS = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r"


def python(code, **more):
    """A fresh interpreter that runs the code: (exit status, its output)."""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True,
                          timeout=120, check=False, **more)
    return done.returncode, done.stdout + done.stderr


class Interpreter(unittest.TestCase):
    def test_import_needs_no_library(self):
        """Counts stand for its time, which docs/performance.md has: a busy machine cannot change them."""
        code, said = python("""
            import json, sys  # tidegauge needs json in any case
            before = set(sys.modules)
            import tidegauge
            print(json.dumps(sorted(set(sys.modules) - before)), tidegauge.__version__)
        """)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"\] \d+\.\d+\.\d+$")
        loaded = json.loads(said[:said.rindex("]") + 1])
        own = [name for name in loaded if name.startswith("tidegauge")]
        self.assertEqual(own, ["tidegauge", *(f"tidegauge.{name}" for name in EAGER)])
        others = {name.partition(".")[0] for name in loaded} - {"tidegauge"}
        self.assertEqual(others - set(sys.stdlib_module_names), set())  # numpy, torch, pyarrow, pandas, matplotlib, …
        self.assertEqual(others & SLOW, set())
        # Python 3.11 has 45, most of them for dataclasses and typing.
        self.assertLessEqual(len(loaded) - len(own), 60, loaded)

    def test_ctrl_c_ends_a_query(self):
        child = subprocess.Popen([sys.executable, "-c", textwrap.dedent(f"""
            import tidegauge
            t = tidegauge.open({OOM!r})
            print("asking", flush=True)
            try:
                t.sql({ENDLESS!r}, timeout_seconds=100)
            except KeyboardInterrupt:
                print("interrupted", t.sql("SELECT 7").rows())
        """)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "asking\n")
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        said, _ = child.communicate(timeout=60)
        self.assertEqual((child.returncode, said), (0, "interrupted [(7,)]\n"))

    def test_other_threads_run_meanwhile(self):
        code, said = python(f"""
            import threading, time, tidegauge
            t = tidegauge.open({OOM!r})
            steps, end = [0], threading.Event()
            def count():
                while not end.is_set():
                    steps[0] += 1
                    time.sleep(0.001)
            thread = threading.Thread(target=count)
            thread.start()
            try:
                t.sql({ENDLESS!r}, timeout_seconds=1)
            except tidegauge.LimitError:
                pass
            print(steps[0] > 20)
            end.set()
            thread.join()
        """)
        self.assertEqual((code, said), (0, "True\n"))

    def test_fork_while_another_thread_asks(self):
        """What that thread has locked stays locked in the child, so the child gets an error and does not wait for ever."""
        code, said = python(f"""
            import os, signal, threading, time, tidegauge
            t = tidegauge.open({OOM!r})
            ends = threading.Event()
            def ask():
                while not ends.is_set(): t.sql("SELECT stack_id, count(*), max(size_bytes) FROM events GROUP BY stack_id")
            thread = threading.Thread(target=ask)
            thread.start()
            time.sleep(0.1)
            refused = 0
            for turn in range(40):
                child = os.fork()
                if child == 0:
                    signal.alarm(20)
                    try:
                        rows = t.sql("SELECT count(*) FROM events").rows()
                        os._exit(0 if rows and tidegauge.open({OOM!r}).devices else 3)
                    except tidegauge.UsageError as error:
                        os._exit(1 if "was forked while another thread" in str(error) else 2)
                status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
                assert status in (0, 1), status
                refused += status
            ends.set()
            thread.join()
            print("refused", refused, len(t.sql("SELECT 1").rows()))
        """)
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"refused [1-9]\d* 1")

    def test_a_file_that_is_cut_or_written_while_it_is_read(self):
        """Linux would end the process (SIGBUS)."""
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "big.pickle"
            subprocess.run([sys.executable, ROOT / "tools/make_snapshot", "--events", "400000", "-o", made], check=True, capture_output=True)
            code, said = python(f"""
                import pathlib, threading, time, tidegauge
                whole = pathlib.Path({str(made)!r}).read_bytes()
                path = pathlib.Path({folder!r}) / "again.pickle"
                said = set()
                for turn in range(60):
                    path.write_bytes(whole)
                    def spoil():
                        time.sleep(0.002 * (turn % 20))
                        with open(path, "r+b" if turn % 2 else "wb") as file:
                            if turn % 2: file.truncate(len(whole) // 3)
                            else: file.write(whole)
                    thread = threading.Thread(target=spoil)
                    thread.start()
                    try:
                        said.add(len(tidegauge.open(path).events))
                    except tidegauge.UnreadableError as error:
                        said.add(error.what)
                    thread.join()
                print(said)
            """)
        self.assertEqual(code, 0, said)
        self.assertIn("the file changed while Tidegauge read it", said)

    def test_fork_after_open(self):
        code, said = python(f"""
            import os, tidegauge
            t = tidegauge.open({OOM!r})
            t.sql("SELECT max(active_bytes) FROM totals")
            child = os.fork()
            if child == 0:
                ok = t.sql("SELECT count(*) FROM events").rows() == [(37378,)] and t.peak().active_bytes > 0
                t.close()
                os._exit(0 if ok else 1)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), t.sql("SELECT count(*) FROM events").rows())
        """)
        self.assertEqual((code, said), (0, "0 [(37378,)]\n"))

    def test_the_interpreter_ends_in_any_state(self):
        for last in ("import os; os._exit(0)", "raise SystemExit", "import sys; sys.modules.clear()", "t.loop = t",
                     "import threading; threading.Thread(target=lambda: t.sql('SELECT 1'), daemon=True).start()",
                     f"import threading; threading.Thread(target=lambda: t.sql({ENDLESS!r}, timeout_seconds=0.5), daemon=True).start()"):
            with self.subTest(last):
                code, said = python(f"import tidegauge\nt = tidegauge.open({OOM!r})\ne = t.events\n{last}\n")
                self.assertNotIn("Fatal", said)
                self.assertEqual(code, 0, said)

    def test_a_daemon_thread_in_the_engine_does_not_crash_the_end(self):
        for work in ("t.report()", "t.whatif()", "t.fragmentation(samples=5000)", f"tidegauge.open({OOM!r})", "t.events.rows()"):
            with self.subTest(work):
                code, said = python(f"""
                    import threading, time, tidegauge
                    t = tidegauge.open({OOM!r})
                    def forever():
                        while True:
                            {work}
                    threading.Thread(target=forever, daemon=True).start()
                    time.sleep(0.5)
                    print("end")
                """)
                self.assertEqual((code, said), (0, "end\n"))

    def test_a_pipe_that_nobody_writes_can_be_interrupted(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/pipe")
            child = subprocess.Popen([sys.executable, "-c", f"print('opening', flush=True)\nimport tidegauge\ntidegauge.open({folder + '/pipe'!r})"],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            child.stdout.readline()
            time.sleep(0.5)
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=60)
            self.assertIn(b"KeyboardInterrupt", said)

    def test_too_little_memory_is_an_error(self):
        code, said = python(f"""
            import resource, tidegauge
            t = tidegauge.open({OOM!r})
            with open("/proc/self/statm") as file:
                used = int(file.read().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + (256 << 20), used + (256 << 20)))
            try:
                t.sql("WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r LIMIT 100000000) SELECT x, x, x, x FROM r")
            except tidegauge.LimitError as error:
                print(error, t.sql("SELECT 7").rows())
        """)
        self.assertEqual((code, said), (0, "not enough memory. [(7,)]\n"))


class Programs(unittest.TestCase):
    def test_the_command_is_found(self):
        self.assertEqual(tidegauge.command(), os.environ["TIDEGAUGE_COMMAND"])
        code, said = python("""
            import os, tidegauge
            os.environ["TIDEGAUGE_COMMAND"] = "/no/such/program"
            try:
                tidegauge.command()
            except tidegauge.MissingFeatureError as error:
                print(error)
        """)
        self.assertIn("/no/such/program is missing", said)

    def test_working_set(self):
        data = bytearray(32 << 20)
        child = subprocess.Popen([sys.executable, "-c", "import time; data = bytearray(32 << 20)\nprint('ready', flush=True)\n"
                                  "while True:\n    data[::4096] = b'x' * (len(data) // 4096); time.sleep(0.01)"], stdout=subprocess.PIPE)
        try:
            child.stdout.readline()
            found = tidegauge.wss(child.pid, 0.5)
        finally:
            child.kill()
            child.communicate()
        self.assertEqual(found.pid, child.pid)
        self.assertGreaterEqual(found.resident_bytes, 32 << 20)
        if found.touched_bytes < 31 << 20:  # another DAMON may take accessed bits; then it says so
            self.assertTrue(found.is_at_least)
        self.assertEqual(found.to_dict()["rows"][-1]["bytes"]["rss"], found.resident_bytes)
        del data
        with self.assertRaisesRegex(tidegauge.UsageError, "no process 4000000"):
            tidegauge.wss(4_000_000)

    def test_the_page_is_shown_and_ends(self):
        for source in (OOM, objects(OOM)):
            trace = tidegauge.open(source)
            view = trace.view()
            self.assertEqual(trace.view().url, view.url)  # one server for one trace
            try:
                with urllib.request.urlopen(view.url + "api/session", timeout=60) as answer:
                    self.assertEqual(answer.status, 200)
                page = urllib.request.urlopen(view.url, timeout=60)
                self.assertNotIn("frame-ancestors", page.headers["Content-Security-Policy"])
                page.close()
                html = view._repr_html_()
                self.assertIn(view.url, html)
                self.assertIn("/proxy/", html)
            finally:
                view.stop()
            with self.assertRaises(OSError):
                urllib.request.urlopen(view.url, timeout=5)

    def test_nothing_is_left_when_python_ends_with_the_page_open(self):
        for last, expected in (("", 0), ("os.kill(os.getpid(), signal.SIGKILL)", -9), ("os.kill(os.getpid(), signal.SIGTERM)", -15), ("os._exit(3)", 3),
                               ("view.stop()", 0), ("del view, trace; gc.collect()", 0)):
            with self.subTest(last):
                code, said = python(f"""
                    import gc, os, signal, tidegauge
                    trace = tidegauge.open({OOM!r})
                    view = trace.view()
                    print(view._server.pid, flush=True)
                    {last}
                """)
                self.assertEqual(code, expected, said)
                end = time.monotonic() + 20
                while os.path.exists(f"/proc/{int(said)}") and time.monotonic() < end:
                    time.sleep(0.05)
                self.assertFalse(os.path.exists(f"/proc/{int(said)}"))

    def test_refusals_of_the_command_are_exceptions(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "there.sqlite")
            path.write_bytes(b"mine")
            # the reason itself: in a notebook nobody sees standard error
            with self.assertRaisesRegex(tidegauge.UsageError, re.escape(f"{path} already exists. Choose another file")):
                tidegauge.record(path, command=["true"])
            with self.assertRaisesRegex(tidegauge.UsageError, "no option --nothing"):
                tidegauge.record(path, command=["true"], options=["--nothing"])
            with self.assertRaises(FileNotFoundError):
                tidegauge.record(pathlib.Path(folder, "missing", "x.sqlite"), command=["true"])
            with self.assertRaises(tidegauge.Error):
                with tidegauge.record(path):
                    pass
            self.assertEqual(path.read_bytes(), b"mine")

    def test_a_recorded_command_inherits_no_descriptor_of_ours(self):
        with tempfile.TemporaryDirectory() as folder:
            seen = pathlib.Path(folder, "seen")
            program = ["sh", "-c", f"ls /proc/self/fd > {seen}; env >> {seen}"]
            tidegauge.record(pathlib.Path(folder, "x.sqlite"), command=program, options=["--preload"])
            lines = seen.read_text().splitlines()
            self.assertEqual(set(lines[:4]), {"0", "1", "2", "3"})  # 3: the folder that ls reads
            self.assertFalse([line for line in lines if line.isdecimal() and int(line) > 3 or "COMPLAINTS" in line])


if __name__ == "__main__":
    unittest.main()
