"""Every kind of file that `tidegauge view` shows: opened, or refused with the call that opens it."""
import bz2
import io
import json
import lzma
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

import tidegauge
from package import COMMAND, ROOT, said_json

sys.path.insert(0, str(ROOT / "tests/support"))


class Kinds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def made(self, name, *options):
        path = self.folder / name
        subprocess.run([sys.executable, "tools/make_snapshot", *options, "-o", path], cwd=ROOT, check=True, capture_output=True)
        return path

    def same(self, path):
        """The module and the command find the same snapshots, and the same peaks in each."""
        command = [(of["peak"]["active"]["bytes"], of["device"]) for of in said_json("report", "--json", path)["devices"]]
        trace = tidegauge.open(path)
        self.assertEqual([(trace.peak(device).active_bytes, device) for device in trace.device_ordinals if device >= 0], command)
        self.assertGreater(trace.events.num_rows + trace.blocks.num_rows, 0)
        return trace

    def test_snapshots_in_every_form_and_container(self):
        plain = self.made("plain.pickle")
        for name, options in {"json": ["--format", "json"], "page.html": ["--format", "html"], "list.pickle": ["--format", "list"],
                              "plain.pickle.gz": ["--compress", "gzip"], "plain.zip": ["--compress", "zip"],
                              "plain.pickle.zst": ["--compress", "zstd"], "page.html.gz": ["--format", "html", "--compress", "gzip"]}.items():
            with self.subTest(name):
                self.same(self.made(name, *options))
        for name, pack in {"plain.pickle.xz": lzma.compress, "plain.pickle.bz2": bz2.compress}.items():
            with self.subTest(name):
                path = self.folder / name
                path.write_bytes(pack(plain.read_bytes()))
                self.assertEqual(self.same(path).events.num_rows, tidegauge.open(plain).events.num_rows)

    def test_an_archive_of_several(self):
        path = self.folder / "ranks.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for rank in range(2):
                archive.write(self.made(f"rank{rank}.pickle", "--seed", str(rank)), f"rank{rank}.pickle")
        self.assertEqual([one.name for one in tidegauge.open_all(path)], [f"{path}/rank0.pickle", f"{path}/rank1.pickle"])

    def test_what_view_refuses_is_refused(self):
        path = self.folder / "ranks.tar"
        with tarfile.open(path, "w") as archive:
            archive.add(self.made("in_tar.pickle"), "rank0.pickle")
        self.assertNotEqual(subprocess.run([COMMAND, "report", path], capture_output=True, check=False).returncode, 0)
        with self.assertRaises(tidegauge.UnreadableError):
            tidegauge.open(path)

    def test_a_recording_is_opened_by_its_path(self):
        import joined_pair
        _, path = joined_pair.write(self.folder)
        trace = tidegauge.open(path)
        self.assertTrue(trace.is_recording)
        self.assertEqual(trace.events.num_rows, next(of["events"] for of in said_json("report", "--json", path)["devices"]))
        data = path.read_bytes()
        for source in (data, io.BytesIO(data), memoryview(data)):
            with self.assertRaisesRegex(tidegauge.UsageError, "read from its file, not from memory. Give its path"):
                tidegauge.open(source, name="run.sqlite")

    def test_a_working_set_is_opened_by_wss(self):
        path = self.folder / "own.jsonl"
        subprocess.run([COMMAND, "wss", "-o", path, "-s", "0", "-d", "0.3", str(os.getpid()), "0.1"], check=True, capture_output=True)
        for source in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
            with self.assertRaisesRegex(tidegauge.UsageError, r"working set of host memory, not of GPU memory. Open it with tidegauge.wss\(path\)"):
                tidegauge.open(source)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for given in (path, str(path)):
            found = tidegauge.wss(given)
            self.assertEqual((found.pid, found.backend), (os.getpid(), lines[0]["backend"]))
            self.assertEqual((found.touched_bytes, found.resident_bytes), (lines[-1]["bytes"]["referenced"], lines[-1]["bytes"]["rss"]))
            self.assertEqual(found.to_dict()["rows"], lines[1:])

    def test_a_working_set_that_is_damaged(self):
        path = self.folder / "cut.jsonl"
        subprocess.run([COMMAND, "wss", "-o", path, "-s", "0", "-d", "0.3", str(os.getpid()), "0.1"], check=True, capture_output=True)
        head, row, *more = path.read_text().splitlines()

        def refused(text, *lines, end="\n"):
            path.write_text("\n".join(lines) + end)
            with self.assertRaisesRegex(tidegauge.UnreadableError, text) as caught:
                tidegauge.wss(path)
            self.assertEqual(caught.exception.file, str(path))

        refused("line 2", head, row[:40], row)
        refused("line 1", head[:30], end="")
        refused("line 1", head.replace(":1,", ":true,", 1), row)
        refused("version 2", head.replace(":1,", ":2,", 1), row)
        refused("line 2", head, '{"time": 1}')
        refused("line 2", head, "3")
        refused("line 2", head, "[" * 100_000)
        refused("line 3", head, row, "[" * 100_000, row)
        refused("not a file of", row)
        path.write_text("\n".join((head, row)) + "\n" + more[0][:50])
        self.assertEqual(tidegauge.wss(path).to_dict()["rows"], [json.loads(row)])  # the last line is still being written
        for wrong, text in ((self.folder, "folder"), (self.folder / "none", "no such file")):
            with self.assertRaisesRegex(tidegauge.UnreadableError, text):
                tidegauge.wss(wrong)


if __name__ == "__main__":
    unittest.main()
