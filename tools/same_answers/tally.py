"""The result: how many answers of each kind are equal, and the differences in words.

    tally.equal("report", is_error=answer.code != 0)
    tally.different("report", "examples/oom.pickle.zst", "tidegauge report --json …",
                    [("devices[0].events", "12", "13")])
    tally.skipped("recordings: no make_recording beside the binary")
"""

import dataclasses
import itertools
import threading

SHOWN_PER_CASE = 5
SHOWN_CASES_PER_KIND = 4


@dataclasses.dataclass
class Kind:
    equal: int = 0
    errors: int = 0
    reports: list = dataclasses.field(default_factory=list)


class Tally:
    def __init__(self):
        self._lock = threading.Lock()
        self.kinds = {}  # kind -> Kind
        self.skips = []

    def _of(self, kind):
        return self.kinds.setdefault(kind, Kind())

    def equal(self, kind, is_error=False):
        """`is_error`: both refused in the same words, so no figure was compared."""
        with self._lock:
            self._of(kind).equal += 1
            self._of(kind).errors += is_error

    def different(self, kind, file, command, places):
        """`places`: (where, old, new) of each difference; the first are shown."""
        places = list(itertools.islice(places, SHOWN_PER_CASE + 1))
        lines = [f"DIFFERENT {kind}: {file}", f"  {command}"]
        lines += [f"    {where}: {old} -> {new}" for where, old, new in places[:SHOWN_PER_CASE]]
        if len(places) > SHOWN_PER_CASE:
            lines.append("    … and more")
        with self._lock:
            self._of(kind).reports.append("\n".join(lines))

    def skipped(self, reason):
        with self._lock:
            if reason not in self.skips:
                self.skips.append(reason)

    @property
    def any_different(self):
        return any(kind.reports for kind in self.kinds.values())

    def print(self):
        for name, kind in self.kinds.items():
            for report in kind.reports[:SHOWN_CASES_PER_KIND]:
                print(report)
            if len(kind.reports) > SHOWN_CASES_PER_KIND:
                print(f"  … and {len(kind.reports) - SHOWN_CASES_PER_KIND:,} more of kind {name}")
        width = max(map(len, self.kinds), default=0)
        for name, kind in self.kinds.items():
            errors = f"  ({kind.errors:,} of them errors)" if kind.errors else ""
            print(f"{name:<{width}}  {kind.equal:>6,} equal, {len(kind.reports):,} different{errors}")
        for reason in self.skips:
            print(f"skipped: {reason}")
