"""A table of the report: a heading, the command that repeats it, a row of titles, and rows of texts."""
import dataclasses


@dataclasses.dataclass
class Table:
    heading: str
    command: str
    titles: list
    rows: list = dataclasses.field(default_factory=list)

    def add(self, *cells):
        assert len(cells) == len(self.titles), (self.titles, cells)
        self.rows.append([str(cell) for cell in cells])

    def markdown(self):
        lines = [f"### {self.heading}", "", "```sh", self.command, "```", ""]
        lines += [self._line(self.titles), self._line(["---"] * len(self.titles))]
        lines += [self._line(row) for row in self.rows]
        return "\n".join(lines) + "\n"

    @staticmethod
    def _line(cells):
        return "| " + " | ".join(cells) + " |"


def seconds(value):
    return f"{value:.2f} s" if value >= 0.1 else f"{value * 1e3:.1f} ms"


def nanoseconds(value_s, events):
    return f"{value_s / events * 1e9:,.0f} ns"


def megabytes(value):
    return f"{value / 1e6:,.0f} MB"
