"""Charts: what to draw, and two ways to draw it: matplotlib, or SVG without any library.

    Chart("Memory of run.pickle", "step", [Curve("reserved", steps, bytes, "reserved"), …])
        .figure(theme="dark")     matplotlib.figure.Figure
        .svg(theme="dark")        Svg, which notebooks show and save() writes
"""
from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Any, Optional, Sequence, Union
from xml.sax.saxutils import escape

from .arguments import path_of, shown
from .errors import UsageError, unwritable
from .libraries import library
from .sizes import human_bytes

# The page's colours (web/src/styles/base/tokens.css).
THEMES: dict[str, dict[str, str]] = {
    "light": {"surface": "#ffffff", "ink": "#0f1a20", "ink_2": "#42535d", "grid": "#e9eef0", "axis": "#b9c6cb",
              "active": "#0b6478", "reserved": "#a86a00", "danger": "#c4162a", "other": "#2c49aa"},
    "dark": {"surface": "#0f161b", "ink": "#e3eaee", "ink_2": "#a6b5be", "grid": "#1a242b", "axis": "#3a4a54",
             "active": "#58c4d8", "reserved": "#f5b83d", "danger": "#ff6166", "other": "#7d9af0"},
}

WIDTH, HEIGHT = 800, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 16, 64, 40
PLOT_AREA = _LEFT, WIDTH - _RIGHT, _TOP, HEIGHT - _BOTTOM  # left, right, top, bottom of the curves
_BAR_ROW = 26
_NAME = 44  # characters of the name of a bar


def theme_of(name: str) -> dict[str, str]:
    """The colours of a theme, "light" or "dark"."""
    if not isinstance(name, str) or name not in THEMES:
        raise UsageError(f"there is no theme {shown(name)}", advice="Give 'light' or 'dark'")
    return THEMES[name]


def _matplotlib_figure() -> Any:
    return library("matplotlib.figure", "tidegauge[plot]", otherwise="take backend='svg'")


class Svg(str):
    """A picture as SVG text: `text` has it, `save` writes it, and notebooks show it. str() and print() name it alone."""

    @property
    def text(self) -> str:
        """The SVG, as a plain text."""
        return str.__str__(self)

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the file, whose name ends in .svg.

        Raises:
            UsageError: The name has another ending.
            UnwritableError: It cannot be written there; an OSError, too.
        """
        target = path_of(path, "path")
        if not target.lower().endswith(".svg"):
            raise UsageError("the picture is SVG, and the name does not end in .svg", file=target,
                             advice="Give a name with .svg. For others take backend='matplotlib' and savefig(), or run: tidegauge frag --plot FILE.png")
        try:
            with open(target, "w", encoding="utf-8") as file:
                file.write(self.text)
        except OSError as error:
            raise unwritable(error, target) from None

    def _repr_svg_(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<tidegauge SVG, {len(self):,} characters>"

    __str__ = __repr__

    def __format__(self, form: str) -> str:
        return format(str(self), form)


@dataclass(frozen=True)
class Curve:
    """Values by step, each until the next one. `colour` is a name in THEMES."""

    name: str
    xs: Sequence[float]
    ys: Sequence[float]
    colour: str
    is_filled: bool = False


@dataclass(frozen=True)
class Chart:
    """Bytes (or a score) over steps."""

    title: str
    x_name: str
    x_end: float
    curves: Sequence[Curve]
    levels: Sequence[tuple[str, float]] = ()          # horizontal lines: (name, value)
    marks: Sequence[tuple[float, float]] = ()          # crosses: (x, y), out of memory
    is_bytes: bool = True
    y_end: Optional[float] = None
    mark_name: str = "out of memory"
    _top: float = field(init=False, repr=False, default=0.0)

    def top(self) -> float:
        """The upper end of the axis."""
        if self.y_end is not None:
            return self.y_end
        values = [max(curve.ys, default=0.0) for curve in self.curves]
        values += [value for _, value in self.levels] + [y for _, y in self.marks]
        most = max(values, default=0.0)
        tick = tick_of(most, self.is_bytes)
        return max(tick, math.ceil(most / tick) * tick)

    def figure(self, theme: str = "light", axes: Any = None) -> Any:
        """As a matplotlib Figure; with `axes`, drawn there."""
        colours = theme_of(theme)
        if axes is None:
            figure = _matplotlib_figure().Figure(figsize=(8, 3.2), layout="constrained")
            axes = figure.subplots()
            figure.set_facecolor(colours["surface"])
        for curve in self.curves:
            xs, ys = [*curve.xs, self.x_end], [*curve.ys, curve.ys[-1] if len(curve.ys) else 0]
            if curve.is_filled:
                axes.fill_between(xs, ys, step="post", color=colours[curve.colour], alpha=0.18, linewidth=0)
            axes.step(xs, ys, where="post", color=colours[curve.colour], linewidth=1.2, label=curve.name)
        for name, value in self.levels:
            axes.axhline(value, color=colours["ink_2"], linewidth=1, linestyle=(0, (4, 3)), label=name)
        if self.marks:
            axes.plot([x for x, _ in self.marks], [y for _, y in self.marks], "x", color=colours["danger"], label=self.mark_name, clip_on=False, zorder=5)
        _dress(axes, colours, self.title, self.x_name)
        top = self.top()
        axes.set_ylim(0, top)
        axes.set_xlim(0, max(self.x_end, 1))
        ticks = ticks_to(top, tick_of(top, self.is_bytes))
        axes.set_yticks(ticks, [self.label(value) for value in ticks])
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=5, frameon=False, labelcolor=colours["ink_2"], fontsize="small", borderaxespad=0)
        return axes.figure

    def label(self, value: float) -> str:
        """A value of the axis in words."""
        if value == 0:
            return "0"
        return human_bytes(int(value)) if self.is_bytes else f"{value:g}"

    def svg(self, theme: str = "light") -> Svg:
        """As SVG, 800 × 320."""
        colours, top = theme_of(theme), self.top()
        width, height = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM

        def x_of(x: float) -> float:
            return _LEFT + width * x / max(self.x_end, 1)

        def y_of(y: float) -> float:
            return _TOP + height * (1 - min(max(y / top, 0), 1))

        out = [*_begin(self.title, colours, HEIGHT)]
        for value in ticks_to(top, tick_of(top, self.is_bytes)):
            y = y_of(value)
            out.append(f'<path d="M{_LEFT} {y:.1f}H{WIDTH - _RIGHT}" stroke="{colours["grid"]}"/>')
            out.append(_text(_LEFT - 8, y + 4, self.label(value), colours["ink_2"], "end"))
        for x in ticks_to(self.x_end, tick_of(self.x_end, False)):
            out.append(_text(x_of(x), HEIGHT - _BOTTOM + 18, f"{x:,.0f}", colours["ink_2"], "middle"))
        out.append(_text(WIDTH - _RIGHT, HEIGHT - 6, self.x_name, colours["ink_2"], "end"))
        for curve in self.curves:
            path = _path(curve, self.x_end, x_of, y_of)
            if curve.is_filled:
                out.append(f'<path d="{path}V{y_of(0):.1f}H{x_of(0):.1f}Z" fill="{colours[curve.colour]}" fill-opacity="0.18"/>')
            out.append(f'<path d="{path}" fill="none" stroke="{colours[curve.colour]}" stroke-width="1.2"/>')
        for name, value in self.levels:
            out.append(f'<path d="M{_LEFT} {y_of(value):.1f}H{WIDTH - _RIGHT}" stroke="{colours["ink_2"]}" stroke-dasharray="4 3"/>')
        for x, y in self.marks:
            px, py = x_of(x), y_of(y)
            out.append(f'<path d="M{px - 4:.1f} {py - 4:.1f}l8 8m0-8l-8 8" stroke="{colours["danger"]}" stroke-width="1.8"/>')
        out += self._legend(colours)
        return Svg("\n".join([*out, "</svg>\n"]))

    def _legend(self, colours: dict[str, str]) -> list[str]:
        entries = [(curve.name, colours[curve.colour], "M0 0h14") for curve in self.curves]
        entries += [(name, colours["ink_2"], "M0 0h5m4 0h5") for name, _ in self.levels]
        if self.marks:
            entries.append((self.mark_name, colours["danger"], "M3 -4l8 8m0-8l-8 8"))
        out, x = [], float(_LEFT)
        for name, colour, path in entries:
            out.append(f'<path transform="translate({x:.0f} {_TOP - 14})" d="{path}" stroke="{colour}" stroke-width="2"/>')
            out.append(_text(x + 20, _TOP - 10, name, colours["ink_2"]))
            x += 36 + 6.2 * len(name)
        return out


@dataclass(frozen=True)
class Bars:
    """Named sizes as horizontal bars; the first is what the others are compared with."""

    title: str
    rows: Sequence[tuple[str, float, str, str]]        # name, bytes, words after the bar, colour

    def figure(self, theme: str = "light", axes: Any = None) -> Any:
        """As a matplotlib Figure; with `axes`, drawn there."""
        colours = theme_of(theme)
        is_own = axes is None
        if is_own:
            figure = _matplotlib_figure().Figure(figsize=(8, 0.8 + 0.32 * len(self.rows)), layout="constrained")
            figure.suptitle(self.title, x=0.02, ha="left", color=colours["ink"], fontsize="medium", fontweight="bold")
            axes = figure.subplots()
            figure.set_facecolor(colours["surface"])
        places = list(range(len(self.rows), 0, -1))
        axes.barh(places, [row[1] for row in self.rows], color=[colours[row[3]] for row in self.rows], height=0.62)
        most = max((row[1] for row in self.rows), default=1) or 1
        for place, (_, value, words, _) in zip(places, self.rows):
            axes.text(value + most * 0.01, place, words, va="center", color=colours["ink_2"], fontsize="small")
        _dress(axes, colours, "" if is_own else self.title, "")
        axes.set_yticks(places, [_cut(row[0]) for row in self.rows])
        axes.set_xlim(0, most * 1.5)
        axes.set_xticks([])
        return axes.figure

    def svg(self, theme: str = "light") -> Svg:
        """As SVG, 800 wide."""
        colours = theme_of(theme)
        left, right = 330, 190
        most = max((row[1] for row in self.rows), default=1) or 1
        out = [*_begin(self.title, colours, 56 + _BAR_ROW * len(self.rows))]
        for i, (name, value, words, colour) in enumerate(self.rows):
            y = 48 + _BAR_ROW * i
            length = (WIDTH - left - right) * value / most
            out.append(_text(left - 8, y + 12, _cut(name), colours["ink"], "end"))
            out.append(f'<rect x="{left}" y="{y}" width="{length:.1f}" height="16" rx="2" fill="{colours[colour]}"/>')
            out.append(_text(left + length + 8, y + 12, words, colours["ink_2"]))
        return Svg("\n".join([*out, "</svg>\n"]))


def _cut(name: str) -> str:
    """Long settings begin alike or end alike, so both ends stay."""
    return name if len(name) <= _NAME else name[: _NAME - 20] + "…" + name[-19:]


def tick_of(top: float, is_bytes: bool) -> float:
    """The distance of ticks: at most 6, at powers of two for bytes, else at 1, 2 or 5 of a power of ten."""
    if not top > 0:
        return 1.0
    if is_bytes:
        return max(1.0, 2.0 ** math.ceil(math.log2(top / 6)))
    power = 10.0 ** math.floor(math.log10(top / 6))
    return next((power * factor for factor in (1, 2, 5) if top / (power * factor) <= 6), power * 10)


def ticks_to(top: float, tick: float) -> list[float]:
    """0, tick, … up to top."""
    return [i * tick for i in range(int(top / tick + 1e-9) + 1)]


def _path(curve: Curve, x_end: float, x_of: Any, y_of: Any) -> str:
    parts = []
    for i, (x, y) in enumerate(zip(curve.xs, curve.ys)):
        parts.append(f"M{x_of(x):.1f} {y_of(y):.1f}" if i == 0 else f"H{x_of(x):.1f}V{y_of(y):.1f}")
    return "".join(parts) + f"H{x_of(x_end):.1f}" if parts else "M0 0"


def _begin(title: str, colours: dict[str, str], height: int) -> list[str]:
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
            f'role="img" aria-label="{escape(title, {chr(34): "&quot;"})}" font-family="system-ui, sans-serif" font-size="12">',
            f'<rect width="100%" height="100%" fill="{colours["surface"]}"/>',
            _text(16, 26, title if len(title) <= 90 else title[:89] + "…", colours["ink"], weight=' font-weight="600" font-size="14"')]


def _text(x: float, y: float, text: str, colour: str, anchor: str = "start", weight: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'


def _dress(axes: Any, colours: dict[str, str], title: str, x_name: str) -> None:
    axes.set_facecolor(colours["surface"])
    axes.set_title(title, loc="left", color=colours["ink"], fontsize="medium", fontweight="bold", pad=24 if x_name else 8)
    axes.set_xlabel(x_name, color=colours["ink_2"], loc="right")
    axes.tick_params(colors=colours["ink_2"], labelsize="small")
    axes.grid(True, axis="y" if x_name else "both", color=colours["grid"], linewidth=0.8)
    axes.set_axisbelow(True)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom" and bool(x_name))
        spine.set_color(colours["axis"])
