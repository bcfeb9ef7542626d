"""The numbers of a text with their units: what must stay when the words around them change.

    Counter(figures("At step 36,503 the peak was 1.25 GiB, 63 % of it live."))
        -> {"step 36,503": 1, "1.25 GiB": 1, "63 %": 1}

Two texts say the same here if they have the same numbers equally often, in any order. A unit is one
of a closed list: any other word beside a number may be reworded. A number inside a name ("layer12")
is part of the name. Lines may be wrapped between a number and its unit.
"""

import collections
import re

UNITS = ("B", "byte", "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "%", "ns", "µs", "us", "ms",
         "s", "min", "h", "×")
SPACE = r"[\s\u00a0\u202f]*"
FIGURE = re.compile(
    rf"(?P<step>\bsteps?{SPACE})?"
    r"(?<![\w.])(?P<sign>[-−+])?"
    r"(?P<number>0x[0-9a-f]+|\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
    rf"(?:{SPACE}(?P<unit>{'|'.join(sorted(map(re.escape, UNITS), key=len, reverse=True))})"
    r"(?:/(?P<per>\w+))?(?![\w]))?(?!\w)")


def figures(text):
    """Each number of the text, as "1.25 GiB", "step 36,503" or "17", in order."""
    for match in FIGURE.finditer(text):
        figure = (match["sign"] or "").replace("−", "-").replace("+", "") + match["number"]
        if match["step"]:
            figure = f"step {figure}"
        if match["unit"]:
            figure += f" {match['unit']}" + (f"/{match['per']}" if match["per"] else "")
        yield figure


def difference(old, new):
    """None if both texts have the same figures, else (only in old, only in new) as short texts."""
    if old == new:
        return None
    before, after = collections.Counter(figures(old)), collections.Counter(figures(new))
    if before == after:
        return None
    return _listed(before - after), _listed(after - before)


def _listed(counter, most=8):
    words = [figure if count == 1 else f"{figure} ({count} times)"
             for figure, count in list(counter.items())[:most]]
    more = len(counter) - most
    return ", ".join(words + ([f"and {more} more"] if more > 0 else [])) or "(nothing)"
