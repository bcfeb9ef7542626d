"""Three recordings to ask about, made in a folder; the binaries read the same files.

    plain.sqlite    three made-up processes: segments with blocks, VMM, a leak (make_recording)
    worked.sqlite   another seed; also launches, copies, a kill, two GPUs, losses, functions that
                    were not watched
    joined.sqlite   of the process that wrote joined.pickle: for report --with (tests/support)

make_recording is a program of the tests; a build folder has it as tests/make_recording.
"""

import contextlib
import pathlib
import sqlite3
import subprocess
import sys

from inputs import ROOT

SUPPORT = ROOT / "tests" / "support"
CALLS = 2000
SECOND_NS = 1_000_000_000


class Unavailable(Exception):
    """Why a recording cannot be made."""


def make(folder, program):
    """[path] of the first two; `program` is make_recording."""
    plain, worked = folder / "plain.sqlite", folder / "worked.sqlite"
    for path, seed in ((plain, 1), (worked, 2)):
        subprocess.run([program, path, str(seed), str(CALLS)], check=True, stdout=subprocess.DEVNULL)
    add_work(worked)
    return [plain, worked]


def joined(folder):
    """(snapshot, recording) of one process."""
    sys.path.insert(0, str(SUPPORT))
    try:
        import joined_pair
        snapshot, recording = joined_pair.write(folder)
    except (ImportError, OSError) as error:
        raise Unavailable(f"report --with: tests/support/joined_pair.py cannot be used: {error}") from error
    finally:
        sys.path.remove(str(SUPPORT))
    return (snapshot.rename(folder / "joined.pickle"), recording.rename(folder / "joined.sqlite"))


def add_work(path):
    """Launches, copies, ends, GPUs, losses: rows as a recorder writes them."""
    db = sqlite3.connect(path)
    (trainer, began), (server, _), (leaker, _) = db.execute(
        "SELECT process_id, began_ns FROM processes ORDER BY pid").fetchall()
    db.execute("UPDATE processes SET ended_ns = ?, exit_status = 9, end_reason = 'exit', parent_pid = 77, "
               "command = 'python train.py --steps 12345' WHERE process_id = ?",
               (began + 12_345_678_901, trainer))
    function = db.execute("SELECT max(function_id) FROM functions").fetchone()[0]
    launch, copy, copy_async = function + 1, function + 2, function + 3
    db.executemany("INSERT INTO functions(function_id, name, plane) VALUES (?, ?, 'driver')",
                   [(launch, "cuLaunchKernel"), (copy, "cuMemcpyHtoD_v2"),
                    (copy_async, "cuMemcpyDtoHAsync_v2")])
    db.executemany("INSERT INTO kernels(kernel_id, process_id, handle, name) VALUES (?, ?, ?, ?)",
                   [(900, trainer, 900, "gemm<float>(int)"), (901, trainer, 901, None),
                    (902, server, 902, "softmax"), (903, leaker, 0, "(kernels not told apart)")])
    second = [(began + n * SECOND_NS, began + (n + 1) * SECOND_NS) for n in range(12)]
    for number, (begin, end) in enumerate(second):
        db.executemany("INSERT INTO launches VALUES (?, ?, ?, ?, ?, ?, 8, 1, 256, 1, 1, ?)",
                       [(begin, end, trainer, 900, launch, 64, 900 + number),
                        (begin, end, trainer, 901, launch, 1 + number % 3, 12),
                        (begin, end, server, 902, launch, 32, 7 * number + 1),
                        (begin, end, leaker, 903, launch, 0, 5)])
        db.executemany("INSERT INTO copies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                       [(begin, end, trainer, "host to device", copy, 0, 4, 5 << 28, 234_567_890, 1),
                        (begin, end, trainer, "device to host", copy_async, 1, 300, 7 << 20, 55_000, 0),
                        (begin, end, server, "set", copy, 0, 2, 4096, 0, 0)])
        db.executemany("INSERT INTO device_memory VALUES (?, ?, ?, ?)",
                       [(begin, 0, None, (3 + number) << 28), (begin, 0, 101, (2 + number) << 28),
                        (begin, 1, None, 5 << 30)])
    db.executemany("INSERT INTO devices VALUES (?, ?, ?, ?)",
                   [(0, "NVIDIA A100", "GPU-0", 40 << 30), (1, "NVIDIA A100", "GPU-1", 40 << 30)])
    db.executemany("INSERT INTO losses VALUES (?, ?, ?)",
                   [(began + SECOND_NS, "memory ring full", 12), (began + 2 * SECOND_NS, "no stack", 3)])
    db.execute("INSERT INTO unwatched VALUES (NULL, NULL, ?, 102, '/usr/lib/libcuda.so.1', 'cuMemAlloc_v2', "
               "'memory', 'its first instruction cannot be probed')", (server,))
    db.commit()
    db.close()


def pids(path):
    """The pid of each program in order of its start. A recording holds a trace for each."""
    with contextlib.closing(sqlite3.connect(path)) as db:
        return [row[0] for row in db.execute("SELECT pid FROM processes ORDER BY process_id")]


def given(folder):
    """The recordings of a folder, whatever their names."""
    magic = b"SQLite format 3\0"
    found = [path for path in sorted(pathlib.Path(folder).iterdir())
             if path.is_file() and path.open("rb").read(len(magic)) == magic]
    if not found:
        raise Unavailable(f"recordings: no SQLite file in {folder}")
    return found
