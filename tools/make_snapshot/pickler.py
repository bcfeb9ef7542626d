"""Writes pickles piece by piece, in either dialect that snapshots come in.

  "python"  what pickle.dump writes, byte for byte: memo in order of appearance (before a container
            is filled), batches of 1000, frames of 64 KiB from protocol 4 on
  "torch"   torch's C++ pickler: protocol 2, one MARK … APPENDS for a whole list, strings memoised
            by value, shared containers memoised when complete, LONG1 always of 8 bytes

The pieces are one save() of Python's pickler each, because a frame may end only between two.
"""

import struct

from schema import Fresh, Shared

FRAME_BYTES = 64 * 1024
FLUSH_BYTES = 1 << 20
BATCH = 1000


class Hole:
    """A value that is filled in later; see template()."""

    __slots__ = ()


class Pickler:
    def __init__(self, out, protocol, dialect):
        self.out = out
        self.python = dialect == "python"
        self.protocol = protocol if self.python else 2
        self.framed = self.protocol >= 4
        self.limit = FRAME_BYTES if self.framed else FLUSH_BYTES
        self.memo = {}  # string, or key of a Shared → id
        self.memo_count = 0
        self.frame = bytearray()
        self.open_lists = []  # [count, items so far]
        self.integer = python_integer if self.python else torch_integer
        out.write(b"\x80" + bytes([self.protocol]))

    # ---- bytes, frames -------------------------------------------------------------------------

    def piece(self, data):
        if len(self.frame) >= self.limit:
            self.flush()
        self.frame += data

    def flush(self):
        if self.framed and len(self.frame) >= 4:
            self.out.write(b"\x95" + struct.pack("<Q", len(self.frame)))
        self.out.write(self.frame)
        self.frame = bytearray()

    def finish(self):
        self.frame += b"."
        self.flush()

    # ---- memo ----------------------------------------------------------------------------------

    def put(self):
        """The opcode that gives the object on the stack the next memo id."""
        number = self.memo_count
        self.memo_count += 1
        if self.protocol >= 4:
            return b"\x94"
        return b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<I", number)

    def get(self, number):
        return b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)

    # ---- one value -----------------------------------------------------------------------------

    def save(self, value):
        pieces = []
        self.emit(value, pieces)
        for data in pieces:
            self.piece(data)

    def emit(self, value, pieces):
        """Appends the pieces of a value. The depth is that of the schema, not of any input."""
        kind = type(value)
        if kind is int:
            pieces.append(self.integer(value))
        elif kind is str or kind is Fresh:
            self.emit_string(value, kind is Fresh and self.python, pieces)
        elif kind is Shared:
            self.emit_shared(value, pieces)
        elif kind is dict or kind is list:
            self.emit_container(value, None, pieces)
        elif kind is tuple:
            for item in value:
                self.emit(item, pieces)
            pieces[-1] += b"\x86" + (self.put() if self.python else b"")
        elif kind is bool:
            pieces.append(b"\x88" if value else b"\x89")
        elif kind is float:
            pieces.append(b"G" + struct.pack(">d", value))
        elif kind is Hole:
            pieces.append(value)
        else:
            raise TypeError(f"no opcode for {kind}")

    def emit_string(self, value, fresh, pieces):
        number = None if fresh else self.memo.get(value)
        if number is not None:
            pieces.append(self.get(number))
            return
        if not fresh:
            self.memo[str(value)] = self.memo_count
        data = value.encode()
        if self.protocol >= 4 and len(data) < 256:
            head = b"\x8c" + bytes([len(data)])
        else:
            head = b"X" + struct.pack("<I", len(data))
        pieces.append(head + data + self.put())

    def emit_shared(self, shared, pieces):
        number = self.memo.get(shared.key)
        if number is not None:
            pieces.append(self.get(number))
            return
        self.emit_container(shared.make(), shared.key, pieces)

    def emit_container(self, value, key, pieces):
        is_dict, count = type(value) is dict, len(value)
        head = b"}" if is_dict else b"]"
        if self.python:
            if key is not None:
                self.memo[key] = self.memo_count
            head += self.put()
        mark = count > 1 or not self.python
        pieces.append(head + (b"(" if mark else b""))
        if is_dict:
            for item_key, item in value.items():
                self.emit_string(item_key, type(item_key) is Fresh and self.python, pieces)
                self.emit(item, pieces)
        else:
            for at, item in enumerate(value):
                if self.python and at and at % BATCH == 0:
                    pieces[-1] += b"e("
                self.emit(item, pieces)
        if mark or count:
            tail = (b"u" if is_dict else b"e") if mark else (b"s" if is_dict else b"a")
            if type(pieces[-1]) is Hole:
                pieces.append(tail)
            else:
                pieces[-1] += tail
        if key is not None and not self.python:
            self.memo[key] = self.memo_count
            pieces[-1] += self.put()

    # ---- containers that are too long to hold --------------------------------------------------

    def begin_dict(self):
        """A dict of at least two items: save() each key and value, then end_dict()."""
        self.piece(b"}" + (self.put() if self.python else b"") + b"(")

    def end_dict(self):
        self.frame += b"u"

    def begin_list(self, count):
        """A list of exactly count items: next_item() before each, then end_list()."""
        mark = count > 1 or not self.python
        self.piece(b"]" + (self.put() if self.python else b"") + (b"(" if mark else b""))
        self.open_lists.append([count, 0])

    def next_item(self):
        done = self.open_lists[-1]
        if self.python and done[1] and done[1] % BATCH == 0:
            self.frame += b"e("
        done[1] += 1

    def end_list(self):
        count, done = self.open_lists.pop()
        assert count == done, f"{done} items in a list of {count}"
        if count > 1 or not self.python:
            self.frame += b"e"
        elif count == 1:
            self.frame += b"a"

    # ---- events --------------------------------------------------------------------------------

    def template(self, entry):
        """(constants around the holes, memo ids used) for a flat dict, or None while the pieces
        are not yet the same each time: a string is new, or memo ids are written out."""
        if self.python and self.protocol < 4:
            return None
        for value in (*entry.keys(), *entry.values()):
            if type(value) in (str, Fresh) and value not in self.memo:
                if type(value) is str or not self.python:
                    return None
        before, pieces = self.memo_count, []
        self.emit(entry, pieces)
        used, self.memo_count = self.memo_count - before, before
        constants = [b""]
        for data in pieces:
            if type(data) is Hole:
                constants.append(b"")
            else:
                constants[-1] += data
        return constants, used

    def events(self, schema, records, count):
        """The list of one device's events: slow for the first of its kind, by template after."""
        self.begin_list(count)
        templates, memo, integer, hole = {}, self.memo, self.integer, Hole()
        timed = schema.torch >= (2, 2)
        for record in records:
            action, stream, pool, label, stack, _, address, size, time_us = record
            self.next_item()
            has_stack = stack != 0xFFFFFFFF
            key = (action, stream, pool, label, has_stack and stack % 20 == 0, has_stack)
            found = templates.get(key)
            if found is not None and (not has_stack or stack in memo):
                constants, used = found
                data = (constants[0] + integer(address) + constants[1] + integer(size)
                        + constants[2])
                at = 3
                if timed:
                    data += integer(time_us) + constants[3]
                    at = 4
                if has_stack:
                    data += self.get(memo[stack]) + constants[at]
                if len(self.frame) + len(data) < self.limit:
                    self.frame += data
                    self.memo_count += used
                    continue
            kind = schema.kind(record)
            frames = schema.frames(stack) if has_stack else None
            self.save(schema.event(kind, address, size, time_us, frames))
            if found is None:
                found = self.template(
                    schema.event(kind, hole, hole, hole, hole if has_stack else None))
                if found is not None:
                    templates[key] = found
        self.end_list()


def python_integer(value):
    if 0x80_0000_0000 <= value < 0x8000_0000_0000:
        return b"\x8a\x06" + value.to_bytes(6, "little")
    if 0 <= value < 0x100:
        return b"K" + value.to_bytes(1, "little")
    if 0 <= value < 0x10000:
        return b"M" + value.to_bytes(2, "little")
    if -0x8000_0000 <= value < 0x8000_0000:
        return b"J" + value.to_bytes(4, "little", signed=True)
    size = (value if value >= 0 else ~value).bit_length() // 8 + 1
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def torch_integer(value):
    if 0 <= value < 0x100:
        return b"K" + value.to_bytes(1, "little")
    if 0 <= value < 0x10000:
        return b"M" + value.to_bytes(2, "little")
    if -0x8000_0000 <= value < 0x8000_0000:
        return b"J" + value.to_bytes(4, "little", signed=True)
    # An address from 2^63 on is a negative int64 there.
    return b"\x8a\x08" + (value & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, "little")
