#!/usr/bin/env python3
"""The reader of kernels' parameters on every cubin of PyTorch's wheel: nothing is damaged, every cubin
is unpacked, and each kernel has parameters that fit. Needs the wheel (tests/standin/get_torch.sh);
the program list_kernels (--list, or TIDEGAUGE_LIST_KERNELS) reads."""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import live  # noqa: E402  # beside this folder

LIST = pathlib.Path(os.environ.get("TIDEGAUGE_LIST_KERNELS", live.BINARY.parent / "tests" / "list_kernels"))
LIBRARIES = pathlib.Path(os.environ.get("TIDEGAUGE_TORCH_LIBRARIES", live.FOLDER / "torch"))


class Cubins(unittest.TestCase):
    def test_every_cubin_of_pytorch_is_read(self):
        paths = sorted(p for p in LIBRARIES.rglob("lib*.so*") if p.is_file() and p.stat().st_size > 1 << 20)
        paths = [p for p in paths if b".nv_fatbin" in subprocess.run(
            ["readelf", "-SW", p], capture_output=True, check=False).stdout]
        if not paths:
            self.skipTest(f"no library with GPU code below {LIBRARIES}: run tests/standin/get_torch.sh "
                          f"{live.FOLDER / 'torch'} (1.4 GB), or set TIDEGAUGE_TORCH_LIBRARIES")
        cubins = kernels = 0
        for line in subprocess.run([LIST, *paths], capture_output=True, text=True, check=True).stdout.splitlines():
            found = json.loads(line)
            print(line)
            with self.subTest(found["file"]):
                self.assertEqual((found["damaged"], found["damaged_kernels"]), (0, 0))
                self.assertEqual(found["unpacked"], found["cubins"])
                self.assertEqual(found["contradicting"], 0)
            cubins += found["cubins"]
            kernels += found["kernels"]
        self.assertGreater(cubins, 100)
        self.assertGreater(kernels, 10000)


if __name__ == "__main__":
    if "--list" in sys.argv:
        at = sys.argv.index("--list")
        LIST = pathlib.Path(sys.argv[at + 1])
        del sys.argv[at:at + 2]
    live.main()
