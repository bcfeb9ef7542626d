#!/usr/bin/env python3
"""Compares the reader with Python's own unpickler: every field of every event, segment and block.

    reader_twin.py --dump build/dev/tests/reader_dump [--generated 200] [FILE…]

Without FILE: all shared snapshots (TIDEGAUGE_SHARED, skipped with a word if absent) and generated
ones in every dialect; each is read the quick and the careful way. Then hostile input: cut off and
changed bytes must give an error with an offset or a trace, never a crash.
"""

import argparse
import gzip
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import random_snapshot
import slow_reader

EXIT_UNREADABLE = 3


class Twin:
    def __init__(self, dump, folder, only_read):
        self.dump = dump
        self.only_read = only_read
        self.folder = pathlib.Path(folder)
        self.failed = 0
        self.passed = 0

    def run(self, path, *options):
        lines = ["--no-lines"] if self.only_read else []
        return subprocess.run([self.dump, str(path), *options, *lines], capture_output=True)

    def compare(self, label, path, data):
        expected = None if self.only_read else "".join(f"{line}\n" for line in slow_reader.lines(data))
        self.compare_lines(label, path, expected)
        self.compare_lines(f"{label}, careful", path, expected, "--careful")

    def compare_lines(self, label, path, expected, *options):
        result = self.run(path, *options)
        if result.returncode != 0:
            return self.fail(label, result.stderr.decode(errors="replace").strip())
        if expected is None:
            self.passed += 1
            return None
        if result.stdout.decode() == expected:
            self.passed += 1
            return None
        actual = result.stdout.decode().split("\n")[:-1]
        expected = expected.split("\n")[:-1]
        for number, (want, got) in enumerate(zip(expected, actual)):
            if want != got:
                return self.fail(label, f"line {number}:\n  want {want[:300]}\n  got  {got[:300]}")
        return self.fail(label, f"want {len(expected)} lines, got {len(actual)}")

    def fail(self, label, why):
        self.failed += 1
        print(f"FAILED {label}: {why}")

    def compare_generated(self, count):
        for seed in range(count):
            way, data = random_snapshot.make(seed)
            path = self.folder / "generated"
            path.write_bytes(data)
            self.compare(f"generated {seed} ({way})", path, data)

    def survive(self, label, data):
        path = self.folder / "hostile"
        path.write_bytes(data)
        result = self.run(path)
        message = result.stderr.decode(errors="replace")
        if result.returncode not in (0, EXIT_UNREADABLE):
            self.fail(label, f"exit code {result.returncode}: {message[:300]}")
        elif result.returncode == EXIT_UNREADABLE and not message.strip():
            self.fail(label, "no message")
        else:
            self.passed += 1
        return result.returncode, message

    def hostile(self, count):
        rng = random.Random(7)
        whole = [random_snapshot.make(1000 + seed)[1] for seed in range(14)]
        for seed in range(count):
            data = whole[seed % len(whole)]
            cut = rng.randrange(1, len(data))
            code, message = self.survive(f"cut {seed} at {cut}", data[:cut])
            if code == 0:
                self.fail(f"cut {seed} at {cut}", "read without complaint")
            elif "at byte" not in message:
                self.fail(f"cut {seed} at {cut}", f"no offset: {message}")
            changed = bytearray(data)
            for _ in range(rng.choice([1, 1, 3, 20])):
                changed[rng.randrange(len(changed))] = rng.randrange(256)
            self.survive(f"changed {seed}", bytes(changed))


def unpacked(path):
    data = path.read_bytes()
    if data[:4] == b"\x28\xb5\x2f\xfd":
        return subprocess.run(
            ["zstd", "-dc", "--long=27", str(path)], capture_output=True, check=True
        ).stdout
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def shared_files():
    folder = pathlib.Path(os.environ.get("TIDEGAUGE_SHARED", "../shared")) / "data"
    if not folder.is_dir():
        print("shared snapshots skipped: set TIDEGAUGE_SHARED to their folder to compare them")
        return []
    if shutil.which("zstd") is None:
        print("shared snapshots skipped: they are compressed, and the command zstd is missing")
        return []
    return sorted((folder / "snapshots").glob("*.zst")) + sorted((folder / "oracle").rglob("*.zst"))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dump", required=True, help="the reader_dump program")
    parser.add_argument("--generated", type=int, default=200)
    parser.add_argument("--only-read", action="store_true",
                        help="compare nothing: for a build with sanitizers, which finds other faults")
    parser.add_argument("--hostile", type=int, default=300)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        twin = Twin(arguments.dump, folder, arguments.only_read)
        for path in arguments.files or shared_files():
            data = unpacked(path)
            twin.compare(path.name, path, data)
        if not arguments.files:
            twin.compare_generated(arguments.generated)
            twin.hostile(arguments.hostile)
    print(f"reader twin: {twin.passed} passed, {twin.failed} failed")
    return 1 if twin.failed else 0


if __name__ == "__main__":
    sys.exit(main())
