"""A snapshot and a recording of the same made-up process, for tests of `report --with`:

    snapshot, recording = write(folder)

PyTorch has segments A and B, gives B back, runs out of memory; beside it something holds memory of its
own: 1,000 bytes all the time and 5,000 from the out of memory on. Nothing of the program under test is
used."""
import pathlib
import pickle

import grow_recording

MIB = 1 << 20
A, B, OTHERS = 0x7F0000000000, 0x7F0008000000, 0x7F0100000000
BEGIN_US = grow_recording.BEGIN_NS // 1000


def write(folder):
    folder = pathlib.Path(folder)
    recording, snapshot = folder / "run.sqlite", folder / "snapshot.pickle"
    grower = grow_recording.Grower(recording, lock=False)
    grower.process("python")
    functions = [("cuDevicePrimaryCtxRetain", "driver", "retain", "context"),
                 ("cuMemFree_v2", "driver", "free", "device")]
    first = len(grow_recording.FUNCTIONS)
    retain, free = first, first + 1
    grower.db.executemany("INSERT INTO functions VALUES (?, ?, ?, ?, ?)",
                          [(first + i, *row) for i, row in enumerate(functions)])
    calls = [(0, retain, 0, 0), (10, grow_recording.ALLOCATE, OTHERS, 1000),
             (100, grow_recording.ALLOCATE, A, 20 * MIB), (200, grow_recording.ALLOCATE, B, 40 * MIB),
             (300, free, B, 0), (350, grow_recording.ALLOCATE, OTHERS + MIB, 5000)]
    for number, (at_us, function, address, size) in enumerate(calls):
        end_ns = (BEGIN_US + at_us) * 1000
        stack = number if function == grow_recording.ALLOCATE else None
        grower.db.execute("INSERT INTO calls VALUES (?, ?, ?, 0, 1, ?, ?, ?, 1, 0, 0, 0, 0, ?, 0, 0)",
                          (number, end_ns - 500, end_ns, function, address, size, stack))
    grower.db.execute("PRAGMA journal_mode = DELETE")
    grower.db.close()

    def event(at_us, action, address, size, key="addr"):
        return {"action": action, key: address, "size": size, "stream": 0, "time_us": BEGIN_US + at_us,
                "frames": []}

    events = [event(102, "segment_alloc", A, 20 * MIB), event(203, "segment_alloc", B, 40 * MIB),
              event(299, "segment_free", B, 40 * MIB),
              event(400, "oom", MIB, 100 * MIB, key="device_free"),
              event(500, "snapshot", 0, 20 * MIB)]
    block = {"address": A, "size": 20 * MIB, "requested_size": 20 * MIB, "state": "active_allocated",
             "frames": []}
    segment = {"device": 0, "address": A, "total_size": 20 * MIB, "allocated_size": 20 * MIB,
               "active_size": 20 * MIB, "requested_size": 20 * MIB, "stream": 0, "segment_type": "large",
               "segment_pool_id": (0, 0), "is_expandable": False, "frames": [], "blocks": [block]}
    snapshot.write_bytes(pickle.dumps({"segments": [segment], "device_traces": [events]}))
    return snapshot, recording
