#!/usr/bin/env python3
"""Parts of `tidegauge.torch` that need no PyTorch: the writer of pickles, limits of the host, plans, files."""
import io
import os
import pathlib
import pickle
import pickletools
import subprocess
import sys
import tempfile
import unittest

import programs

if not programs.PACKAGE.joinpath("tidegauge/__init__.py").exists():
    raise unittest.SkipTest(f"no package tidegauge in {programs.PACKAGE}")
import tidegauge
import tidegauge.torch
from tidegauge.sizes import human_bytes
from tidegauge.torch import _files, _host, _live, _plan, _stream, _uncaught


def snapshot_of(events, stacks=50):
    frames = [[{"filename": "a.py", "line": line, "name": f"f{depth}"} for depth in range(20)]
              for line in range(stacks)]
    trace = [{"action": "alloc", "addr": 0x7f0000000000 + 512 * at, "size": 512, "stream": 0, "time_us": 10**15 + at,
              "frames": frames[at % stacks], "compile_context": "N/" + "A", "user_metadata": "".join(["x"] * (at % 2)),
              "pool_id": (0, 0)} for at in range(events)]
    block = {"address": 1 << 63, "size": 512, "requested_size": 500, "state": "inactive", "frames": []}
    return {"segments": [{"device": 0, "address": 1 << 63, "blocks": [block] * 3, "segment_pool_id": (0, 0)}],
            "device_traces": [trace, [], trace[:1]], "allocator_settings": {"expandable_segments": True, "x": {"1": 2}},
            "external_annotations": [], "unknown": None}


def written(snapshot):
    file = io.BytesIO()
    size = _stream.write_snapshot(file, snapshot)
    assert size == len(file.getvalue())
    return file.getvalue()


class Stream(unittest.TestCase):
    def test_what_is_read_is_what_was_written(self):
        for events in (0, 1, 2, 999, 1000, 1001, 2001, 40_001):
            with self.subTest(events):
                snapshot = snapshot_of(events)
                self.assertEqual(pickle.loads(written(snapshot)), snapshot)

    def test_only_opcodes_that_viewers_know(self):
        names = {opcode.name for opcode, _, _ in pickletools.genops(written(snapshot_of(3000)))}
        known = {"PROTO", "EMPTY_DICT", "EMPTY_LIST", "MARK", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "TUPLE2",
                 "BINUNICODE", "BININT", "BININT1", "BININT2", "LONG1", "NEWTRUE", "NEWFALSE", "NONE", "BINFLOAT",
                 "BINPUT", "LONG_BINPUT", "BINGET", "LONG_BINGET", "STOP"}
        self.assertLessEqual(names, known)

    def test_stacks_are_shared(self):
        loaded = pickle.loads(written(snapshot_of(5000)))
        self.assertEqual(len({id(event["frames"]) for event in loaded["device_traces"][0]}), 50)

    def test_an_iterator_becomes_a_list(self):
        value = {"tidegauge": _stream.Items({"name": str(at)} for at in range(2500)), "empty": _stream.Items(iter(()))}
        self.assertEqual(pickle.loads(written(value)),
                         {"tidegauge": [{"name": str(at)} for at in range(2500)], "empty": []})

    def test_names_inside_a_dictionary(self):
        value = {"tidegauge": {"version": 1, "tensors": _stream.Items(iter([{"name": "a"}]))}}
        self.assertEqual(pickle.loads(written(value)), {"tidegauge": {"version": 1, "tensors": [{"name": "a"}]}})

    def test_memory_is_bounded(self):
        """The peak of a process of its own: the memo of the pickler is not counted by tracemalloc."""
        program = f"""
import sys; sys.path[:0] = {[str(programs.PACKAGE), str(programs.HERE)]!r}
import plain_test
from tidegauge.torch import _stream
def peak(): return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) << 10
snapshot = plain_test.snapshot_of(400_000)
before = peak()
with open("/dev/null", "wb") as file:
    _stream.write_snapshot(file, snapshot)
print(peak() - before)
"""
        out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        self.assertLess(int(out), 64 << 20)

    def test_a_failing_disk_is_reported(self):
        class Full(io.RawIOBase):
            def write(self, data):
                raise OSError(28, "No space left on device")
        with self.assertRaises(OSError):
            _stream.write_snapshot(Full(), snapshot_of(10))


class Host(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, **files):
        for name, text in files.items():
            path = self.root / name.replace("__", "/").replace("_DOT_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def headroom(self):
        return _host.headroom(str(self.root / "proc"), str(self.root / "cgroup"))

    def test_the_smallest_limit_of_the_groups_above(self):
        self.write(proc__self__cgroup="0::/pod/box\n", proc__meminfo="MemAvailable:  100000000 kB\n",
                   cgroup__pod__memory_DOT_max="4000000\n", cgroup__pod__memory_DOT_current="1000000\n",
                   cgroup__pod__box__memory_DOT_max="max\n", cgroup__pod__box__memory_DOT_current="900000\n")
        self.assertEqual(self.headroom(), _host.Headroom(3_000_000, "memory.max of the cgroup"))

    def test_pages_of_files_can_be_dropped(self):
        self.write(proc__self__cgroup="0::/\n", cgroup__memory_DOT_max="4000000\n",
                   cgroup__memory_DOT_current="3000000\n", cgroup__memory_DOT_stat="anon 5\ninactive_file 1500000\n")
        self.assertEqual(self.headroom().bytes, 2_500_000)

    def test_a_container_sees_its_own_group_at_the_top(self):
        self.write(proc__self__cgroup="0::/../../kubepods/x\n", cgroup__memory_DOT_max="900\n",
                   cgroup__memory_DOT_current="1000\n")
        self.assertEqual(self.headroom().bytes, 0)

    def test_version_1(self):
        self.write(proc__self__cgroup="5:cpu:/a\n4:memory:/a\n", cgroup__memory__a__memory_DOT_limit_in_bytes="7000",
                   cgroup__memory__a__memory_DOT_usage_in_bytes="5000",
                   cgroup__memory__a__memory_DOT_stat="total_inactive_file 500\n",
                   cgroup__memory__memory_DOT_limit_in_bytes="9223372036854771712",
                   cgroup__memory__memory_DOT_usage_in_bytes="1")
        self.assertEqual(self.headroom().bytes, 2500)

    def test_the_machine(self):
        self.write(proc__meminfo="MemTotal: 9 kB\nMemAvailable:  5 kB\n")
        self.assertEqual(self.headroom(), _host.Headroom(5 * 1024, "MemAvailable of the machine"))

    def test_nothing_to_read(self):
        self.assertEqual(self.headroom().limit, "unknown")

    def test_the_rank_is_the_launchers(self):
        before = dict(os.environ)
        self.addCleanup(lambda: (os.environ.clear(), os.environ.update(before)))
        for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
            os.environ.pop(name, None)
        self.assertEqual(_host.rank(), 0)
        os.environ["SLURM_PROCID"] = "7"
        self.assertEqual(_host.rank(), 7)
        os.environ["RANK"] = "3"
        self.assertEqual(_host.rank(), 3)


class Plans(unittest.TestCase):
    MUCH = _host.Headroom(1 << 40, "memory.max of the cgroup")

    def plan(self, events=100_000, blocks=1000, memory=MUCH, disk=1 << 40, left=100.0, skip=True):
        return _plan.plan_for(events, blocks, memory, disk, left, skip)

    def test_all_fits(self):
        self.assertEqual(self.plan(), _plan.Plan("events"))
        self.assertEqual(self.plan(events=0), _plan.Plan("state"))

    def test_short_of_memory_disk_or_time_the_state_alone(self):
        # 100,000 events need 64 MiB + 100,000 × (60 B + what PyTorch needs).
        needed = (64 << 20) + 100_000 * (60 + _live.HAND_OUT_BYTES) + 1000 * _live.BLOCK_BYTES
        enough, less = int(needed / 0.8) + 2, int(needed / 0.8) - 2
        self.assertEqual(self.plan(memory=_host.Headroom(enough, "x")).take, "events")
        short = self.plan(memory=_host.Headroom(less, "memory.max of the cgroup"))
        self.assertEqual(short.take, "state")
        self.assertIn(f"the events were left out: it needs up to {human_bytes(needed)} of host", short.reason)
        self.assertIn("(memory.max of the cgroup)", short.reason)
        self.assertEqual(self.plan(disk=2 << 20).take, "state")
        self.assertEqual(self.plan(left=1.0).take, "state")
        self.assertEqual(self.plan(left=1.5).take, "events")

    def test_counters_alone_when_nothing_else_fits_or_pytorch_cannot_skip_events(self):
        self.assertEqual(self.plan(memory=_host.Headroom(1 << 20, "x")).take, "counters")
        self.assertEqual(self.plan(left=1.0, skip=False).take, "counters")
        self.assertEqual(self.plan(disk=0).take, "counters")


class Uncaught(unittest.TestCase):
    def test_figures_of_a_message(self):
        begin = "CUDA out of memory. Tried to allocate"
        for text, figures in ((f"{begin} 16.00 MiB. GPU 1 has a total capacty of 79.10 GiB", (1, 16 << 20)),
                              (f"{begin} 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB", (0, 5 << 29)),
                              (f"{begin} 512 bytes. GPU 3 has", (3, 512)), (f"{begin} 512 bytes. GPU \x01 has", (1, 512)),
                              (f"{begin} 512 bytes. GPU \n has", (10, 512)), (f"{begin} 512 bytes. GPU ", (0, 512)), (f"{begin} 4194304.00 GiB. GPU 2 has", (2, 0)), ("another kind of text", (0, 0))):
            self.assertEqual(_uncaught.figures_of(text), figures)

    def test_the_stack_begins_where_it_was_raised(self):
        def inner():
            raise KeyError
        try:
            inner()
        except KeyError as error:
            stack = _uncaught.stack_of(error.__traceback__)
        self.assertEqual([frame[2] for frame in stack], ["inner", "test_the_stack_begins_where_it_was_raised"])


class Files(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def test_a_file_is_whole_or_absent(self):
        path = self.root / "a"
        self.assertEqual(_files.write_whole(path, lambda file: file.write(b"1234")), 4)
        with self.assertRaises(ZeroDivisionError):
            _files.write_whole(path, lambda file: (file.write(b"x"), 1 / 0))
        self.assertEqual(path.read_bytes(), b"1234")
        self.assertEqual(os.listdir(self.root), ["a"])

    def test_temporary_files_of_others_are_left(self):
        """A writer that crashed, or still works, may have the same process number: in containers each has 1."""
        path = self.root / "a"
        before = _files.time.time_ns
        self.addCleanup(setattr, _files.time, "time_ns", before)
        _files.time.time_ns = lambda: 77
        names = []
        _files.write_whole(path, lambda file: names.append(file.name))
        other = pathlib.Path(names[0])
        other.write_bytes(b"theirs")
        with self.assertRaises(FileExistsError):
            _files.write_whole(path, lambda file: file.write(b"x"))
        self.assertEqual(other.read_bytes(), b"theirs")
        _files.time.time_ns = lambda: 78
        self.assertEqual(_files.write_whole(path, lambda file: file.write(b"12")), 2)
        self.assertEqual((path.read_bytes(), other.read_bytes()), (b"12", b"theirs"))

    def test_a_stale_file_of_the_same_process_number_costs_no_snapshot(self):
        (self.root / f".a.{os.getpid()}.tmp").write_bytes(b"stale")
        self.assertEqual(_files.write_whole(self.root / "a", lambda file: file.write(b"12")), 2)

    def test_one_writer(self):
        with _files.one_writer(self.root, 0) as first, _files.one_writer(self.root, 0) as second:
            self.assertEqual((first, second), (True, False))
        with _files.one_writer(self.root, 0) as third:
            self.assertTrue(third)

    def test_rotation_keeps_the_newest(self):
        for at in range(5):
            path = self.root / f"p-{at}.pickle"
            path.write_text("x" * at)
            os.utime(path, (at, at))
        (self.root / "other.pickle").write_text("")
        removed = _files.drop_oldest(self.root, "p-*.pickle", 2)
        self.assertEqual([path.name for path in removed], ["p-0.pickle", "p-1.pickle", "p-2.pickle"])
        self.assertEqual(_files.size_of(self.root, "p-*.pickle"), (2, 7))


class Exceptions(unittest.TestCase):
    """Pools of processes send them from one to the other."""

    def kinds(self, base=tidegauge.Error):
        return [base, *(kind for each in base.__subclasses__() for kind in self.kinds(each))]

    def test_each_can_be_pickled(self):
        own = {tidegauge.torch.MemoryGrowth: (1, 2.5, 8, ["+1 B  a"]),
               tidegauge.torch.MemoryLimitExceeded: (1, 5 << 20, 4 << 20, ["1 B in 1 block  a"])}
        kinds = set(self.kinds())
        self.assertLessEqual({*own, tidegauge.UsageError, tidegauge.LimitError}, kinds)
        for kind in kinds:
            with self.subTest(kind.__name__):
                error = kind(*own.get(kind, ("what", 7, "advice", "file")))
                error.more = "of the program"
                for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                    copy = pickle.loads(pickle.dumps(error, protocol))
                    self.assertIs(type(copy), kind)
                    self.assertEqual((str(copy), copy.__dict__), (str(error), error.__dict__))


class Import(unittest.TestCase):
    def test_nothing_of_torch_is_imported(self):
        program = (f"import sys; sys.path.insert(0, {str(programs.PACKAGE)!r}); import tidegauge.torch; "
                   "print([name for name in sys.modules if name == 'torch' or name.startswith('torch.')])")
        out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        self.assertEqual(out.strip(), "[]")


class Trim(unittest.TestCase):
    def test_events_without_times_are_counted(self):
        """PyTorch 2.1 has no times: the newest events are those of the block."""
        from tidegauge.torch._record import _keep_since
        actions = ["segment_alloc", "alloc", "snapshot", "alloc", "free_requested", "snapshot", "free_completed"]
        for since, kept in ((0, 0), (1, 1), (2, 3), (3, 4), (4, 6), (99, 7)):
            snapshot = {"device_traces": [[{"action": action} for action in actions], []]}
            _keep_since(snapshot, 5, [since], 100)
            self.assertEqual(snapshot["device_traces"], [[{"action": action} for action in actions[7 - kept:]], []])
        timed = {"device_traces": [[{"action": "alloc", "time_us": time} for time in (3, 7, 4, 9)]]}
        _keep_since(timed, 5, [0], 2)
        self.assertEqual([event["time_us"] for event in timed["device_traces"][0]], [4, 9])


if __name__ == "__main__":
    unittest.main()
