#!/usr/bin/env python3
"""Writes a recording as a recorder would, as far and as fast as standard input says:

    grow_recording.py OUT [--no-lock]
      process NAME     another program; what follows is of it. Answers with its process_id
      calls N          N calls: segments of 20 MiB on two devices by turns, blocks inside them
      launches NAME N  a second of launches of a kernel
      copies N         N copies to the device, half a second in all, and N that are only submitted
      end              the recorder's own end; then it exits
      kill             dies, as by kill -9

Each line is answered with one, "ok" or a number, once what it asked for is committed. Tables and
functions are those of src/store/recording_schema.h; nothing of the program under test is used.
"""
import fcntl
import os
import pathlib
import re
import signal
import sqlite3
import struct
import sys

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "src" / "store" / "recording_schema.h"
MIB = 1 << 20
BEGIN_NS = 1_790_000_000_000_000_000
LOCK_BYTE = 1 << 62
FUNCTIONS = [("cuMemAlloc_v2", "driver", "allocate", "device"),
             ("pytorch_malloc", "framework", "allocate", "block"),
             ("pytorch_free", "framework", "free", "block"),
             ("cuLaunchKernel", "driver", None, None), ("cuMemcpyHtoD_v2", "driver", None, None),
             ("cuMemcpyHtoDAsync_v2", "driver", None, None)]
ALLOCATE, MALLOC, FREE, LAUNCH, COPY, COPY_ASYNC = range(6)


class Grower:
    def __init__(self, path, lock=True):
        tables = re.findall(r'R"sql\((.*?)\)sql"', SCHEMA.read_text(encoding="utf-8"), re.DOTALL)
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.executescript("PRAGMA page_size = 16384; PRAGMA application_id = 0x54674772;"
                              "PRAGMA user_version = 1;" + tables[0] + tables[1])
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.executemany("INSERT INTO functions VALUES (?, ?, ?, ?, ?)",
                            [(i, *row) for i, row in enumerate(FUNCTIONS)])
        self.file = os.open(path, os.O_RDWR)
        if lock:  # struct flock: type, whence, start, length, pid
            fcntl.fcntl(self.file, fcntl.F_OFD_SETLK,
                        struct.pack("hhxxxxqqixxxx", fcntl.F_WRLCK, 0, LOCK_BYTE, 1, 0))
        self.now_ns, self.processes, self.kernels = BEGIN_NS, -1, {}
        self.calls_made, self.segments, self.free, self.live = 0, 0, [], []
        for i in range(8):
            self.db.execute("INSERT INTO frames VALUES (?, NULL, ?, ?, 'model.py', ?)",
                            (i, i, f"layer{i}", i + 1))
            self.db.execute("INSERT INTO stacks VALUES (?, 1)", (i,))
            self.db.execute("INSERT INTO stack_frames VALUES (?, 0, ?)", (i, i))

    def process(self, name):
        self.processes += 1
        self.free, self.live = [], []
        self.db.execute("INSERT INTO processes(process_id, pid, name, began_ns) VALUES (?, ?, ?, ?)",
                        (self.processes, 500 + self.processes, name, self.now_ns))
        return self.processes

    def call(self, function, address, size, device):
        self.now_ns += 1_000_000
        self.calls_made += 1
        self.db.execute("INSERT INTO calls VALUES (NULL, ?, ?, ?, 1, ?, ?, ?, 0, 0, 0, ?, 0, ?, 0, 0)",
                        (self.now_ns - 500, self.now_ns, self.processes, function, address, size,
                         device, self.calls_made % 8))

    def calls(self, count):
        for i in range(count):
            if self.live and i % 3 == 2:
                address, device = self.live.pop(0)
                self.call(FREE, address, 0, device)
                self.free.append((address, device))
            elif not self.free:
                device = self.segments % 2
                base = 0x7f0000000000 + self.segments * 32 * MIB
                self.segments += 1
                self.call(ALLOCATE, base, 20 * MIB, device)
                self.free = [(base + part * 2 * MIB, device) for part in range(10)]
            else:
                address, device = self.free.pop(0)
                self.call(MALLOC, address, MIB + self.calls_made % 1000, device)
                self.live.append((address, device))

    def launches(self, name, count):
        if name not in self.kernels:
            self.kernels[name] = len(self.kernels)
            self.db.execute("INSERT INTO kernels(kernel_id, process_id, handle, name) VALUES (?, ?, ?, ?)",
                            (self.kernels[name], self.processes, 1, name))
        begin = self.now_ns
        self.now_ns += 1_000_000_000
        self.db.execute("INSERT INTO launches VALUES (?, ?, ?, ?, ?, 64, 1, 1, 256, 1, 1, ?)",
                        (begin, self.now_ns, self.processes, self.kernels[name], LAUNCH, count))

    def copies(self, count):
        begin = self.now_ns
        self.now_ns += 1_000_000_000
        for function, submitted in ((COPY, 0), (COPY_ASYNC, 1)):
            self.db.execute("INSERT INTO copies VALUES (?, ?, ?, 'host to device', ?, ?, ?, ?, ?, 0)",
                            (begin, self.now_ns, self.processes, function, submitted, count,
                             count * MIB, 500_000_000))

    def end(self):
        self.db.execute("INSERT INTO meta VALUES ('ended_ns', ?)", (str(self.now_ns),))
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.db.close()
        os.close(self.file)


def main():
    grower = Grower(sys.argv[1], lock="--no-lock" not in sys.argv)
    print("ok", flush=True)
    for line in sys.stdin:
        words = line.split()
        if words[0] == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        arguments = [int(word) if word.isdigit() else word for word in words[1:]]
        if words[0] == "end":
            grower.end()
            print("ok", flush=True)
            return
        grower.db.execute("BEGIN")
        answer = getattr(grower, words[0])(*arguments)
        grower.db.execute("COMMIT")
        print("ok" if answer is None else answer, flush=True)


if __name__ == "__main__":
    main()
