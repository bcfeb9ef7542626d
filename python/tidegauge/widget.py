"""A timeline in a notebook that says where it was clicked; needs anywidget.

    w = trace.plot.widget()
    w                                   # click in it, or focus it and press the arrow keys
    trace.holders(w.step)               # who held memory there

The picture is the SVG of `trace.plot.timeline()`. Only the step travels between the browser and Python.
"""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .chart import PLOT_AREA, theme_of
from .libraries import library

if TYPE_CHECKING:
    from .trace import Trace

_SCRIPT = """
function render({ model, el }) {
  const { left, right, top, bottom, steps, colour } = model.get("_area");
  el.innerHTML = model.get("_svg");  // of the package itself: its texts are escaped
  const svg = el.querySelector("svg");
  svg.style.cssText = "max-width:100%;height:auto;cursor:crosshair";
  svg.tabIndex = 0;
  const made = (name, parent) => parent.appendChild(document.createElementNS("http://www.w3.org/2000/svg", name));
  const mark = made("g", svg);
  const line = made("path", mark);
  line.setAttribute("stroke", colour);
  const label = made("text", mark);
  label.setAttribute("fill", colour);
  label.setAttribute("y", top + 14);
  const show = () => {
    const step = model.get("step");
    mark.style.display = step < 0 ? "none" : "";
    const x = left + ((right - left) * step) / Math.max(steps, 1);
    line.setAttribute("d", `M${x} ${top}V${bottom}`);
    const isLate = x > (left + right) / 2;
    label.setAttribute("x", isLate ? x - 4 : x + 4);
    label.setAttribute("text-anchor", isLate ? "end" : "start");
    label.textContent = `step ${step.toLocaleString("en")}`;
  };
  const choose = (step) => {
    model.set("step", Math.min(Math.max(Math.round(step), 0), steps - 1));
    model.save_changes();
  };
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    if (steps > 0) choose(((x - left) / (right - left)) * steps);
  });
  svg.addEventListener("keydown", (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!way || steps === 0) return;
    event.preventDefault();
    choose(model.get("step") + way * (event.shiftKey ? Math.ceil(steps / 100) : 1));
  });
  model.on("change:step", show);
  show();
  return () => model.off("change:step", show);
}
export default { render };
"""


def timeline_widget(trace: "Trace", device: int, theme: str) -> Any:
    """The widget; its trait `step` is what was clicked, -1 before.

    Raises:
        MissingFeatureError: anywidget is not installed.
    """
    base: Any = library("anywidget", "tidegauge[notebook]").AnyWidget
    traitlets = library("traitlets", "tidegauge[notebook]")
    chart = trace.plot.timeline_chart(device)
    steps = int(chart.x_end)
    left, right, top, bottom = PLOT_AREA

    class Timeline(base):  # type: ignore[misc]
        """A timeline whose trait `step` follows clicks, and may be set."""

        _esm = _SCRIPT
        _svg = traitlets.Unicode(chart.svg(theme).text).tag(sync=True)
        _area = traitlets.Dict({"left": left, "right": right, "top": top, "bottom": bottom, "steps": steps,
                                "colour": theme_of(theme)["ink"]}).tag(sync=True)
        step = traitlets.Int(-1, min=-1, max=max(steps - 1, -1)).tag(sync=True)

    return Timeline()
