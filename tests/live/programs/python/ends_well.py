"""A Python program that ends well and has freed everything by then: ends_well.py leak|behaves

`leak` keeps a buffer of every step in a list that is never emptied; `behaves` keeps as many as it needs.
Both are Python's own objects, so its last moments free them."""
import ctypes
import sys

KIB = 1 << 10
runtime = ctypes.CDLL("libcudart.so.13")


class Buffer:
    def __init__(self, size):
        self.at = ctypes.c_void_p()
        if runtime.cudaMalloc(ctypes.byref(self.at), ctypes.c_size_t(size)) != 0:
            sys.exit("cudaMalloc failed")

    def __del__(self):
        runtime.cudaFree(self.at)


class Pitched(Buffer):
    """By another function, so that its stack is another one whatever names Python reports."""

    def __init__(self, size):
        self.at = ctypes.c_void_p()
        pitch = ctypes.c_size_t()
        if runtime.cudaMallocPitch(ctypes.byref(self.at), ctypes.byref(pitch), ctypes.c_size_t(512),
                                   ctypes.c_size_t(size // 512)) != 0:
            sys.exit("cudaMallocPitch failed")


weights = [Pitched(256 * KIB) for _ in range(8)]
kept = []
for step in range(300):
    Pitched(512 * KIB)
    Pitched(64 * KIB)
    kept.append(Buffer(16 * KIB))
    if sys.argv[1] == "behaves" and len(kept) > 12:
        kept.clear()
