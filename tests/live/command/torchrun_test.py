#!/usr/bin/env python3
"""`record -- torchrun …` prints the same, in the same order, and ends with the same exit code as without
the recorder, and records each rank: real PyTorch on the stand-in GPU, two ranks, gloo on loopback."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import live  # noqa: E402  # beside this folder
import pytorch_test  # noqa: E402
from twin import Twin  # noqa: E402

BYTES = 30 << 20  # more than 20 MiB, so a segment has this size


class Torchrun(pytorch_test.PyTorch):
    test_the_recording_is_what_pytorch_says_of_itself = None  # of its own file

    def launch(self, code, before=()):
        """(exit code, output, what went wrong) of a job of two ranks."""
        command = [*before, str(pytorch_test.PYTHON.parent / "torchrun"), "--standalone", "--nproc-per-node", "2",
                   str(live.source_of("ranks.py")), str(BYTES), str(code)]
        done = subprocess.run(command, env={**os.environ, "LD_LIBRARY_PATH": str(self.libraries), "OMP_NUM_THREADS": "1",
                                            "GLOO_SOCKET_IFNAME": "lo"},
                              capture_output=True, text=True, timeout=3 * live.LIMIT_S, check=False)
        # Its timestamps and process ids differ from run to run.
        return done.returncode, done.stdout, re.sub(r"\b\d{3,}\b", "N", done.stderr)

    def test_nothing_changes_and_each_rank_is_recorded(self):
        wanted = "rank 0 of 2: sum 3, holds 31457280\nrank 1 of 2: sum 3, holds 62914560\n"
        for given, ends in ((0, 0), (3, 1)):  # torchrun itself ends with 1 if a rank fails
            with self.subTest(code=given):
                code, output, err = self.launch(given)
                self.assertEqual((code, output), (ends, wanted), err)
                folder = self.folder()
                code, output, err = self.launch(given, [*self.command(folder), "--"])
                self.assertEqual((code, output), (ends, wanted), err)
                twin = Twin(folder / "run.sqlite")
                self.assertEqual(twin.losses(), {})
                held = sorted(process.live["device"] for process in twin.processes.values()
                              if process.framework_allocations)
                self.assertEqual(held, [BYTES, 2 * BYTES])


if __name__ == "__main__":
    live.main()
