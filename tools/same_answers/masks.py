"""The answers that differ between two runs of one binary, found by comparing it with itself.

A row: the kind of answer, the path in it, and why. Everything that is not named here must be equal.
"""

import fnmatch
import re

INDEX = re.compile(r"\[\d+\]")

# (kind, path, reason). `[]` stands for any row of a list, `*` for anything.
JSON_MASKS = (
    ("server session", "version", "of the program"),
    ("server sql", "elapsed_ms", "time that the query took"),
    ("server session", "recordings[].changed_s", "seconds since the file changed"),
    ("server session", "recordings[].read_s", "time that reading took"),
    ("server follow", "recordings[].changed_s", "seconds since the file changed"),
    ("server follow", "recordings[].read_s", "time that reading took"),
)
# (kind, first byte, byte after the last, reason) of binary answers.
BYTE_MASKS = (
    ("server tile", 56, 64, "time of the engine, ms"),
    ("server map", 72, 80, "time of the engine, ms"),
)
# (kind, pattern, reason) of text.
TEXT_MASKS = (
    ("*", r" \(at byte 0\)", "an error about the whole file"),
)


def is_masked(kind, path):
    plain = None
    for masked_kind, pattern, _ in JSON_MASKS:
        if masked_kind == kind:
            plain = INDEX.sub("[]", path) if plain is None else plain
            # "[" has a meaning of its own in fnmatch.
            if fnmatch.fnmatchcase(plain, pattern.replace("[", "[[]")):
                return True
    return False


def masked_bytes(kind, data):
    for masked_kind, begin, end, _ in BYTE_MASKS:
        if masked_kind == kind and len(data) >= end:
            data = data[:begin] + bytes(end - begin) + data[end:]
    return data


def masked_text(kind, text):
    for masked_kind, pattern, reason in TEXT_MASKS:
        if fnmatch.fnmatchcase(kind, masked_kind):
            text = re.sub(pattern, f"({reason})", text)
    return text
