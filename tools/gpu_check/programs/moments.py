"""A training run that stops at moments and writes down who says what of its memory.

    moments.py OUT.json COUNT SECONDS      at most COUNT moments, and no more after SECONDS

The moments come after a forward pass, a backward pass and a step of the optimizer, in turn, with
sequences of many lengths. At each moment nothing else happens for some milliseconds, so that a
recorder's state at that time is known however long its calls take. The run also takes memory beside
PyTorch's, with the driver's own call.
"""
import ctypes
import gc
import json
import os
import sys
import time

import net as nets
import nvml
import torch

QUIET_S = 0.01
MIB = 1 << 20
# The recorder counts time from its start by the monotonic clock; so does this, if the clock is set.
WALL_NS = time.time_ns() - time.monotonic_ns()


class Beside:
    """Memory that PyTorch does not know of: a multiple of 2 MiB, which drivers hand out exactly."""

    def __init__(self):
        self.driver, self.held = ctypes.CDLL("libcuda.so.1"), []

    def take(self, size):
        address = ctypes.c_uint64()
        code = self.driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))
        if code != 0:
            sys.exit(f"cuMemAlloc of {size} bytes: error {code} of the driver")
        self.held.append((address.value, size))

    def free(self):
        address, _ = self.held.pop(0)
        self.driver.cuMemFree_v2(ctypes.c_uint64(address))

    def total(self):
        return sum(size for _, size in self.held)


def stand_in_nvml(total):
    """Makes the stand-in of NVML say what the stand-in device has in use."""
    if os.environ.get("TIDEGAUGE_STAND_IN_NVML") != "1":
        return
    path = os.environ["STANDIN_NVML"]
    if ctypes.CDLL("libcuda.so.1").fake_gpu_dump(f"{path}.json".encode()) != 0:
        sys.exit("the stand-in could not write what it holds")
    with open(f"{path}.json", encoding="utf-8") as file:
        device = json.load(file)["devices"][0]
    with open(f"{path}.part", "w", encoding="utf-8") as file:
        file.write(f"device Stand-in {total} {device['used_bytes']}\n"
                   f"process {os.getpid()} {device['used_bytes']}\n")
    os.replace(f"{path}.part", path)


def note(kind, gpu, beside):
    torch.cuda.synchronize()
    time.sleep(QUIET_S)
    at_ns = time.monotonic_ns() + WALL_NS
    free, total = torch.cuda.mem_get_info()
    stand_in_nvml(total)
    device_used, process_used = gpu.used()
    stats = torch.cuda.memory_stats()
    segments = [(it["address"], it["total_size"]) for it in torch.cuda.memory_snapshot()]
    time.sleep(QUIET_S)
    return {"kind": kind, "at_ns": at_ns, "driver_used_bytes": total - free,
            "nvml_device_bytes": device_used, "nvml_process_bytes": process_used,
            "reserved_bytes": stats["reserved_bytes.all.current"],
            "requested_bytes": stats["requested_bytes.all.current"],
            "segments": segments, "beside_bytes": beside.total()}


def main():
    out, count, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
    until = time.monotonic() + seconds
    net, optimizer = nets.build()
    beside = Beside()
    stand_in_nvml(torch.cuda.mem_get_info()[1])  # before it is opened: a recorder that asks meanwhile finds a device
    gpu = nvml.Gpu(f"GPU-{getattr(torch.cuda.get_device_properties(0), 'uuid', None)}")
    for _ in range(3):  # loads the code of all kernels, which takes memory too
        nets.train(net, optimizer, 4, 640)
    gc.collect()
    gc.disable()
    moments = []
    while len(moments) < count and time.monotonic() < until:
        i = len(moments)
        if i % 10 == 0:
            beside.take((2 + i // 10 * 6) * MIB)
        if i % 30 == 29:
            beside.free()
        loss = nets.forward(net, 4, 64 + 37 * i % 512)
        if i % 3 == 0:
            moments.append(note("forward", gpu, beside))
        loss.backward()
        del loss
        if i % 3 == 1:
            moments.append(note("backward", gpu, beside))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        if i % 25 == 24:
            torch.cuda.empty_cache()
        if i % 3 == 2:
            moments.append(note("optimizer", gpu, beside))
    with open(out, "w", encoding="utf-8") as file:
        json.dump({"pid": os.getpid(), "moments": moments}, file)


if __name__ == "__main__":
    main()
