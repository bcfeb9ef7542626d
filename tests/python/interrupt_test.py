"""Ctrl-C during every answer: KeyboardInterrupt, and a trace that answers as before."""
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from package import ROOT

# Long enough that a replay of it is far from its end when the signal comes.
EVENTS = 300_000

CHILD = """
    import json, os, signal, sys, time, tidegauge

    t = tidegauge.open(PATH)
    same = {"diff": lambda: tidegauge.diff(t, t).to_dict(), "frag": lambda: t.fragmentation(samples=10_000).to_dict(),
            "report": lambda: t.report(replay="none").to_dict(), "text": lambda: str(t.report(replay="none"))}
    expected = {name: ask() for name, ask in same.items()}

    def handler(number, frame):
        global seen
        seen = time.process_time()
        raise KeyboardInterrupt
    signal.signal(signal.SIGINT, handler)

    def interrupted(ask):
        '''Asks again and again until the signal comes; processor time between the signal and the exception.'''
        print("asking", flush=True)
        try:
            while True:
                ask()
        except KeyboardInterrupt:
            return time.process_time() - seen

    def whole(ask):
        before = time.process_time()
        ask()
        return time.process_time() - before

    def say(**values):
        values["same"] = [name for name, ask in same.items() if ask() == expected[name]] == list(same)
        print(json.dumps(values), flush=True)
"""


class Interrupt(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name, "long.pickle")
        subprocess.run([sys.executable, "tools/make_snapshot", "--events", str(EVENTS), "--oom", "-o", cls.path], cwd=ROOT, check=True)

    def run_child(self, code, signals):
        """Runs the code and sends it Ctrl-C after each "asking"; what it says."""
        text = textwrap.dedent(CHILD).replace("PATH", repr(str(self.path))) + textwrap.dedent(code)
        child = subprocess.Popen([sys.executable, "-X", "faulthandler", "-c", text], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            for after in signals:
                line = child.stdout.readline()
                while line and line != "asking\n":
                    line = child.stdout.readline()
                time.sleep(after)
                child.send_signal(signal.SIGINT)
            said, errors = child.communicate(timeout=100)
        finally:
            child.kill()
            child.communicate()
        self.assertEqual(child.returncode, 0, errors)
        return json.loads(said.splitlines()[-1])

    def test_each_answer_ends_and_the_trace_stays_whole(self):
        code = """
            for ask in (*same.values(), lambda: tidegauge.open(PATH).close(), lambda: t.events["address"], lambda: t.holders(), lambda: t.growth(),
                        lambda: str(t.fragmentation(request="1GiB")), lambda: t.plot.timeline(backend="svg")):
                for _ in range(2):
                    interrupted(ask)
            say()
        """.replace("PATH", repr(str(self.path)))
        self.assertEqual(self.run_child(code, [0.02, 0.2] * 10), {"same": True})

    def test_replays_end_long_before_their_end(self):
        """By processor time: a stopped replay costs a small part of a whole one."""
        for ask in ("t.report(replay='all')", "t.whatif(min_capacity=True)", "str(t.report(replay='all'))"):
            with self.subTest(ask):
                said = self.run_child(f"""
                    ask = lambda: {ask}
                    cost = whole(ask)
                    say(cost=cost, after=min(interrupted(ask) for _ in range(3)))
                """, [0.3] * 3)
                self.assertTrue(said["same"])
                self.assertLess(said["after"], said["cost"] / 4, said)

    def test_a_work_that_cannot_stop_is_left(self):
        """The table of replays in SQL looks at no signal. Python may end while it runs."""
        said = self.run_child("""
            interrupted(lambda: t.sql("SELECT count(*) FROM replays(0)", timeout_seconds=1000).rows())
            say()
        """, [0.2])
        self.assertEqual(said, {"same": True})


if __name__ == "__main__":
    unittest.main()
