"""Writes pickles the way torch's C++ code does (docs/formats/snapshot.md, "Two dialects").

Protocol 2, one MARK and APPENDS for a whole list, strings remembered by value, lists and dicts that
occur more than once remembered after they are complete, long integers always eight bytes.
"""

import struct


def dumps(top):
    return _Pickler(top).bytes()


class _Pickler:
    def __init__(self, top):
        self.out = bytearray(b"\x80\x02")
        self.slots = {}  # string or id of a container -> memo slot
        self.uses = {}
        self._count(top)
        self._write(top)
        self.out += b"."

    def bytes(self):
        return bytes(self.out)

    def _count(self, value):
        if isinstance(value, (list, dict)):
            self.uses[id(value)] = self.uses.get(id(value), 0) + 1
            if self.uses[id(value)] == 1:
                for item in value.values() if isinstance(value, dict) else value:
                    self._count(item)

    def _put(self, key):
        slot = len(self.slots)
        self.slots[key] = slot
        self.out += b"q" + bytes([slot]) if slot < 256 else b"r" + struct.pack("<I", slot)

    def _get(self, key):
        slot = self.slots[key]
        self.out += b"h" + bytes([slot]) if slot < 256 else b"j" + struct.pack("<I", slot)

    def _write(self, value):
        if isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self._write_int(value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif value is None:
            self.out += b"N"
        elif isinstance(value, str):
            self._write_str(value)
        elif isinstance(value, tuple):
            for item in value:
                self._write(item)
            self.out += {0: b")", 1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(value)]
        else:
            self._write_container(value)

    def _write_int(self, value):
        if value >= 1 << 63:
            value -= 1 << 64
        if 0 <= value < 256:
            self.out += b"K" + bytes([value])
        elif 0 <= value < 65536:
            self.out += b"M" + struct.pack("<H", value)
        elif -(1 << 31) <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<q", value)

    def _write_str(self, value):
        if value in self.slots:
            self._get(value)
            return
        data = value.encode("utf-8", "surrogatepass")
        self.out += b"X" + struct.pack("<I", len(data)) + data
        self._put(value)

    def _write_container(self, value):
        shared = self.uses[id(value)] > 1
        if shared and id(value) in self.slots:
            self._get(id(value))
            return
        if isinstance(value, dict):
            self.out += b"}("
            for key, item in value.items():
                self._write(key)
                self._write(item)
            self.out += b"u"
        else:
            self.out += b"]("
            for item in value:
                self._write(item)
            self.out += b"e"
        if shared:
            self._put(id(value))
