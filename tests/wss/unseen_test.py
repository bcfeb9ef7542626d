#!/usr/bin/env python3
"""Touches that the page tables of a process may not show: by the kernel in registered buffers of io_uring, by a guest
of KVM. What is not seen is named, and no sentence of fit or cold memory follows. (tests/vm: kernels of Debian.)

    TIDEGAUGE_BINARY=build/dev/tidegauge python3 tests/wss/unseen_test.py"""
import contextlib
import json
import pathlib
import subprocess
import unittest

from wss_case import HERE, MIB, WssCase, running, wss

NOT_HERE = 77  # of the programs: this machine lacks what they use
BUFFERS_MIB, GUEST_MIB, GUEST_TOUCHED_MIB = 16, 64, 32


class Unseen(WssCase):
    @contextlib.contextmanager
    def program(self, name, *words):
        path = pathlib.Path(self.folder.name, name)
        subprocess.run(["gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-o", path, HERE / f"{name}.c"],
                       check=True)
        with running([path, *map(str, words)]) as process:
            line = process.stdout.readline()
            if not line:
                self.assertEqual(process.wait(), NOT_HERE)
                self.skipTest(f"{name} does not work on this machine; its error is above")
            yield process.pid, int(line, 16)

    def test_registered_buffers_of_io_uring(self):
        with self.program("io_uring", "registered", BUFFERS_MIB) as (pid, address):
            for backend in self.backends():
                with self.subTest(backend):
                    mine, row = self.touched(address, "--backend", backend, pid, 0.5)
                    self.assertEqual(mine["rss"], BUFFERS_MIB * MIB)
                    self.assertLess(mine["referenced"], MIB)
                    self.assertEqual((row["error"]["unseen"], row["error"]["at_least"]), (["io_uring"], True))
            # 16 MiB seem not to be touched in a second, and nothing says that they are cold.
            text = wss(pid, 1.05).stdout
            self.assertIn("Not seen here: touches by the kernel, in registered buffers of io_uring.", text)
            self.assertRegex(text, r"At least [\d.]+ KiB were touched")
            self.assertNotRegex(text, "within|not touched")
            several = json.loads(wss("--json", "--children", pid, 0.2).stdout)["rows"][0]
            self.assertEqual(several["processes"][0]["error"]["unseen"], ["io_uring"])
            self.assertIn("Not seen here", wss("--children", pid, 0.2).stdout)
            saved = pathlib.Path(self.folder.name, "saved.jsonl")
            wss("-P", 2, "-o", saved, pid, 0.1)
            self.assertIn("Some touches are not seen here, so there is no knee.", wss(saved).stdout)
            self.assertIn("registered buffers", wss(saved).stdout)

    def test_a_ring_without_such_buffers_is_like_any_other_read(self):
        with self.program("io_uring", "plain", BUFFERS_MIB) as (pid, address):
            for backend in self.backends():
                with self.subTest(backend):
                    mine, row = self.touched(address, "--backend", backend, pid, 0.5)
                    self.assertAlmostEqual(mine["referenced"] / MIB, BUFFERS_MIB, delta=0.1)
                    self.assertEqual(row["error"]["unseen"], [])

    def test_a_guest_of_kvm(self):
        """Its touches count, or the row names it."""
        with self.program("kvm_guest", GUEST_MIB, GUEST_TOUCHED_MIB) as (pid, address):
            for backend in self.backends():
                with self.subTest(backend):
                    mine, row = self.touched(address, "--backend", backend, pid, 1)
                    self.assertEqual(mine["rss"], GUEST_MIB * MIB)
                    self.assertLessEqual(mine["referenced"] / MIB, GUEST_TOUCHED_MIB + 0.1)
                    if row["error"]["unseen"] == []:
                        self.assertAlmostEqual(mine["referenced"] / MIB, GUEST_TOUCHED_MIB, delta=0.5)
                    else:
                        self.assertEqual((row["error"]["unseen"], row["error"]["at_least"]), (["kvm"], True))


if __name__ == "__main__":
    unittest.main(verbosity=2)
