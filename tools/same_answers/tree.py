"""Where two JSON answers differ: path, old value, new value.

    for path, old, new in differences(parse(old_bytes), parse(new_bytes), Rules("report", …)): …
        devices[0].peak.active.bytes: 5527040512 -> 5527040000

Numbers are compared as they are written (1.0 is not 1), and keys in their order. What legitimately
differs is left out by masks.py; old names are translated by renames.py. With `words` the sentences
of an answer are compared by their numbers alone, and everything else as before.
"""

import dataclasses
import json
import re
import typing

import figures
import masks
from renames import INDEX, Renames

# Keys whose values are sentences, even without a period at their end, as soon as they have a space:
# headings, hints, reasons, words of a table's or function's documentation.
SENTENCE_KEYS = frozenset(
    "text headline doc title meaning hint what why how words detail reason sentences of_advice careful "
    "verdict fit bounds limits means remedy found question why_not cause".split()) | {"tells"}
# … and those that are one however short: what a column means.
PROSE_KEYS = frozenset(["doc"])


class Number(typing.NamedTuple):
    """A number as it is written; no text is equal to it."""

    text: str


@dataclasses.dataclass
class Rules:
    kind: str  # of the answer: "report", "server tile"; names its masks
    renames: Renames = Renames()
    words: bool = False


def parse(data):
    """ValueError: this is not JSON."""
    return json.loads(data, parse_int=Number, parse_float=Number)


def shown(value, most=160):
    text = value.text if isinstance(value, Number) else json.dumps(_plain(value), ensure_ascii=False)
    return text if len(text) <= most else text[:most] + f"… ({len(text):,} characters)"


def differences(old, new, rules, path=""):
    if isinstance(old, dict) and isinstance(new, dict):
        yield from _of_objects(old, new, rules, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _of_lists(old, new, rules, path)
    elif isinstance(old, str) and isinstance(new, str):
        if rules.renames.word(path, old) != new:
            yield from _of_texts(old, new, rules, path)
    elif type(old) is not type(new) or old != new:
        yield path or "(all)", shown(old), shown(new)


def _of_objects(old, new, rules, path):
    renamed = {key: rules.renames.key(path, key) for key in old}
    back = {after: before for before, after in renamed.items()}
    for key in old:
        if renamed[key] not in new and not masks.is_masked(rules.kind, _under(path, key)):
            yield _under(path, key), shown(old[key]), "(no such key)"
    for key in new:
        where = _under(path, key)
        if masks.is_masked(rules.kind, where):
            continue
        if key not in back:
            yield where, "(no such key)", shown(new[key])
        else:
            yield from differences(old[back[key]], new[key], rules, where)
    # A renamed key stands where the alphabet puts it.
    if list(renamed.values()) != list(new) and all(a == b for a, b in renamed.items()):
        if set(old) == set(new):
            yield path or "(all)", f"keys in the order {shown(list(old))}", f"{shown(list(new))}"


def _of_lists(old, new, rules, path):
    if rules.words and _are_parts(old) and _are_parts(new):
        # A sentence in pieces of different style, which a new wording may cut elsewhere.
        yield from _of_texts(_joined(old), _joined(new), rules, f"{path}[].text")
        return
    if len(old) != len(new):
        yield path or "(all)", f"{len(old):,} items", f"{len(new):,} items"
    for number, (before, after) in enumerate(zip(old, new)):
        yield from differences(before, after, rules, f"{path}[{number}]")


def _of_texts(old, new, rules, path):
    if masks.is_masked(rules.kind, path):
        return
    if rules.words and (_is_sentence(old, path) or _is_sentence(new, path)):
        found = figures.difference(old, new)
        if found:
            yield f"{path} (numbers of the sentence)", *found
    elif old != new:
        yield path or "(all)", shown(old), shown(new)


def _is_sentence(text, path):
    key = INDEX.sub("", path).rpartition(".")[2]
    return key in PROSE_KEYS or " " in text and (key in SENTENCE_KEYS or text.endswith((".", "?")))


def _are_parts(items):
    return bool(items) and all(isinstance(item, dict) and set(item) == {"text", "style"}
                               for item in items)


def _joined(parts):
    return "".join(part["text"] for part in parts)


def _under(path, key):
    return f"{path}.{key}" if path else key


def _plain(value):
    if isinstance(value, Number):
        return json.loads(value.text)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list) else value


LITERALS = re.compile(rb'"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|null|true|false')


def spacing(data):
    """JSON without its literals: layout and punctuation."""
    return LITERALS.sub(b"", data)
