"""Opening: every kind of source gives the same trace; bad input gives clear errors."""
import collections
import gc
import io
import os
import pathlib
import tempfile
import unittest
import warnings
import weakref

import tidegauge
from package import EXAMPLES, OOM, ROOT, TWO_GPUS, objects, unpacked


def contents(trace):
    """Every row of every table but that of the file itself."""
    return {name: trace.table(name).rows() for name in trace.tables if name != "file"}


class Sources(unittest.TestCase):
    def same(self, trace, expected, what="", leaving_out=()):
        """The same rows in every table. Without assertEqual's difference, which takes minutes for long tables."""
        found = contents(trace)
        self.assertEqual(found.keys(), expected.keys(), what)
        self.assertEqual([name for name in found if name not in leaving_out and found[name] != expected[name]], [], what)

    def test_bytes_files_and_objects_are_as_the_path(self):
        for path in EXAMPLES:
            with self.subTest(path):
                expected = contents(tidegauge.open(path))
                with open(ROOT / path, "rb") as file:
                    packed = file.read()
                sources = {"bytes": packed, "bytearray": bytearray(packed), "memoryview": memoryview(unpacked(path)),
                           "file": io.BytesIO(packed), "path": pathlib.Path(path), "dict": objects(path)}
                for name, source in sources.items():
                    self.same(tidegauge.open(source), expected, name)

    def test_a_list_of_segments_is_memory_snapshot(self):
        segments = objects(OOM)["segments"]
        trace = tidegauge.open(segments)
        self.assertEqual(trace.segments.num_rows, len(segments))

    def test_subclasses_and_shared_objects_count_as_what_they_are(self):
        plain = objects(TWO_GPUS)
        frames = plain["device_traces"][0][1]["frames"]
        for entry in plain["device_traces"][0]:
            if entry.get("frames") == frames:
                entry["frames"] = frames  # one list, many references

        class Int(int):
            pass

        changed = collections.OrderedDict(plain)
        changed["segments"] = [collections.OrderedDict(one, total_size=Int(one["total_size"])) for one in plain["segments"]]
        self.same(tidegauge.open(changed), contents(tidegauge.open(TWO_GPUS)))

    def test_objects_may_change_afterwards(self):
        source = objects(OOM)
        trace = tidegauge.open(source)
        before = trace.events.num_rows
        source["device_traces"].clear()
        self.assertEqual(trace.events.num_rows, before)

    def test_foreign_objects_run_no_code(self):
        class Trap:
            def __getattribute__(self, name):
                raise AssertionError("its code ran")

            def __index__(self):
                raise AssertionError("its code ran")

        source = objects(OOM)
        source["own"] = Trap()
        source["more"] = {Trap(): {1, 2}, "deep": [[[[object()]]]]}
        with self.assertWarnsRegex(RuntimeWarning, "4 objects are neither"):
            trace = tidegauge.open(source)
        self.same(trace, contents(tidegauge.open(OOM)), leaving_out=("issues",))
        self.assertEqual([row[0] for row in trace.issues.select("kind")], ["unknown_key"] * 2)

    def test_names_of_types_run_no_code(self):
        class Meta(type):
            @property
            def __name__(cls):
                raise AssertionError("its code ran")

        class Odd(metaclass=Meta):
            pass

        source = objects(OOM)
        source["odd"] = Odd()
        with self.assertWarnsRegex(RuntimeWarning, "1 object"):
            self.assertEqual(tidegauge.open(source).events.num_rows, 37378)

    def test_names_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in (b"caf\xe9.pickle", "naïve ☂.pickle".encode(), b"-o.pickle"):
                path = os.path.join(os.fsencode(folder), name)
                with open(path, "wb") as file:
                    file.write(unpacked(TWO_GPUS))
                trace = tidegauge.open(os.fsdecode(path))
                self.assertEqual(trace.device_ordinals, tidegauge.open(TWO_GPUS).device_ordinals)
                view = trace.view()
                view.stop()
            for bad in ("a\0b", "\0"):
                with self.assertRaises(tidegauge.Error):
                    tidegauge.open(bad)

    def test_the_source_is_kept_for_the_page_alone(self):
        class Kept(dict):
            pass

        source = Kept(objects(TWO_GPUS))
        gone = weakref.ref(source)
        trace = tidegauge.open(source, keep_source=False)
        del source
        gc.collect()
        self.assertIsNone(gone())
        with self.assertRaisesRegex(tidegauge.UsageError, "not kept"):
            trace.view()

    def test_a_list_in_itself_ends(self):
        loop = []
        loop.append(loop)
        source = objects(OOM)
        source["loop"] = loop
        self.assertEqual(tidegauge.open(source).events.num_rows, tidegauge.open(OOM).events.num_rows)
        with self.assertRaises(tidegauge.UnreadableError):
            tidegauge.open(loop)

    def test_deep_nesting_is_no_recursion(self):
        deep = []
        for _ in range(200_000):
            deep = [deep]
        with self.assertRaises(tidegauge.UnreadableError):
            tidegauge.open({"a": deep})
        while deep:  # CPython itself would recurse when it frees them
            deep = deep.pop()

    def test_half_a_surrogate_and_huge_numbers(self):
        source = objects(OOM)
        source["device_traces"][0][0] = dict(source["device_traces"][0][0], user_metadata="\ud800x", time_us=1 << 70)
        trace = tidegauge.open(source)
        self.assertEqual(trace.events["metadata"][0], "?x")

    def test_several_snapshots_need_a_choice(self):
        both = {"rank0": objects(OOM), "rank1": objects(TWO_GPUS)}
        with self.assertRaisesRegex(tidegauge.UsageError, "pick=1 to 2") as caught:
            tidegauge.open(both, name="ranks")
        self.assertEqual(caught.exception.file, "ranks")
        self.assertEqual(tidegauge.open(both, pick=2).device_ordinals, tidegauge.open(TWO_GPUS).device_ordinals)
        self.assertEqual([one.name for one in tidegauge.open_all(both, name="ranks")], ["ranks/rank0", "ranks/rank1"])
        with self.assertRaisesRegex(tidegauge.UsageError, "pick=1 to 2"):
            tidegauge.open(both, pick=3)


class Errors(unittest.TestCase):
    def refused(self, source, kind, text, **options):
        with self.assertRaisesRegex(kind, text) as caught:
            tidegauge.open(source, **options)
        self.assertIsInstance(caught.exception, tidegauge.Error)
        return caught.exception

    def test_each_says_what_and_where(self):
        self.refused("no/such/file", tidegauge.UnreadableError, "no/such/file: no such file")
        self.refused(str(ROOT), tidegauge.UnreadableError, "folder")
        self.refused(b"", tidegauge.UnreadableError, "empty")
        self.refused(b"\x80\x04cos\nsystem\n.", tidegauge.UnreadableError, "")
        self.refused({}, tidegauge.UnreadableError, "segments")
        self.refused(3, tidegauge.UsageError, "cannot open an int")
        self.refused(io.StringIO("text"), tidegauge.UsageError, "binary")
        self.refused(OOM, tidegauge.UnreadableError, "no/such/rules: No such file", categories="no/such/rules")

    def test_one_is_singular(self):
        """In a trace of one event, of one allocation; in types of every first letter."""
        source = objects(OOM)
        events = source["device_traces"][0]
        source["device_traces"][0] = [next(event for event in events if event["action"] == "alloc")]
        source["segments"] = []
        trace = tidegauge.open(source)
        self.assertIn(": 1 event, 1 allocation, ", repr(trace))
        self.assertIn("<p>1 row</p>", trace.sql("SELECT 1")._repr_html_())
        for value, text in ((3, "an int"), (3.5, "a float"), ((), "a tuple"), (object(), "an object")):
            self.refused(value, tidegauge.UsageError, f"cannot open {text}")

    def test_a_cut_file_names_the_place(self):
        whole = unpacked(OOM)
        for share in (0.1, 0.5, 0.99):
            error = self.refused(whole[:int(len(whole) * share)], tidegauge.UnreadableError, "at byte", name="cut.pickle")
            self.assertEqual(error.file, "cut.pickle")
            self.assertGreater(error.byte_offset, 0)
            self.assertIn("copy it again", error.advice)

    def test_damage_is_an_error_or_a_trace_and_never_a_crash(self):
        whole = bytearray(unpacked(OOM)[:200_000])
        for at in range(0, 4000, 61):
            broken = bytearray(whole)
            broken[at] ^= 0x5A
            try:
                tidegauge.open(bytes(broken))
            except tidegauge.Error:
                pass

    def test_a_bad_member_is_a_warning(self):
        import zipfile
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "ranks.zip")
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("good.pickle", unpacked(OOM))
                archive.writestr("bad.pickle", unpacked(OOM)[:1000])
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                trace = tidegauge.open(path)
            self.assertEqual(trace.events.num_rows, tidegauge.open(OOM).events.num_rows)
            self.assertTrue(any("bad.pickle" in str(one.message) for one in caught), caught)


class Life(unittest.TestCase):
    def test_a_closed_trace_says_so(self):
        with tidegauge.open(OOM) as trace:
            events = trace.events
            self.assertFalse(trace.closed)
        self.assertTrue(trace.closed)
        for ask in (lambda: trace.events, lambda: trace.report(), lambda: trace.sql("SELECT 1")):
            with self.assertRaisesRegex(tidegauge.UsageError, "closed"):
                ask()
        trace.close()  # twice is once
        self.assertIn("closed", repr(trace))
        self.assertEqual(len(events.rows(0, 3)), 3)  # what was taken stays

    def test_answers_outlive_the_trace(self):
        import pickle
        with tidegauge.open(OOM) as trace:
            answers = [trace.report(), trace.fragmentation(), trace.whatif(), tidegauge.diff(trace, trace), trace.peak(), trace.oom()[0],
                       trace.growth(), trace.verify()]
        for answer in answers:
            copied = pickle.loads(pickle.dumps(answer))
            self.assertEqual(copied, answer)
            self.assertEqual(str(copied), str(answer))
            self.assertEqual(copied.to_dict(), answer.to_dict())

    def test_collection_frees_it(self):
        trace = tidegauge.open(OOM)
        gone = weakref.ref(trace)
        del trace
        gc.collect()
        self.assertIsNone(gone())

    def test_it_is_not_pickled(self):
        import pickle
        with self.assertRaisesRegex(TypeError, "open the file again"):
            pickle.dumps(tidegauge.open(OOM))

    def test_engine_types_cannot_be_made_by_hand(self):
        from tidegauge import _engine
        for kind in (_engine.Trace, _engine.Table):
            with self.assertRaises(TypeError):
                kind()


if __name__ == "__main__":
    unittest.main()
