#!/usr/bin/env python3
"""The stand-in GPU is what the live tests take it for: it exports every function that the recorder
watches, its libcuda begins functions as the real one does, its libcudart with a push. Needs no root."""
import re
import subprocess
import unittest

from live import FOLDER, HERE, libraries, main, program

WATCHED = (HERE.parents[1] / "bpf" / "functions.h").read_text()


def exports(library):
    """{name: the bytes that its code begins with}"""
    text = subprocess.run(["objdump", "-d", "--insn-width=16", library], capture_output=True, text=True,
                          check=True).stdout
    code = re.findall(r"^[0-9a-f]+ <(\w+)>:\n((?: +[0-9a-f]+:.*\n)+)", text, re.M)
    return {name: bytes.fromhex("".join(line.split("\t")[1] for line in lines.splitlines()))
            for name, lines in code}


class Standin(unittest.TestCase):
    def test_the_driver_exports_all_watched_functions_with_the_real_stub(self):
        wanted = set(re.findall(r"X\((cu[A-Z]\w+)", WATCHED))
        real = exports(libraries() / "libcuda.so.1")
        self.assertEqual(wanted - set(real), set())
        for name in wanted:
            self.assertEqual((real[name][:2], real[name][10]), (b"\x81\x3d", 0x74), name)
        plain = exports(libraries() / "plain" / "libcuda.so.1")
        for name in wanted:
            self.assertEqual(plain[name][0], 0x55, name)

    def test_the_runtime_exports_all_that_is_watched_with_a_push_first(self):
        wanted = set(re.findall(r"X\(((?:__)?cuda\w+)", WATCHED))
        code = exports(libraries() / "libcudart.so.13")
        self.assertEqual(wanted - set(code), set())
        self.assertEqual({name for name in wanted if code[name][0] != 0x55}, set())
        self.assertEqual(code["__cudaLaunchKernel"][0], 0xe9)  # it jumps

    def test_programs_get_what_they_expect_without_a_recorder(self):
        for name in ("plain", "driver", "vmm", "pools", "others", "launches"):
            subprocess.run([program(name)], env={}, check=True, timeout=60, cwd=FOLDER)


if __name__ == "__main__":
    main()
