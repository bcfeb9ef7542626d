"""Part 2: what recording costs a step: `record`, PyTorch's own history, both, neither.

With eBPF: two processes train, one of them with history, and make their steps in turn. A recorder
is attached to both for every second turn of 50 steps. So the four ways share two processes, and no
probe is set while "neither" is measured: probes slow every process that maps the library.

With --preload: four processes make their steps in turn; the library is in two of them.
"""
import os
import signal
import sqlite3
import statistics
import subprocess
import time

from outcome import last_line

HERE = os.path.dirname(os.path.abspath(__file__))
WAYS = ("neither", "record", "history", "both")
TURNS = 4
NOT_COUNTED = 5  # steps at the begin of a turn: the recorder learns the stacks
START_S, ATTACH_S = 120, 60  # more if the part has more time left


class Training:
    """A process of programs/steps.py."""

    def __init__(self, tools, words, before=()):
        self.process = subprocess.Popen(
            [*before, tools.python, os.path.join(HERE, "programs", "steps.py"), *words], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=tools.environment)

    def wait_ready(self):
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError(f"the training run of the cost ended: exit code {self.process.wait()}")

    def step(self):
        """Nanoseconds of one step."""
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the training run of the cost ended: exit code {self.process.wait()}")
        return int(answer)

    def end(self):
        self.process.stdin.close()
        try:
            self.process.wait(START_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Attached:
    """A recorder of running processes, from when it has their calls."""

    def __init__(self, tools, path, trainings, seconds):
        self.path, self.trainings = path, trainings
        pids = [word for it in trainings for word in ("-p", str(it.process.pid))]
        self.process = subprocess.Popen([tools.binary, "record", *tools.record, "--no-summary", "-o", path, *pids],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        end = time.monotonic() + max(ATTACH_S, seconds)
        while not self._sees_all():
            if self.process.poll() is not None or time.monotonic() > end:
                self.process.kill()
                raise RuntimeError(f"record -p saw no calls of the training: {last_line(self.process.communicate()[1])}")
            for it in trainings:
                it.step()

    def _sees_all(self):
        if not os.path.exists(self.path):
            return False
        try:
            file = sqlite3.connect(f"file:{self.path}?mode=ro", uri=True)
            try:
                return file.execute("SELECT count(DISTINCT process_id) FROM calls").fetchone()[0] == len(self.trainings)
            finally:
                file.close()
        except sqlite3.OperationalError:  # it is being made
            return False

    def end(self, seconds):
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=max(ATTACH_S, seconds))


def by_turns(tools, folder, steps, until):
    """{way: [ns]}, with eBPF."""
    taken = {way: [] for way in WAYS}
    trainings = [Training(tools, []), Training(tools, ["history"])]
    try:
        for it in trainings:
            it.wait_ready()
        each = -(-steps // TURNS)
        for turn in range(TURNS):
            for is_recorded in (False, True):
                ways = ("record", "both") if is_recorded else ("neither", "history")
                recorder = None
                if is_recorded:
                    recorder = Attached(tools, os.path.join(folder, f"cost{turn}.sqlite"), trainings,
                                        until - time.monotonic())
                try:
                    for step in range(-NOT_COUNTED, each):
                        for way, it in zip(ways, trainings):
                            spent_ns = it.step()
                            if step >= 0 and len(taken[way]) < steps:
                                taken[way].append(spent_ns)
                finally:
                    if recorder:
                        recorder.end(until - time.monotonic())
            if time.monotonic() > until:
                break
    finally:
        for it in trainings:
            it.end()
    return taken


def side_by_side(tools, folder, steps, until):
    """{way: [ns]}, with the library."""
    taken = {way: [] for way in WAYS}
    trainings = {}
    try:
        for way in WAYS:
            before = [tools.binary, "record", *tools.record, "--no-summary", "-o",
                      os.path.join(folder, f"{way}.sqlite"), "--"] if way in ("record", "both") else []
            trainings[way] = Training(tools, ["history"] if way in ("history", "both") else [], before)
        for it in trainings.values():
            it.wait_ready()
        for step in range(-NOT_COUNTED, steps):
            for way, it in trainings.items():
                spent_ns = it.step()
                if step >= 0:
                    taken[way].append(spent_ns)
            if time.monotonic() > until:
                break
    finally:
        for it in trainings.values():
            it.end()
    return taken


def p99(values):
    """The smallest value that at least 99 % of them do not exceed."""
    return sorted(values)[-(-99 * len(values) // 100) - 1]


def figures_of(taken):
    """{way: steps, median_ns, p99_ns, times_neither}."""
    plain = statistics.median(taken["neither"])
    return {way: {"steps": len(values), "median_ns": int(statistics.median(values)), "p99_ns": p99(values),
                  "times_neither": round(statistics.median(values) / plain, 4)} for way, values in taken.items()}


def run(tools, folder, steps, seconds):
    until = time.monotonic() + seconds
    taken = (by_turns if tools.has_blocks else side_by_side)(tools, folder, steps, until)
    result = figures_of(taken)
    fewest = min(len(values) for values in taken.values())
    result["left_out"] = [f"{steps - fewest} of {steps} steps of each way: no time"] if fewest < steps else []
    return result


def problems(result):
    """What is wrong, in words: figures of cost are not right or wrong."""
    for way in WAYS:
        if result[way]["steps"] == 0:
            yield f"cost: no step was measured ({way})"
