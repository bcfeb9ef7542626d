"""Rows with named columns, which other libraries take over through Arrow.

    trace.events                                     # a Table; nothing is copied yet
    pyarrow.table(trace.events)                      # as do polars.from_arrow(…), DuckDB, …
    trace.allocations.select("address", "block_bytes").to_pandas()

Columns that the engine stores as SQL shows them (addresses, sizes, times, first and last steps) are not
copied: they are views of its memory, which they keep alive.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Sequence, SupportsIndex, Union

from .arguments import whole_of
from .errors import UnpicklableError, UsageError
from .libraries import library
from .sizes import counted

if TYPE_CHECKING:
    from . import _engine

_SHOWN_ROWS = 10
_SHOWN_COLUMNS = 12
_ROWS_AT_ONCE = 4096


class Column(NamedTuple):
    """What a column is.

    Attributes:
        name: Its name, as in SQL.
        type: int64, uint32, double, text, or dictionary (texts by their codes).
        kind: What it means: integer, real, text, bytes, step or time (µs since the epoch).
        doc: A sentence about it, or "".
    """

    name: str
    type: str
    kind: str
    doc: str


class Table:
    """A table of a trace, or the result of a query. It does not change, and any thread may read it."""

    __slots__ = ("_engine", "_name", "_fields", "_shown")

    def __init__(self, engine: "_engine.Table", name: str, shown: Optional[tuple[int, ...]] = None) -> None:
        self._engine = engine
        self._name = name
        self._fields = engine.fields()
        self._shown = shown if shown is not None else tuple(i for i, field in enumerate(self._fields) if not field[4])

    # ---- what is in it

    @property
    def name(self) -> str:
        """The table's name, or the SQL that made it."""
        return self._name

    @property
    def columns(self) -> list[Column]:
        """The columns, in order."""
        return [Column(*self._fields[i][:4]) for i in self._shown]

    @property
    def column_names(self) -> list[str]:
        """The names of the columns, in order."""
        return [self._fields[i][0] for i in self._shown]

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self._engine.count()

    @property
    def is_truncated(self) -> bool:
        """True if a query had more rows than its limit."""
        return self._engine.truncated()

    def __len__(self) -> int:
        return self._engine.count()

    # ---- parts of it

    def select(self, *names: str) -> "Table":
        """The same rows with these columns alone, in this order; hidden ones (stack_text) may be named.

        Raises:
            UsageError: There is no such column.
        """
        return Table(self._engine, self._name, tuple(self._index(name) for name in names))

    def _index(self, name: str) -> int:
        for i, field in enumerate(self._fields):
            if field[0] == name:
                return i
        raise UsageError(f"{self._name} has no column {name!r}", advice="It has: " + ", ".join(field[0] for field in self._fields))

    def __getitem__(self, name: str) -> list[Any]:
        """All values of one column as Python objects; None for NULL.

        For long columns take an Arrow library instead: `pyarrow.table(t)`.
        """
        return self._engine.values(self._index(name), 0, self.num_rows)

    def rows(self, begin: SupportsIndex = 0, count: Optional[SupportsIndex] = None) -> list[tuple[Any, ...]]:
        """Some rows as tuples of int, float, str and None.

        Args:
            begin: The first row, from 0.
            count: How many; None: all that follow.

        Raises:
            UsageError: A number is negative.
        """
        first = min(whole_of(begin, "begin", "Give the number of a row, from 0", 0), self.num_rows)
        left = self.num_rows - first
        if count is not None:
            left = min(whole_of(count, "count", "Give a number of rows, or None for all that follow", 0), left)
        return list(zip(*(self._engine.values(i, first, left) for i in self._shown)))

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        for begin in range(0, self.num_rows, _ROWS_AT_ONCE):
            yield from self.rows(begin, _ROWS_AT_ONCE)

    # ---- for other libraries

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The Arrow PyCapsule interface: a capsule "arrow_array_stream". `requested_schema` is not used."""
        return self._engine.stream(self._shown)

    def to_arrow(self) -> Any:
        """As a pyarrow.Table.

        Raises:
            MissingFeatureError: pyarrow is not installed.
        """
        return library("pyarrow", "tidegauge[arrow]").table(self)

    def to_polars(self) -> Any:
        """As a polars.DataFrame.

        Raises:
            UsageError: Two columns of a query have one name.
            MissingFeatureError: polars is not installed.
        """
        polars = library("polars", "tidegauge[polars]")
        self._raise_if_names_repeat()
        return polars.DataFrame(self)

    def to_pandas(self) -> Any:
        """As a pandas.DataFrame; texts are categories, and columns with NULL have pandas' nullable types.

        Raises:
            MissingFeatureError: pandas or pyarrow is not installed.
        """
        pandas = library("pandas", "tidegauge[pandas]")
        nullable = {"int64": pandas.Int64Dtype(), "uint32": pandas.UInt32Dtype()}
        arrow = self.to_arrow()
        frame = {}
        for i, column in enumerate(arrow.columns):
            dtype = nullable.get(str(column.type)) if column.null_count else None
            if dtype is None:
                frame[i] = column.to_pandas()
            else:
                frame[i] = column.to_pandas(types_mapper=lambda _, dtype=dtype: dtype)
        made = pandas.DataFrame(frame)
        made.columns = arrow.column_names  # two columns of a query may have the same name
        return made

    def _raise_if_names_repeat(self) -> None:
        names = self.column_names
        twice = [name for i, name in enumerate(names) if name in names[:i]]
        if twice:
            raise UsageError(f"two columns have the name {twice[0]!r}, which polars refuses",
                             advice=f"Rename one in the query: SELECT … AS {twice[0]}_2")

    def __reduce__(self) -> Any:
        raise UnpicklableError("a Table cannot be pickled", advice="Pickle its contents: to_pandas(), to_arrow() or rows()")

    # ---- for people

    def __repr__(self) -> str:
        names = self.column_names[:_SHOWN_COLUMNS]
        head = f"<{counted(self.num_rows, 'row')} of {_short(self._name)}>"
        shown = [tuple(map(_cell, row[: len(names)])) for row in self.rows(0, _SHOWN_ROWS)]
        if not names or not shown:
            return head
        widths = [min(24, max(len(row[i]) for row in [tuple(names), *shown])) for i in range(len(names))]
        lines = [head]
        for row in [tuple(names), *shown]:
            lines.append("  ".join(_fit(cell, width) for cell, width in zip(row, widths)).rstrip())
        if self.num_rows > len(shown):
            lines.append("…")
        if len(self._shown) > len(names):
            lines.append("and the columns " + ", ".join(self.column_names[len(names):]))
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from .notebook import table_html

        return table_html(self)


def _short(name: str) -> str:
    line = " ".join(name.split())
    return line if len(line) <= 60 else line[:59] + "…"


def _cell(value: Union[None, int, float, str]) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)


def _fit(cell: str, width: int) -> str:
    return (cell if len(cell) <= width else cell[: width - 1] + "…").ljust(width)


def text_rows(rows: Sequence[Sequence[Any]]) -> list[list[str]]:
    """The cells as texts, for tables of people."""
    return [[_cell(value) for value in row] for row in rows]
