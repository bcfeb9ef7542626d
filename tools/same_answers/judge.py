"""Says whether two answers are the same, and where they are not.

    places = differing_places(Rules("report", renames), old, new, is_json=True)     [] = equal

Byte for byte first. If bytes differ, what masks.py names is left out and old names are translated;
what is still different then is a difference, spaces and line breaks too.
"""

import figures
import masks
import tree


def differing_places(rules, old, new, is_json):
    """[(where, old, new)] of two Answers of one command."""
    if old.code != new.code:
        return [("exit code", f"{old.code}{_said(old)}", f"{new.code}{_said(new)}")]
    compare = json_places if is_json and (old.out or new.out) else text_places
    return [*compare(rules, old.out, new.out),
            *text_places(rules, old.err, new.err, "standard error, ")]


def json_places(rules, old, new):
    if old == new:
        return []
    try:
        before, after = tree.parse(old), tree.parse(new)
    except ValueError as error:
        return [(f"(not JSON: {error})", *_first_difference(old, new))]
    places = list(tree.differences(before, after, rules))
    if places or rules.words or rules.renames.rows:
        return places
    if tree.spacing(old) != tree.spacing(new):
        return [("(layout)", f"{len(old):,} bytes", f"{len(new):,} bytes, of the same values")]
    return []


def text_places(rules, old, new, where=""):
    if old == new:
        return []
    before = masks.masked_text(rules.kind, old.decode(errors="replace"))
    after = masks.masked_text(rules.kind, new.decode(errors="replace"))
    if rules.words:
        found = figures.difference(before, after)
        return [(f"{where}numbers of the text", *found)] if found else []
    lines = zip(before.splitlines(), after.splitlines())
    for number, (a, b) in enumerate(lines, 1):
        if a != b:
            return [(f"{where}line {number}", tree.shown(a), tree.shown(b))]
    if before == after:
        return []
    return [(f"{where}lines", str(before.count("\n")), str(after.count("\n")))]


def refusal_places(rules, old, new):
    """What differs in two refusals of a query: "exit code 3: no such table"."""
    code = old.partition(":")[0], new.partition(":")[0]
    if code[0] != code[1] or not rules.words:
        return [] if old == new else [("(all tables)", old, new)]
    return text_places(rules, old.encode(), new.encode(), "(all tables), ")


def byte_places(rules, old, new):
    before, after = masks.masked_bytes(rules.kind, old), masks.masked_bytes(rules.kind, new)
    if before == after:
        return []
    if len(before) != len(after):
        return [("length", f"{len(before):,} bytes", f"{len(after):,} bytes")]
    at = next(i for i, (a, b) in enumerate(zip(before, after)) if a != b)
    at -= at % 4
    return [(f"byte {at:,}", before[at:at + 8].hex(" "), after[at:at + 8].hex(" "))]


def _first_difference(old, new):
    at = next((i for i, (a, b) in enumerate(zip(old, new)) if a != b), min(len(old), len(new)))
    return tuple(f"byte {at:,}: {data[at:at + 60]!r}" for data in (old, new))


def _said(answer):
    text = answer.err.decode(errors="replace").strip().splitlines()
    return f" ({text[0][:120]})" if text else ""
