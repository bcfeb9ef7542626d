"""Tables: Arrow, rows and the command's CSV say the same."""
import csv
import io
import threading
import unittest

import duckdb
import pandas
import polars
import pyarrow

import tidegauge
from package import EXAMPLES, OOM, said, said_json

STORED = {"events": ["size_bytes", "time_us"], "allocations": ["address", "block_bytes", "first_step", "last_step"],
          "segments": ["address", "total_bytes"]}


class Arrow(unittest.TestCase):
    def test_all_tables_of_all_examples(self):
        for path in EXAMPLES:
            trace = tidegauge.open(path)
            for name in trace.tables:
                with self.subTest(path=path, table=name):
                    table = trace.table(name)
                    arrow = pyarrow.table(table)
                    arrow.validate(full=True)
                    self.assertEqual(arrow.column_names, table.column_names)
                    self.assertEqual([tuple(row.values()) for row in arrow.to_pylist()], table.rows())

    def test_the_rows_are_those_of_the_command(self):
        for name in ("events", "allocations", "segments", "totals", "stacks", "blocks", "settings", "annotations"):
            with self.subTest(name):
                lines = list(csv.reader(io.StringIO(said("query", OOM, f"SELECT * FROM {name}", "--format", "csv"))))
                table = tidegauge.open(OOM).table(name)
                self.assertEqual(lines[0], table.column_names)
                rows = [["" if cell is None else str(cell) for cell in row] for row in table]
                self.assertEqual(rows, lines[1:])

    def test_stored_columns_are_not_copied(self):
        trace = tidegauge.open(OOM)
        for name, columns in STORED.items():
            for column in columns:
                with self.subTest(f"{name}.{column}"):
                    # Both are kept: a copy that is freed may be followed by one at the same place.
                    kept = [pyarrow.table(trace.table(name).select(column)) for _ in range(2)]
                    self.assertEqual(len({one.column(0).chunk(0).buffers()[1].address for one in kept}), 1)
        kept = [pyarrow.table(trace.events.select("step")) for _ in range(2)]  # computed, so two copies
        self.assertEqual(len({one.column(0).chunk(0).buffers()[1].address for one in kept}), 2)

    def test_they_outlive_the_trace(self):
        trace = tidegauge.open(OOM)
        expected = trace.allocations.rows()
        arrow = pyarrow.table(trace.allocations)
        trace.close()
        del trace
        self.assertEqual([tuple(row.values()) for row in arrow.to_pylist()], expected)

    def test_streams_keep_nothing_behind(self):
        """A hundred rounds of columns, some of them not read, would hold 300 MB if one part was not freed."""
        def resident_bytes():
            with open("/proc/self/statm", encoding="ascii") as file:
                return int(file.read().split()[1]) * 4096

        def round_trip():
            trace = tidegauge.open(OOM)
            trace.events.__arrow_c_stream__()
            pyarrow.table(trace.events)
            trace.sql("SELECT * FROM totals")

        for _ in range(10):
            round_trip()
        before = resident_bytes()
        for _ in range(100):
            round_trip()
        self.assertLess(resident_bytes() - before, 64 << 20)

    def test_pandas_takes_every_table(self):
        for path in EXAMPLES:
            trace = tidegauge.open(path)
            for name in trace.tables:
                table = trace.table(name)
                hidden = [field[0] for field in table._fields]
                for one in (table, table.select(*hidden)):
                    frame = one.to_pandas()
                    self.assertEqual(frame.shape, (len(one), len(one.columns)), (path, name))

    def test_columns_of_one_name(self):
        frame = tidegauge.open(OOM).sql("SELECT 1 AS a, 2 AS a").to_pandas()
        self.assertEqual(frame.values.tolist(), [[1, 2]])

    def test_other_libraries(self):
        trace = tidegauge.open(OOM)
        counts = dict(trace.sql("SELECT action, count(*) FROM events GROUP BY action").rows())
        frame = polars.DataFrame(trace.events)
        self.assertEqual(dict(frame.group_by("action").len().rows()), counts)
        self.assertEqual(len(polars.from_arrow(trace.events)), len(trace.events))
        pandas_frame = trace.events.to_pandas()
        self.assertEqual(pandas_frame["action"].value_counts().to_dict(), counts)
        self.assertEqual(str(pandas_frame["allocation_id"].dtype), "Int64")  # integers stay integers beside NULL
        self.assertEqual(pandas.DataFrame.from_arrow(trace.segments).shape[0], len(trace.segments))
        events = pyarrow.table(trace.events)
        self.assertEqual(dict(duckdb.sql("SELECT action, count(*) FROM events GROUP BY action").fetchall()), counts)
        self.assertEqual(trace.events.to_polars().shape, trace.events.to_arrow().shape)
        del events

    def test_fields_say_what_they_are(self):
        field = pyarrow.table(tidegauge.open(OOM).events).schema.field("size_bytes")
        self.assertEqual(field.metadata[b"tidegauge.kind"], b"bytes")
        self.assertIn("requested bytes", field.metadata[b"tidegauge.doc"].decode())


class Rows(unittest.TestCase):
    def setUp(self):
        self.trace = tidegauge.open(OOM)

    def test_parts(self):
        events = self.trace.events
        whole = events.rows()
        for begin, count in ((0, 0), (0, 1), (3, 5), (7, 9), (len(whole) - 1, 10), (len(whole), 3), (10**9, 1)):
            self.assertEqual(events.rows(begin, count), whole[begin:begin + count], (begin, count))
        for begin, count in ((-3, 2), (0, -1)):  # neither from the end nor nothing
            self.assertRaises(tidegauge.UsageError, events.rows, begin, count)
        self.assertEqual(list(events), whole)
        self.assertEqual(events["step"], [row[1] for row in whole])
        self.assertEqual(events.select("size_bytes", "step").rows(5, 1), [(whole[5][4], whole[5][1])])

    def test_hidden_columns_are_shown_when_named(self):
        self.assertNotIn("stack_text", self.trace.allocations.column_names)
        texts = pyarrow.table(self.trace.allocations.select("stack_text", "stack_id"))
        of_stack = dict(self.trace.stacks.select("id", "text").rows())
        for text, stack in zip(texts["stack_text"].to_pylist()[:500], texts["stack_id"].to_pylist()):
            self.assertEqual(text, of_stack.get(stack))

    def test_wrong_names(self):
        with self.assertRaisesRegex(tidegauge.UsageError, "no column 'nope'.*It has: device"):
            self.trace.events.select("nope")
        with self.assertRaisesRegex(tidegauge.UsageError, "no table nope"):
            self.trace.table("nope")

    def test_a_look_without_libraries(self):
        text = repr(self.trace.events)
        self.assertIn("37,378 rows of events", text)
        self.assertIn("segment_alloc", text)
        self.assertTrue(all(len(line) < 240 for line in text.splitlines()))
        self.assertIn("<th>size_bytes</th>", self.trace.events._repr_html_())
        self.assertEqual(repr(self.trace.sql("SELECT 1 AS x WHERE 0")), "<0 rows of SELECT 1 AS x WHERE 0>")


class Sql(unittest.TestCase):
    def setUp(self):
        self.trace = tidegauge.open(OOM)

    def test_types(self):
        table = pyarrow.table(self.trace.sql(
            "WITH r(i, x, m, n, t) AS (VALUES (1, 1.5, 1, NULL, 'a'), (2, 2, 'two', NULL, NULL), (3, NULL, 2.5, NULL, 'é')) SELECT * FROM r"))
        table.validate(full=True)
        self.assertEqual([str(field.type) for field in table.schema], ["int64", "double", "string", "int64", "string"])
        self.assertEqual(table.to_pylist(), [{"i": 1, "x": 1.5, "m": "1", "n": None, "t": "a"},
                                             {"i": 2, "x": 2.0, "m": "two", "n": None, "t": None},
                                             {"i": 3, "x": None, "m": "2.5", "n": None, "t": "é"}])

    def test_blobs_are_texts(self):
        table = self.trace.sql("SELECT x'ff' AS b UNION ALL SELECT 'a'")
        pyarrow.table(table).validate(full=True)
        self.assertEqual(sorted(table["b"]), ["a", "\ufffd"])
        table.to_pandas()

    def test_no_rows_keep_their_types(self):
        table = pyarrow.table(self.trace.sql("SELECT action, size_bytes FROM events WHERE 0"))
        self.assertEqual([str(field.type) for field in table.schema], ["string", "int64"])
        self.assertEqual(table.num_rows, 0)

    def test_it_is_the_commands_answer(self):
        for query in ("SELECT * FROM holders(0, 36503)", "SELECT action, count(*), avg(size_bytes) FROM events GROUP BY 1",
                      "SELECT * FROM ooms(0)", "SELECT stack_id, sum(block_bytes) AS b FROM allocations GROUP BY 1 ORDER BY 2 DESC"):
            with self.subTest(query):
                expected = said_json("query", OOM, query, "--format", "json")
                table = self.trace.sql(query)
                rows = [dict(zip(table.column_names, row)) for row in table]
                self.assertEqual(rows, expected if isinstance(expected, list) else expected["rows"])

    def test_limits(self):
        some = self.trace.sql("SELECT * FROM events", limit=10)
        self.assertEqual((len(some), some.is_truncated), (10, True))
        self.assertFalse(self.trace.sql("SELECT * FROM events", limit=100_000).is_truncated)
        endless = "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r) SELECT max(x) FROM r"
        with self.assertRaisesRegex(tidegauge.LimitError, "longer than 200 ms"):
            self.trace.sql(endless, timeout_seconds=0.2)
        for bad in ({"limit": 0}, {"limit": (1 << 64) + 5}, {"timeout_seconds": 0}, {"timeout_seconds": float("nan")}, {"timeout_seconds": 1e9}):
            with self.assertRaises(tidegauge.UsageError):
                self.trace.sql("SELECT 1", **bad)

    def test_wrong_sql_names_the_place(self):
        with self.assertRaisesRegex(tidegauge.UsageError, "no such column: nope") as caught:
            self.trace.sql("SELECT nope FROM events")
        self.assertEqual(caught.exception.byte_offset, 7)
        for bad in ("\ud800", "SELECT 1\0", 3, "DELETE FROM events", "SELECT 1; SELECT 2", "", "ATTACH 'x' AS y", "SELECT load_extension('x')"):
            with self.assertRaises(tidegauge.UsageError, msg=bad):
                self.trace.sql(bad)

    def test_two_threads_ask_one_file(self):
        query = "SELECT sum(block_bytes), count(*) FROM allocations WHERE stack_id % 2"
        expected = self.trace.sql(query).rows()
        wrong = []

        def ask():
            for _ in range(20):
                if self.trace.sql(query).rows() != expected or pyarrow.table(self.trace.events).num_rows != 37378:
                    wrong.append(1)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
