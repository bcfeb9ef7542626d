#!/usr/bin/env python3
"""`report SNAPSHOT --with RECORDING`: real PyTorch on the stand-in GPU, with a library beside it.

At the peak, the out of memory and the end, driver memory = what PyTorch has reserved + what the library
took, byte by byte and function by function. Needs what pytorch_test.py needs."""
import json
import pathlib
import subprocess
import unittest

import live
import build_torch
from pytorch_test import HEADERS, PYTHON, SETTINGS

KINDS = {"take_buffers": "device", "take_workspace": "device", "take_managed": "managed",
         "take_pages": "physical"}


class Join(live.LiveTest):
    def setUp(self):
        super().setUp()
        for path in (PYTHON, HEADERS / "cuda_runtime_api.h"):
            if not path.exists():
                self.skipTest(f"no {path}: run tests/standin/get_torch.sh {live.FOLDER / 'torch'} (1.4 GB)")
        where = subprocess.run([PYTHON, "-c", "import importlib.util as u; "
                                "print(u.find_spec('torch').submodule_search_locations[0])"],
                               capture_output=True, text=True, check=True).stdout.strip()
        self.libraries = build_torch.build_torch(pathlib.Path(where, "lib"), HEADERS,
                                                 live.FOLDER / "torch" / "lib")
        self.beside = live.program("beside", "-shared", "-fPIC", "-fno-optimize-sibling-calls")

    def record(self, setting, ranks=1):
        """A folder per rank; all in one recording."""
        folder = self.folder()
        words = [str(PYTHON), str(live.source_of("joins.py"))]
        folders = []
        script = ""
        for rank in range(ranks):
            folders.append(folder / str(rank))
            folders[-1].mkdir()
            script += f"'{words[0]}' '{words[1]}' '{folders[-1]}' '{self.beside}' & pids=\"$pids $!\"\n"
        script += 'for pid in $pids; do wait $pid || exit 1; done\n'
        done = subprocess.run([*self.command(folder), "--", "bash", "-c", script],
                              env=self.environment(folder, LD_LIBRARY_PATH=str(self.libraries),
                                                   PYTORCH_CUDA_ALLOC_CONF=SETTINGS[setting]),
                              capture_output=True, text=True, timeout=live.LIMIT_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return folder / "run.sqlite", folders

    def report(self, folder, recording, *options, code=0):
        done = subprocess.run([live.BINARY, "report", folder / "snapshot.pickle", "--with", recording, *options],
                              capture_output=True, text=True, timeout=live.LIMIT_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def check(self, folder, recording):
        told = json.loads(self.report(folder, recording, "--json").stdout)["outside"]
        truth = json.loads((folder / "moments.json").read_text())
        device = told["devices"][0]
        self.assertEqual([moment["at"] for moment in device["moments"]], list(truth))
        for index, moment in enumerate(device["moments"]):
            wanted = truth[moment["at"]]
            with self.subTest(moment["at"]):
                self.assertEqual(moment["reserved_bytes"], wanted["reserved"])
                self.assertEqual(moment["driver_bytes"], wanted["device"])
                self.assertEqual(moment["outside_bytes"], sum(wanted["beside"].values()))
                self.assertEqual(moment["difference_bytes"], 0)
                by_function = {}
                for row in device["rows"]:
                    size = row["moments"][index]["bytes"]
                    function = next(name for name in KINDS if any(name in line for line in row["stack"]))
                    self.assertEqual(row["kind"], KINDS[function])
                    by_function[function] = by_function.get(function, 0) + size
                self.assertEqual({name: size for name, size in by_function.items() if size}, wanted["beside"])
        self.assertEqual(len({moment["outside_bytes"] for moment in device["moments"]}), 3)
        match = told["match"]
        self.assertEqual(match["matched"], match["pieces"])
        self.assertGreater(match["pieces"], 3)
        self.assertEqual((match["older"], told["incomplete"], told["at_least"]), (0, False, False), told["bounds"])
        self.assertFalse(match["by_content"])
        return told

    def test_driver_memory_is_reserved_and_what_lies_beside(self):
        for setting in SETTINGS:
            with self.subTest(setting):
                recording, (folder,) = self.record(setting)
                told = self.check(folder, recording)
                text = self.report(folder, recording).stdout
                self.assertIn("Memory outside PyTorch", text)
                self.assertIn(told["process"].rsplit("/", 1)[1], text)
                for row in told["devices"][0]["rows"]:
                    self.assertIn(f"{row['label']}", text)

    def test_the_recording_knows_what_was_free_when_memory_ran_out(self):
        """As the driver said it to PyTorch, and so to PyTorch's snapshot."""
        recording, (folder,) = self.record("default")
        ooms = []
        for path in (folder / "snapshot.pickle", recording):
            done = subprocess.run([live.BINARY, "report", path, "--json"], capture_output=True, text=True,
                                  timeout=live.LIMIT_S, check=True)
            told = json.loads(done.stdout)
            devices = [device for one in (told if isinstance(told, list) else [told])
                       for device in one["devices"] if device["device"] == 0 and device["ooms"]]
            self.assertEqual(len(devices), 1)
            ooms.append(devices[0]["ooms"][-1])
        self.assertEqual(ooms[0]["device_free_bytes"], ooms[1]["device_free_bytes"])
        # The library beside takes managed memory, which need not lie on the device: no sum with its total.
        self.assertIsNone(ooms[1]["verdict"]["sum"]["total_bytes"])
        self.assertEqual(ooms[1]["requested_bytes"], 1 << 50)

    def test_each_rank_finds_its_own_process(self):
        recording, folders = self.record("default", ranks=2)
        found = {self.check(folder, recording)["process"] for folder in folders}
        self.assertEqual(len(found), 2)

    def test_what_does_not_belong_together_is_refused(self):
        other, _ = self.record("default")
        recording, (folder,) = self.record("default")
        said = self.report(folder, other, code=2).stderr
        self.assertIn("no process of the recording holds the segments", said)
        self.assertIn("at another time", said)
        said = self.report(folder, recording, "--pid", "1", code=2).stderr
        self.assertIn("no process 1 took memory", said)


if __name__ == "__main__":
    live.main()
