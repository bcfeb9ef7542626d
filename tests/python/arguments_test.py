"""Arguments: numbers of any type are taken, and each wrong one is an error of the package with advice."""
import pathlib
import pickle
import tempfile
import unittest

import numpy

import tidegauge
from package import OOM, ROOT, TWO_GPUS, objects, unpacked

EMPTY = {"segments": [], "device_traces": []}


class Case(unittest.TestCase):
    def refused(self, ask, text, kind=tidegauge.UsageError):
        """The error has the text, and says what to do."""
        with self.assertRaisesRegex(kind, text) as caught:
            ask()
        self.assertTrue(caught.exception.advice, caught.exception)
        return caught.exception


class Numbers(Case):
    """Every type with __index__ is a whole number."""

    def test_numbers_of_numpy(self):
        trace = tidegauge.open(OOM)
        for kind in (numpy.int64, numpy.int32, numpy.uint8):
            self.assertEqual(trace.holders(kind(5), kind(0)), trace.holders(5, 0))
            self.assertEqual(trace.live_at(kind(5), kind(0)).rows(), trace.live_at(5).rows())
            self.assertEqual(trace.peak(kind(0)), trace.peak(0))
            self.assertEqual(trace.events.rows(kind(3), kind(2)), trace.events.rows(3, 2))
            self.assertEqual(len(trace.sql("SELECT * FROM events", limit=kind(4), timeout_seconds=kind(9))), 4)
            self.assertEqual(trace.fragmentation(device=kind(0), end=kind(100), samples=kind(7)).to_dict(),
                             trace.fragmentation(device=0, end=100, samples=7).to_dict())
            self.assertIs(tidegauge.diff(trace, trace, device=kind(0)).is_alike, True)
            self.assertEqual(tidegauge.open(OOM, pick=kind(1)).name, trace.name)
        self.assertEqual(trace.whatif(capacity=numpy.int64(4 << 30)), trace.whatif(capacity="4GiB"))
        self.assertEqual(trace.whatif(min_capacity=numpy.True_), trace.whatif(min_capacity=True))
        self.assertEqual(len(trace.sql("SELECT 1", timeout_seconds=numpy.float32(1.5))), 1)

    def test_a_text_or_a_truth_value_is_no_number(self):
        trace = tidegauge.open(OOM)
        self.refused(lambda: trace.peak("0"), "device is the text '0', but a number is needed")
        self.refused(lambda: trace.live_at("5"), "step is the text '5', but a number is needed")
        self.refused(lambda: trace.events.rows("x"), "begin is the text 'x', but a number is needed")
        self.refused(lambda: trace.peak(True), "device is True")
        self.refused(lambda: trace.holders(True), "step is True")
        self.refused(lambda: trace.peak(7), "no device 7. The trace has: 0")

    def test_wrong_numbers(self):
        trace = tidegauge.open(OOM)
        huge = 10**9999  # its repr is an error of Python
        for ask, text in ((lambda: trace.events.rows(1.5), "begin is 1.5"), (lambda: trace.events.rows(0, "x"), "count is the text"),
                          (lambda: trace.sql("SELECT 1", limit=1.5), "limit is 1.5"), (lambda: trace.sql("SELECT 1", limit="x"), "limit is the text"),
                          (lambda: trace.sql("SELECT 1", limit=10**30), r"2\*\*64 - 2"), (lambda: trace.sql("SELECT 1", limit=huge), "limit is <int>"),
                          (lambda: trace.sql("SELECT 1", timeout_seconds="x"), "timeout_seconds is the text"),
                          (lambda: trace.sql("SELECT 1", timeout_seconds=None), "timeout_seconds is None"),
                          (lambda: trace.sql("SELECT 1", timeout_seconds=huge), "timeout_seconds is <int>"),
                          (lambda: trace.fragmentation(samples=1.5), "samples is 1.5"), (lambda: trace.fragmentation(samples=0), "samples is 0"),
                          (lambda: trace.view(height_pixels=-5), "height_pixels is -5"),
                          (lambda: trace.view(height_pixels="<script>"), "height_pixels is the text"),
                          (lambda: tidegauge.open(OOM, pick="x"), "pick is the text"), (lambda: tidegauge.open(OOM, pid="x"), "pid is the text"),
                          (lambda: tidegauge.open(OOM, pick=9), "no number 9.*one alone"),
                          (lambda: trace.peak(huge), "no device <int>"), (lambda: trace.report(begin=huge), "no step <int>"),
                          (lambda: tidegauge.diff(trace, trace, device="0"), "device is the text '0'")):
            self.refused(ask, text)

    def test_a_capacity_without_its_unit(self):
        trace = tidegauge.open(OOM)
        for bad in (80, "80", numpy.int64(80)):
            for ask in (trace.whatif, trace.report, trace.oom, trace.fragmentation, trace.plot.whatif):
                self.refused(lambda: ask(capacity=bad), 'capacity is .*80.*"80GiB"')
        self.refused(lambda: trace.whatif(recorded_capacity=80), 'recorded_capacity is 80.*"80GiB"')
        self.assertEqual(trace.fragmentation(request=80).to_dict()["fit"]["request_bytes"], 80)


class Steps(Case):
    def test_past_the_end(self):
        trace = tidegauge.open(OOM)
        for ask in (trace.holders, trace.live_at):
            for step in (37378, 10**9):
                self.refused(lambda: ask(step), f"cuda:0 has no step {step}. Its last step is 37377")
        self.assertEqual(trace.holders(37377), [])
        self.assertEqual(trace.holders(-1), [])
        self.assertEqual(trace.live_at(-1).rows(), [])
        for bad in ({"begin": 10**30}, {"end": str(10**30)}):
            self.refused(lambda: trace.fragmentation(**bad), f"there is no step '?{10**30}")

    def test_without_events(self):
        trace = tidegauge.open(objects(OOM)["segments"])
        self.assertEqual(trace.holders(0), trace.holders())
        self.refused(lambda: trace.live_at(1), "no step 1. It has no events")


class Others(Case):
    def test_texts(self):
        trace = tidegauge.open(OOM)
        for ask, text in ((lambda: trace.table(None), "name is None"), (lambda: trace.sql(5), "query is 5"), (lambda: trace.sql("SELECT 1\0"), "zero byte"),
                          (lambda: tidegauge.open(unpacked(OOM), name=5), "name is 5"), (lambda: tidegauge.open(OOM, categories=5), "categories is 5"),
                          (lambda: tidegauge.open(OOM, keep_source="no"), "keep_source is 'no'"),
                          (lambda: trace.whatif(min_capacity="x"), "min_capacity is 'x'"), (lambda: trace.whatif(drop=5), "drop is 5"),
                          (lambda: tidegauge.diff(trace, trace, by=5), "by is 5")):
            self.refused(ask, text)

    def test_a_path_is_its_own_name(self):
        for path in (OOM, pathlib.Path(OOM)):
            self.refused(lambda: tidegauge.open(path, name="foo"), "a path is its own name")

    def test_pid_of_a_snapshot(self):
        error = self.refused(lambda: tidegauge.open(OOM, pid=5), "no process 5")
        self.assertNotIn("None", str(error))

    def test_a_closed_trace_has_no_page(self):
        trace = tidegauge.open(OOM)
        trace.close()
        self.refused(trace.view, "the trace is closed")

    def test_an_empty_trace(self):
        for source in ([], EMPTY):
            trace = tidegauge.open(source)
            for ask in (trace.peak, trace.holders, trace.fragmentation, lambda: trace.peak(0), trace.plot.timeline):
                self.refused(ask, "no device.*The trace is empty")

    def test_two_columns_of_one_name(self):
        table = tidegauge.open(TWO_GPUS).sql("SELECT 1 AS a, 2 AS a")
        self.refused(table.to_polars, "the name 'a'.*AS a_2")

    def test_what_is_not_pickled(self):
        trace = tidegauge.open(OOM)
        for one, text in ((trace, "open the file again"), (trace.events, r"to_pandas\(\)")):
            self.assertIsInstance(self.refused(lambda: pickle.dumps(one), text), TypeError)


class Files(Case):
    def test_a_missing_file(self):
        for path, text in (("no/such.pickle", "no/such.pickle: no such file. The folder no is missing, too. .*current folder"),
                           ("README.pickle", "no such file. Check its name"), (pathlib.Path(ROOT, "x.pickle"), "x.pickle: no such file"), ("", "the path is empty")):
            error = self.refused(lambda: tidegauge.open(path), text, tidegauge.UnreadableError)
            self.assertIsInstance(error, FileNotFoundError)
            self.assertIsInstance(error, tidegauge.MissingFileError)
            copied = pickle.loads(pickle.dumps(error))
            self.assertEqual((str(copied), copied.errno, copied.filename, copied.advice), (str(error), 2, str(path), error.advice))

    def test_a_file_object_that_only_writes(self):
        with tempfile.TemporaryDirectory() as folder, open(f"{folder}/x", "wb") as file:
            self.refused(lambda: tidegauge.open(file), "x: the file object cannot be read", tidegauge.UnreadableError)


class Programs(Case):
    def test_working_sets(self):
        for ask, text in ((lambda: tidegauge.wss(None), "pid is None"), (lambda: tidegauge.wss(True), "pid is True"),
                          (lambda: tidegauge.wss(1.5), "pid is 1.5"), (lambda: tidegauge.wss(1, "x"), "seconds is the text 'x'"),
                          (lambda: tidegauge.wss(1, backend=5), "backend is 5")):
            self.refused(ask, text)
        self.refused(lambda: tidegauge.wss("no/such.jsonl"), "no such file", tidegauge.MissingFileError)

    def test_the_hook_and_growth(self):
        from tidegauge import torch
        error = self.refused(lambda: torch.on_oom("/proc/x"), "/proc/x: it cannot be written", tidegauge.UnwritableError)
        self.assertIsInstance(error, FileNotFoundError)
        self.refused(lambda: torch.on_oom("oom", history=-1), "history is -1")
        self.refused(lambda: torch.assert_no_growth(steps=3), "steps is 3. Give 6 or more")
        self.refused(lambda: torch.assert_no_growth(steps=6, warmup=-1), "warmup is -1")
        self.refused(lambda: torch.on_oom("oom", max_folder_bytes="4 apples"), "max_folder_bytes")

    def test_texts_that_no_file_and_no_table_can_have(self):
        t = tidegauge.open(OOM)
        for call in (lambda: tidegauge.open("\ud800"), lambda: tidegauge.open(OOM, categories="\0"), lambda: tidegauge.open(OOM, categories="\ud800"),
                     lambda: t.table("\0"), lambda: t.table("\ud800"), lambda: t.sql("SELECT '\ud800'"), lambda: tidegauge.wss("\0"),
                     lambda: tidegauge.wss(1, backend="\0"), lambda: tidegauge.record(None), lambda: tidegauge.record("x", command=5),
                     lambda: tidegauge.record("x", options=None)):
            self.assertRaises(tidegauge.UsageError, call)
        t.close()
        with self.assertRaisesRegex(tidegauge.UsageError, "closed"):
            with t:
                pass

    def test_what_a_reader_sees(self):
        t = tidegauge.open(OOM)
        self.assertIn("timeline()", repr(t.plot))
        for answer in (t.report(replay="none"), t.growth(), t.fragmentation()):
            self.assertTrue(answer._repr_html_().startswith("<pre"))
        table = str(t.whatif(["expandable_segments:True"])).splitlines()[-2:]
        self.assertIn("as recorded", table[0])
        self.assertIn("expandable_segments:True", table[1])
        names = dir(tidegauge)
        self.assertTrue({"torch", "callbacks", "results", "open", "wss"} <= set(names))
        self.assertFalse({"Any", "TYPE_CHECKING", "annotations"} & set(names))

    def test_a_program_has_an_exit_code(self):
        with tempfile.TemporaryDirectory() as folder:
            done = tidegauge.record(pathlib.Path(folder, "x.sqlite"), command=["sh", "-c", "exit 3"], options=["--preload"])
            self.assertEqual(done.exit_code, 3)
            self.assertRegex(repr(done), r"x\.sqlite: has ended, exit code 3>$")


if __name__ == "__main__":
    unittest.main()
