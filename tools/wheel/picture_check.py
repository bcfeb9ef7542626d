"""Checks that a PNG is whole, has a size and shows something; with Python's own library alone.

    python3 picture_check.py FILE WIDTH HEIGHT  →  exit code 0, or 1 and what is wrong
    python3 picture_check.py --self-test        proves that bad pictures are found

It runs in the systems of tries.py. Every part's sum is compared and every line is decoded: 3 seconds for 1200 × 1080."""
import struct
import sys
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LEAST_COLOURS = 20  # a picture without words or without boxes has fewer


def parts(data):
    """(name, content) of each part, up to the last byte."""
    if not data.startswith(SIGNATURE):
        raise ValueError("this is not a PNG")
    at, name = len(SIGNATURE), b""
    while at < len(data):
        length, name = struct.unpack_from(">I4s", data, at)
        content = data[at + 8:at + 8 + length]
        if struct.unpack_from(">I", data, at + 8 + length)[0] != zlib.crc32(name + content):
            raise ValueError(f"the sum of {name} is wrong")
        yield name, content
        at += 12 + length
    if name != b"IEND":
        raise ValueError("the end is missing")


def nearest(left, up, corner):
    """Paeth's filter: which of the three neighbours is nearest to left + up - corner."""
    to_left, to_up, to_corner = abs(up - corner), abs(left - corner), abs(left + up - 2 * corner)
    return left if to_left <= to_up and to_left <= to_corner else up if to_up <= to_corner else corner


def decoded(kind, line, above, pixel):
    """The bytes of a line, of which the file has differences."""
    out = bytearray(line)
    for i, value in enumerate(line) if kind else ():
        left, corner = (out[i - pixel], above[i - pixel]) if i >= pixel else (0, 0)
        guess = (left, above[i], (left + above[i]) // 2, nearest(left, above[i], corner))[kind - 1]
        out[i] = (value + guess) & 255
    return out


def check(data, width, height):
    found = list(parts(data))
    head = struct.unpack(">IIBBBBB", found[0][1])
    if head[:2] != (width, height):
        raise ValueError(f"{head[0]} × {head[1]} pixels, not {width} × {height}")
    if head[2:] not in ((8, 2, 0, 0, 0), (8, 6, 0, 0, 0)):
        raise ValueError("not 8 bits of red, green and blue")
    pixel = 3 if head[3] == 2 else 4
    lines = zlib.decompress(b"".join(content for name, content in found if name == b"IDAT"))
    size = 1 + width * pixel
    if len(lines) != height * size:
        raise ValueError(f"{len(lines)} bytes of pixels, not {height * size}")
    above, colours = bytes(width * pixel), set()
    for at in range(0, len(lines), size):
        above = decoded(lines[at], lines[at + 1:at + size], above, pixel)
        colours.update(bytes(above[i:i + 3]) for i in range(0, len(above), pixel))
    if len(colours) < LEAST_COLOURS:
        raise ValueError(f"{len(colours)} colours, fewer than {LEAST_COLOURS}")


def example(lines):
    """A PNG of 8 × 8 pixels."""
    out = SIGNATURE
    for name, content in ((b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")):
        out += struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
    return out


def self_test():
    # The same differences mean another line by each filter.
    good = example(b"".join(bytes([y % 5, *range(24)]) for y in range(8)))
    check(good, 8, 8)
    for kind, expected in ((0, [1, 2, 3, 4]), (1, [1, 2, 4, 6]), (2, [11, 22, 13, 24]), (3, [6, 12, 11, 20]), (4, [11, 22, 14, 26])):
        found = list(decoded(kind, [1, 2, 3, 4], [10, 20, 10, 20], 2))
        assert found == expected, (kind, found)
    bad = {"colours": example((b"\0" + b"\xff" * 24) * 8), "bytes of pixels": example(b"\0" * 9), "the sum": good.replace(b"IDAT", b"IDAX"),
           "the end": good[:-12], "not a PNG": b"<svg>", "not 8 × 9": good}
    for words, data in bad.items():
        try:
            check(data, 8, 9 if words == "not 8 × 9" else 8)
        except ValueError as wrong:
            assert words in str(wrong), (words, wrong)
        else:
            raise AssertionError(f"not found: {words}")
    print(f"{len(bad)} kinds of bad pictures found")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    try:
        with open(sys.argv[1], "rb") as file:
            check(file.read(), int(sys.argv[2]), int(sys.argv[3]))
    except (OSError, ValueError, IndexError, struct.error, zlib.error) as wrong:
        raise SystemExit(f"{sys.argv[1]}: {wrong}") from None
