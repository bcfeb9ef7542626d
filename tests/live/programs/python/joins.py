"""PyTorch, and a library that takes driver memory beside it: joins.py OUT_FOLDER BESIDE_LIBRARY

Ends with PyTorch's snapshot; at its peak, out of memory and end it writes what PyTorch says is reserved,
what the library holds and what the stand-in device holds. Ends without Python's clean-up."""
import ctypes
import json
import os
import pathlib
import sys
import time

import torch

OUT, BESIDE = pathlib.Path(sys.argv[1]), sys.argv[2]
MIB = 1 << 20

ctypes.CDLL("libcudart.so.13", mode=ctypes.RTLD_GLOBAL)
driver = ctypes.CDLL("libcuda.so.1", mode=ctypes.RTLD_GLOBAL)
beside = ctypes.CDLL(BESIDE)
for name in ("take_buffers", "take_workspace", "take_managed", "take_pages"):
    getattr(beside, name).restype = ctypes.c_uint64
    getattr(beside, name).argtypes = [ctypes.c_uint64]
for name in ("give_buffers", "give_workspace"):
    getattr(beside, name).argtypes = [ctypes.c_uint64]
    getattr(beside, name).restype = None
held = {}  # function → bytes


def take(function, size):
    at = getattr(beside, function)(size)
    if at == 0:
        sys.exit(f"{function} failed")
    held[function] = held.get(function, 0) + size
    return at


def give(function, at, taken_by, size):
    getattr(beside, function)(at)
    held[taken_by] -= size


moments = {}


def note(moment):
    path = OUT / f"device-{moment}.json"
    if driver.fake_gpu_dump(str(path).encode()) != 0:
        sys.exit("the stand-in could not write what it holds")
    moments[moment] = {"reserved": torch.cuda.memory_stats()["reserved_bytes.all.current"],
                       "beside": {name: size for name, size in held.items() if size},
                       "device": json.loads(path.read_text())["devices"][0]["asked_bytes"]}


torch.cuda.init()
workspace = take("take_workspace", 12_345_678)
early = torch.empty(30 * MIB, dtype=torch.uint8, device="cuda")  # older than PyTorch's history
torch.cuda.memory._record_memory_history(stacks="python")
buffers = take("take_buffers", 7 * MIB + 13)
tensors = [torch.empty((5 + 9 * i) * MIB, dtype=torch.uint8, device="cuda") for i in range(6)]
small = [torch.empty(1000, device="cuda") for _ in range(20)]
note("peak")
del tensors[1::2], small
torch.cuda.empty_cache()
take("take_managed", 3 * MIB + 1)
give("give_buffers", buffers, "take_buffers", 7 * MIB + 13)
more = take("take_buffers", 64 * MIB)
try:
    torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError:
    pass
note("oom")
give("give_workspace", workspace, "take_workspace", 12_345_678)
take("take_pages", 20 * MIB)
again = torch.empty(8 * MIB, dtype=torch.uint8, device="cuda")
note("end")
torch.cuda.memory._dump_snapshot(str(OUT / "snapshot.pickle"))
(OUT / "moments.json").write_text(json.dumps(moments))
time.sleep(0.1)  # a file's time may be a tick of the kernel old, so what is called within it is not placed
give("give_buffers", more, "take_buffers", 64 * MIB)  # after it: the snapshot's end is not the program's
os._exit(0)
