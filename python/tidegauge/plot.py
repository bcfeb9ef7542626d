"""Pictures of a trace.

    trace.plot.timeline()                                a matplotlib Figure, or SVG if there is no matplotlib
    trace.plot.timeline(theme="dark", backend="svg").save("memory.svg")
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional, SupportsIndex, Union

from .arguments import shown, whole_of
from .chart import Bars, Chart, Curve, Svg, theme_of
from .dark_map import dark_map
from .errors import MissingFeatureError, UsageError
from .sizes import Size, capacity_of, human_bytes

if TYPE_CHECKING:
    from .results import Replayed
    from .trace import Trace


_MOST_COLUMNS = 10_000_000


class Plot:
    """The pictures of one trace; `trace.plot`.

    Each takes `device` (None: the only GPU), `theme` ("light" or "dark"), `backend` ("auto", "matplotlib" or
    "svg") and, for matplotlib alone, `axes` to draw into: those of a figure.
    """

    def __init__(self, trace: "Trace") -> None:
        self._trace = trace

    def __repr__(self) -> str:
        return f"<pictures of {self._trace.name}: timeline(), fragmentation(), fragmentation_map(), whatif(), widget()>"

    def timeline(self, *, device: Optional[SupportsIndex] = None, theme: str = "light", backend: str = "auto", axes: Any = None,
                 columns: SupportsIndex = 800) -> Any:
        """Active and reserved memory over the steps, with each out-of-memory event.

        The steps are cut into `columns` equal parts; the highest value of each is drawn, so no peak is lost.
        """
        _check(theme, backend, axes)
        return _drawn(self.timeline_chart(device, columns), theme, backend, axes)

    def widget(self, *, device: Optional[SupportsIndex] = None, theme: str = "light") -> Any:
        """The timeline as a widget of a notebook: its `step` is the step that was clicked, -1 before the first click.

        Raises:
            MissingFeatureError: anywidget is not installed.
        """
        from .widget import timeline_widget

        return timeline_widget(self._trace, self._trace._device(device), theme)

    def timeline_chart(self, device: Optional[SupportsIndex] = None, columns: SupportsIndex = 800) -> Chart:
        """What `timeline` draws, as data."""
        trace = self._trace
        chosen = trace._device(device)
        parts = whole_of(columns, "columns", f"Give a whole number from 1 to {_MOST_COLUMNS:,}", 1, _MOST_COLUMNS)
        curve = trace._ask("curve", device=chosen, columns=parts)
        failed = trace.sql(f"SELECT step, ceiling_bytes FROM ooms({chosen})").rows()
        levels = [("capacity", float(max(row[1] for row in failed)))] if failed and failed[0][1] else []
        marks = [(float(step), float(ceiling or 0)) for step, ceiling in failed]
        return Chart(f"Memory of {trace._about['short_name']}, {_label(chosen)}", "step", curve["steps"],
                     [Curve("reserved", curve["begin_step"], curve["reserved_bytes"], "reserved", True),
                      Curve("active", curve["begin_step"], curve["active_bytes"], "active", True)], levels, marks)

    def fragmentation(self, *, device: Optional[SupportsIndex] = None, theme: str = "light", backend: str = "auto", axes: Any = None,
                      samples: SupportsIndex = 200) -> Any:
        """Free memory inside segments over the steps: all of it, what is pinned, and the largest hole."""
        _check(theme, backend, axes)
        trace = self._trace
        chosen = trace._device(device)
        rows = trace.fragmentation(device=chosen, samples=samples).to_dict()["samples"]
        steps = [row["step"] for row in rows]
        curves = [Curve("free in segments", steps, [row["free_bytes"] for row in rows], "reserved", True),
                  Curve("pinned", steps, [row["pinned_bytes"] for row in rows], "danger"),
                  Curve("largest hole", steps, [row["largest_hole_bytes"] for row in rows], "active")]
        chart = Chart(f"Fragmentation of {trace._about['short_name']}, {_label(chosen)}", "step", max(steps, default=0) + 1, curves)
        return _drawn(chart, theme, backend, axes)

    def fragmentation_map(self, *, device: Optional[SupportsIndex] = None, theme: str = "light") -> Svg:
        """Blocks by address over the steps, with score and forecast: the picture of `tidegauge frag --plot`."""
        theme_of(theme)
        light = Svg(self._trace._ask("frag_svg", device=self._trace._device(device)))
        return light if theme == "light" else dark_map(light)

    def whatif(self, *, capacity: Optional[Size] = None, device: Optional[SupportsIndex] = None, theme: str = "light",
               backend: str = "auto", axes: Any = None) -> Any:
        """Peak reserved memory under other allocator settings, the recording's own first."""
        _check(theme, backend, axes)
        found = self._trace.whatif(capacity=capacity_of(capacity), device=device)
        rows = [_bar("as recorded", found.own, "other"),
                *(_bar(one.settings or "nothing set", one, "active") for one in found.candidates)]
        return _drawn(Bars(f"Peak reserved memory of {self._trace._about['short_name']} under other settings", rows), theme, backend, axes)


def _bar(name: str, one: "Replayed", colour: str) -> tuple[str, float, str, str]:
    fails = "" if one.ooms == 0 else ", 1 request fails" if one.ooms == 1 else f", {one.ooms:,} requests fail"
    return name, float(one.peak_reserved_bytes), human_bytes(one.peak_reserved_bytes) + fails, "danger" if one.ooms else colour


def _label(device: int) -> str:
    return "pinned host memory" if device < 0 else f"cuda:{device}"


def _check(theme: str, backend: str, axes: Any) -> None:
    """Before the work of minutes that a picture may need."""
    theme_of(theme)
    if backend not in ("auto", "matplotlib", "svg"):
        raise UsageError(f"there is no backend {shown(backend)}", advice="Give 'auto', 'matplotlib' or 'svg'")
    if axes is not None and backend == "svg":
        raise UsageError("axes are matplotlib's, and backend='svg' does not draw into them", advice="Leave out axes, or take backend='matplotlib'")
    if axes is not None and not hasattr(axes, "fill_between"):
        raise UsageError(f"axes is {shown(axes)}", advice="Give axes of matplotlib, such as plt.gca()")


def _drawn(chart: Union[Chart, Bars], theme: str, backend: str, axes: Any) -> Any:
    if backend == "svg":
        return chart.svg(theme)
    try:
        return chart.figure(theme, axes)
    except (MissingFeatureError, ImportError):
        if backend == "auto" and axes is None:
            return chart.svg(theme)
        raise
