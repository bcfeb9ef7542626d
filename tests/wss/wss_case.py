"""What the tests of `tidegauge wss` share: the program that touches memory (touch.c), the back-ends that work here."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(os.environ.get("TIDEGAUGE_BINARY", "build/dev/tidegauge")).resolve()
CGROUPS = pathlib.Path("/sys/fs/cgroup")
LIMIT_S = 120
LEAST_CPU_S = 0.002
MIB = 2 ** 20


def wss(*words, check=True):
    done = subprocess.run([BINARY, "wss", *map(str, words)], capture_output=True, text=True, timeout=LIMIT_S,
                          check=False)
    if check and done.returncode != 0:
        raise AssertionError(f"wss {words}: {done.returncode}: {done.stderr}")
    return done


@contextlib.contextmanager
def running(words):
    """A process with pipes, which is ended with its children behind the block."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            for child in pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split():
                os.kill(int(child), signal.SIGKILL)
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


@contextlib.contextmanager
def cgroup_with_limit(case, limit_bytes):
    """A cgroup below the root, which is removed behind the block."""
    name = f"tidegauge-wss-{os.getpid()}"
    one, two = CGROUPS / "memory" / name, CGROUPS / name
    controllers = CGROUPS / "cgroup.subtree_control"
    is_two = controllers.exists() and "memory" in controllers.read_text()
    if not is_two and not (CGROUPS / "memory/memory.limit_in_bytes").exists():
        case.skipTest("no cgroup of this machine counts memory")
    folder = two if is_two else one
    try:
        folder.mkdir()
        (folder / ("memory.max" if is_two else "memory.limit_in_bytes")).write_text(str(limit_bytes))
    except OSError as error:
        case.skipTest(f"no cgroup can be made, which needs root: {error}")
    try:
        yield folder
    finally:
        folder.rmdir()


class WssCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.touch = pathlib.Path(cls.folder.name, "touch")
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-o", cls.touch, HERE / "touch.c"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @contextlib.contextmanager
    def touching(self, *words):
        with running([self.touch, *map(str, words)]) as process:
            address, size = process.stdout.readline().split()
            yield process.pid, int(address, 16), int(size)

    def backends(self):
        """Those that work here; why not else."""
        yield "smaps"
        with self.subTest(backend="pte"):
            done = wss("--backend", "pte", os.getpid(), 0.001, check=False)
            if done.returncode == 4:
                self.skipTest(done.stderr.strip())
            yield "pte"

    def touched(self, address, *words):
        """Of the mapping at `address`, and of all. A window in which the process had no time to touch all, on a busy
        machine, shows nothing: it is measured again."""
        for _ in range(5):
            row = json.loads(wss("--json", "--by", "vma", *words).stdout)["rows"][-1]
            ran_s = row["work"]["cpu_s"]
            if ran_s is None or ran_s >= LEAST_CPU_S:
                break
        mine = [group for group in row["groups"] if group.get("start") == address]
        self.assertEqual(len(mine), 1, row["groups"])
        return mine[0]["bytes"], row

    @contextlib.contextmanager
    def forks(self):
        """Three that share 48 MiB: one reads the first 16 of them, two the second 16."""
        program = ("import mmap, os, time\n"
                   "memory = mmap.mmap(-1, 48 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\n"
                   "memory.write(b'x' * (48 << 20))\n"
                   "is_child = os.fork() == 0 or os.fork() == 0\n"
                   "if not is_child: print('ready', flush=True)\n"
                   "begin, n = (16 << 20 if is_child else 0), 0\n"
                   "while os.getppid() != 1:\n"
                   "    for at in range(begin, begin + (16 << 20), 4096): n += memory[at]\n"
                   "    time.sleep(0.001)\n")
        with running(["python3", "-c", program]) as process:
            self.assertEqual(process.stdout.readline(), "ready\n")
            yield process.pid
