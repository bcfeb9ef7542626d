#!/usr/bin/env python3
"""Allocates in itself and in three forked children, which end at once."""
import ctypes
import os
import sys

runtime = ctypes.CDLL(sys.argv[1])


def allocate():
    place = ctypes.c_void_p()
    assert runtime.cudaMalloc(ctypes.byref(place), ctypes.c_size_t(1 << 20)) == 0


def forked():
    allocate()


allocate()
for _ in range(3):
    child = os.fork()
    if child == 0:
        forked()
        os._exit(0)
    os.waitpid(child, 0)
