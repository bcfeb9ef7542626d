#!/usr/bin/env python3
"""limit(), assert_no_growth() and periodic() on real PyTorch, and what they rest on without it."""
import pickle
import unittest

import programs

if not programs.PACKAGE.joinpath("tidegauge/__init__.py").exists():
    raise unittest.SkipTest(f"no package tidegauge in {programs.PACKAGE}")
from tidegauge import UsageError, sizes
from tidegauge.torch._growth import growth_of, grown
from tidegauge.torch._holders import LiveHolder, holders
from tidegauge.torch._limit import limit

START = """
    import tidegauge.torch
    torch = no_math_libraries()
    MIB = 1 << 20
    def take(mib): return torch.empty(mib * MIB, dtype=torch.uint8, device="cuda")
"""


class Plain(unittest.TestCase):
    def test_sizes(self):
        """As everywhere in Tidegauge; 0 is a limit, too."""
        for text in ("4GiB", "80GB", "1.5 GB", "512k", 7, " 2 MiB ", "3b"):
            self.assertEqual(sizes.bytes_or_zero(text, "peak"), sizes.bytes_of(text))
            self.assertEqual(limit(text)._limit, sizes.bytes_of(text))
        self.assertEqual(limit("80GB")._limit, 80 << 30)
        self.assertEqual([sizes.bytes_or_zero(each, "peak") for each in (0, "0")], [0, 0])
        for wrong in ("", "GiB", "4 gigs", "-1", -1, "1e9", True, False, None):
            with self.assertRaises(UsageError):
                limit(wrong)

    def test_growth(self):
        self.assertEqual(growth_of([100 * at for at in range(10)]), 100)
        self.assertEqual(growth_of([5] * 10), 0)
        self.assertEqual(growth_of([0, 9, 0, 9, 0, 9, 0, 9, 0]), 0)  # swings
        self.assertEqual(growth_of([0, 50, 50, 50, 50, 50, 50, 50, 50]), 0)  # once
        self.assertEqual(growth_of([9, 8, 7, 6, 5, 4]), 0)
        self.assertEqual(growth_of([1]), 0)

    def test_what_grew(self):
        before = [LiveHolder(100, 1, "a"), LiveHolder(50, 1, "b")]
        after = [LiveHolder(100, 1, "a"), LiveHolder(70, 2, "b"), LiveHolder(30, 1, "c")]
        self.assertEqual(grown(before, after), ["+30 B  c", "+20 B  b"])

    def test_holders_have_names_or_lines(self):
        frames = [{"filename": "/x/torch/nn/linear.py", "line": 1, "name": "forward"},
                  {"filename": "/home/train.py", "line": 41, "name": "step"}]
        block = {"size": 512, "state": "active_allocated", "frames": frames}
        snapshot = {"segments": [
            {"device": 0, "address": 0, "blocks": [block, block, {**block, "state": "inactive"}, block]},
            {"device": 1, "address": 0, "blocks": [{**block, "frames": []}]}],
            "tidegauge": {"tensors": [{"device": 0, "address": 1536, "name": "w.grad", "kind": "gradient", "of": "w",
                                       "time_us": 5}]}}
        self.assertEqual(holders(snapshot, 0), [LiveHolder(1024, 2, "train.py:41 step"), LiveHolder(512, 1, "gradients")])
        self.assertEqual(holders(snapshot, 1), [LiveHolder(512, 1, "no stack recorded")])


class Limit(programs.TorchTest):
    def test_over_the_limit_says_by_how_much_and_what_held_it(self):
        done = self.run_torch(START, """
            def hungry(): a = take(3); b = take(3)
            with tidegauge.torch.limit(peak="6MiB"):
                hungry()
            try:
                with tidegauge.torch.limit(peak="5MiB"):
                    hungry()
            except tidegauge.torch.MemoryLimitExceeded as error:
                give(peak=error.peak_bytes, limit=error.limit_bytes, text=str(error),
                     base=isinstance(error, tidegauge.Error))
            give(on=torch._C._cuda_isHistoryEnabled())
        """)
        self.assertEqual((done["peak"], done["limit"], done["base"], done["on"]), (6 << 20, 5 << 20, True, False))
        self.assertIn("6.00 MiB allocated at the peak, 1.00 MiB more than the limit of 5.00 MiB", done["text"])
        self.assertIn("hungry", done["text"])

    def test_as_a_decorator_and_nested(self):
        done = self.run_torch(START, """
            @tidegauge.torch.limit(peak="4MiB", explain=False)
            def inner(): take(3)
            torch.cuda.init()
            with tidegauge.torch.limit(peak="10MiB"):
                take(8)
                inner()
                inner()
            try:
                with tidegauge.torch.limit(peak="7MiB"):
                    take(8)
                    inner()
            except tidegauge.torch.MemoryLimitExceeded as error:
                give(outer=error.peak_bytes)
            try:
                with tidegauge.torch.limit(peak="1MiB"):
                    take(8)
                    raise KeyError("of the program")
            except KeyError:
                give(own=True)
        """)
        self.assertEqual(done["outer"], 8 << 20)
        self.assertTrue(done["own"])

    def test_cuda_started_inside_and_devices(self):
        done = self.run_torch(START, """
            given = []
            try:
                with tidegauge.torch.limit(peak="2MiB", device=1):
                    kept = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda:0")
                    kept = torch.empty(3 * MIB, dtype=torch.uint8, device="cuda:1")
            except tidegauge.torch.MemoryLimitExceeded as error:
                give(device=error.device, text=str(error))
        """, FAKE_GPU_COUNT="2")
        self.assertEqual(done["device"], 1)
        self.assertIn("program.py", done["text"])


class Growth(programs.TorchTest):
    def test_a_leak_is_found_and_named(self):
        done = self.run_torch(START, """
            leaked = []
            def leak(): leaked.append(take(1))
            def fine(): take(1)
            errors = []
            def tried(act):
                try: act()
                except tidegauge.torch.MemoryGrowth as error: return [error.bytes_per_step, str(error)]
            def iterator(function):
                for _ in tidegauge.torch.assert_no_growth(steps=8, warmup=2): function()
            def block(function):
                with tidegauge.torch.assert_no_growth(steps=8, warmup=0):
                    for _ in range(20): function(); tidegauge.torch.step()
            def decorator(function):
                stepped = tidegauge.torch.assert_no_growth(steps=8)(function)
                for _ in range(20): stepped()
            torch.cuda.init()
            for form in (iterator, block, decorator):
                give(form=form.__name__, leak=tried(lambda: form(leak)), fine=tried(lambda: form(fine)),
                     on=torch._C._cuda_isHistoryEnabled())
        """)
        self.assertEqual([values["form"] for values in done.given], ["iterator", "block", "decorator"])
        for values in done.given:
            with self.subTest(values["form"]):
                self.assertEqual(values["leak"][0], 1 << 20)
                self.assertIn("leak", values["leak"][1].split("What grew:")[1])
                self.assertIsNone(values["fine"])
                self.assertFalse(values["on"])

    def test_too_few_steps_and_wrong_arguments(self):
        self.run_torch(START, """
            try:
                with tidegauge.torch.assert_no_growth(steps=8): tidegauge.torch.step()
            except tidegauge.Error as error:
                assert "saw 1 step of 11" in str(error), error
            else:
                sys.exit("too few steps were taken")
            for options in ({"steps": 3}, {"steps": 8, "warmup": -1}, {"steps": 8, "allowed_bytes_per_step": "much"}):
                try: tidegauge.torch.assert_no_growth(**options)
                except tidegauge.UsageError: continue
                sys.exit(f"{options} was taken")
        """)


    def test_decorators_hold_until_a_coroutine_or_a_generator_ends(self):
        """The decorators of contextlib end when the function returns, which is before it ran."""
        done = self.run_torch(START, """
            import asyncio
            limit, T = tidegauge.torch.limit(peak="1MiB"), tidegauge.torch
            @limit
            async def coroutine(): await asyncio.sleep(0); return take(2)
            @limit
            def generator(): yield take(2)
            @limit
            async def both(): yield take(2)
            @limit
            def plain(): return take(2)
            async def iterate(): return [one async for one in both()]
            for call in (lambda: asyncio.run(coroutine()), lambda: list(generator()), lambda: asyncio.run(iterate()), plain):
                try: call()
                except T.MemoryLimitExceeded: continue
                sys.exit("the limit was not seen")
            @T.record
            async def recorded(): await asyncio.sleep(0); return take(3)
            before = torch.cuda.memory_allocated()
            asyncio.run(recorded())
            @T.phase("whole")
            def phased():
                yield take(1)
                kept.append(take(1))
            kept = []
            with T.record() as r: list(phased())
            spans = r.trace.sql("SELECT begin_step, end_step FROM annotations WHERE name = 'whole'").rows()
            @T.record()
            def sent(): got = yield 1; return got
            each = sent(); next(each)
            try: each.send(7)
            except StopIteration as end: returned = end.value
            give(peak=recorded.recording.trace.peak().active_bytes - before, spans=spans, events=len(r.trace.events), returned=returned)
        """)
        self.assertEqual((done["peak"], done["returned"]), (3 << 20, 7))
        begin, end = done["spans"][0]
        self.assertGreaterEqual(end - begin, done["events"] - 2)

    def test_a_limit_is_of_a_device_that_exists(self):
        self.run_torch(START, """
            take(1)
            T = tidegauge.torch
            for wrong in (2, -1, "cuda:9", "cpu", torch.device("cpu"), True, 1.5):
                for call in (lambda: T.limit("1MiB", device=wrong), lambda: tidegauge.callbacks.StepLogger(device=wrong)):
                    try: call()
                    except tidegauge.UsageError: continue
                    sys.exit(f"{wrong} was taken")
            for right in (1, "cuda:1", torch.device("cuda:1")):
                try:
                    with T.limit("1MiB", device=right): kept = torch.empty(4 << 20, device="cuda:1")
                    sys.exit("the limit was not seen")
                except T.MemoryLimitExceeded as error: assert error.device == 1, error
                del kept
                with T.limit("1MiB", device=right): take(8)
        """, FAKE_GPU_COUNT="2")

    def test_a_check_that_judged_nothing_says_so(self):
        done = self.run_torch(START, """
            import warnings
            T = tidegauge.torch
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                for number in T.assert_no_growth(steps=8):
                    if number == 3: break
            give(said=[str(one.message) for one in said])
            @T.assert_no_growth(steps=8)
            def step(): pass
            for _ in range(9): step()
        """, PYTHONWARNINGS="default")
        self.assertIn("saw 3 steps of 11, 3 to warm up and 8 to compare, so nothing was judged", done["said"][0])
        self.assertIn("assert_no_growth() saw 9 steps of 11", done.err)

    def test_a_decorator_that_is_called_too_seldom_leaves_no_history_on(self):
        done = self.run_torch(START, """
            torch.cuda.init()
            on, inside = [], []
            @tidegauge.torch.assert_no_growth(steps=8)
            def stepped(fail):
                inside.append(torch._C._cuda_isHistoryEnabled())
                if fail: raise KeyError
            for fail in (False, False, True, False):
                try: stepped(fail)
                except KeyError: pass
                on.append(torch._C._cuda_isHistoryEnabled())
            give(on=on, inside=inside)
        """)
        self.assertEqual((done["on"], done["inside"]), ([False] * 4, [True] * 4))


class Periodic(programs.TorchTest):
    def test_files_of_an_earlier_run_with_the_same_process_number_stay(self):
        done = self.run_torch(START, """
            os.getpid = lambda: 1  # of a container
            kept = take(1)
            def run():
                with tidegauge.torch.periodic(OUT, every_steps=1, keep=2, keep_free_bytes=0) as p:
                    for _ in range(3): tidegauge.torch.step()
                assert p.problem == "", p.problem
                return [path.name for path in p.files]
            give(first=run(), second=run())
        """)
        self.assertEqual(len({*done["first"], *done["second"]}), 4)
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), sorted(done["first"] + done["second"]))

    def test_by_steps_with_rotation(self):
        done = self.run_torch(START, """
            with tidegauge.torch.periodic(OUT, every_steps=2, keep=3, keep_free_bytes=0) as p:
                kept = take(1)
                for _ in range(11): tidegauge.torch.step()
            tidegauge.torch.step()
            give(files=[path.name for path in p.files], problem=p.problem)
        """)
        self.assertEqual([name[-13:] for name in done["files"]],
                         ["000003.pickle", "000004.pickle", "000005.pickle"])
        self.assertEqual(sorted(path.name for path in self.out.iterdir()), sorted(done["files"]))
        self.assertEqual(done["problem"], "")
        snapshot = pickle.loads((self.out / done["files"][-1]).read_bytes())
        self.assertEqual(sum(segment["active_size"] for segment in snapshot["segments"]), 1 << 20)

    def test_by_a_thread(self):
        done = self.run_torch(START, """
            import threading, time
            from tidegauge.torch import _periodic
            written = threading.Semaphore(0)
            writer = _periodic.Periodic.write
            def write(self):
                writer(self); written.release()
            _periodic.Periodic.write = write
            p = tidegauge.torch.periodic(OUT, every_s=0.05, keep=2, keep_free_bytes=0)
            assert written.acquire(timeout=60)
            assert p.files == [] and "not started CUDA" in p.problem
            kept = take(1)
            for _ in range(20):
                assert written.acquire(timeout=60)
            give(alive=p._thread.is_alive(), count=len(p.files))
            p.close()
            give(after=p._thread.is_alive(), left=len(list(OUT.iterdir())))
        """)
        self.assertEqual((done["alive"], done["after"], done["left"]), (True, False, 2))

    def test_a_full_disk_and_a_program_that_ends_without_closing(self):
        done = self.run_torch(START, """
            kept = take(1)
            full = tidegauge.torch.periodic(OUT, every_s=3600, keep_free_bytes=1 << 60)
            give(written=full.write(), problem=full.problem)
            try: tidegauge.torch.periodic("/proc/here", every_s=1); sys.exit("/proc/here was taken")
            except tidegauge.UnwritableError: pass
            for options in ({}, {"every_s": -1}, {"every_s": "1"}, {"every_s": 1, "keep": 0}, {"every_s": 1, "max_bytes": "4 apples"}):
                try: tidegauge.torch.periodic(OUT, **options)
                except tidegauge.UsageError: continue
                sys.exit(f"{options} was taken")
        """)
        self.assertIsNone(done["written"])
        self.assertIn("the disk or the folder's budget has room for 0 B", done["problem"])


if __name__ == "__main__":
    unittest.main()
