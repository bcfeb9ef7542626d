"""Notebooks: what a cell shows of a trace, the page in a cell, and the magic %%tidegauge.

    %load_ext tidegauge
    %%tidegauge              what this cell took: PyTorch's memory, as a trace in `_trace`
    t.view()                 the page, here
"""
from __future__ import annotations

import json
import sys
from html import escape
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .libraries import library
from .sizes import counted, human_bytes
from .table import text_rows

if TYPE_CHECKING:
    from .server import Server
    from .table import Table
    from .trace import Trace

_HTML_ROWS = 10
_STYLE = "font-family:system-ui,sans-serif;font-size:13px"
_TABLE = '<table style="font-size:inherit;border-spacing:12px 2px;text-align:right">'


def table_html(table: "Table") -> str:
    """The first rows as an HTML table."""
    names = table.column_names
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in text_rows(table.rows(0, _HTML_ROWS)))
    rest = f"<p>{counted(table.num_rows, 'row')}" + (", cut at the limit" if table.is_truncated else "") + "</p>"
    return f'<div style="{_STYLE};overflow-x:auto">{_TABLE}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{rest}</div>'


def trace_html(trace: "Trace") -> str:
    """The verdict in one line, a small timeline, and the sums of each device."""
    if trace.closed:
        return f"<p>{escape(repr(trace))}</p>"
    report = trace.report(replay="none")
    parts = [f'<div style="{_STYLE};max-width:800px">', f"<p><strong>{escape(report.headline or repr(trace))}</strong></p>"]
    gpus = [one for one in trace.device_ordinals if one >= 0] or list(trace.device_ordinals)
    if gpus:
        fullest = trace.sql("SELECT device FROM devices ORDER BY device < 0, peak_reserved_bytes DESC LIMIT 1").rows()[0][0]
        parts.append(trace.plot.timeline(device=fullest, backend="svg", columns=400).text)
    rows = trace.sql("SELECT name, events, peak_requested_bytes, peak_active_bytes, peak_reserved_bytes, "
                     "(SELECT count(*) FROM events e WHERE e.device = d.device AND action = 'oom') AS ooms FROM devices d").rows()
    head = "".join(f"<th>{name}</th>" for name in ("device", "events", "peak requested", "peak active", "peak reserved", "out of memory"))
    body = "".join(
        f"<tr><td>{escape(str(name))}</td><td>{events:,}</td><td>{human_bytes(requested)}</td><td>{human_bytes(active)}</td>"
        f"<td>{human_bytes(reserved)}</td><td>{ooms:,}</td></tr>" for name, events, requested, active, reserved, ooms in rows)
    parts.append(f"{_TABLE}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>")
    return "".join(parts)


# ---- the page in a cell ----------------------------------------------------------------------------

# The page is reached in one of three ways; the browser tries which. Behind jupyter-server-proxy it lies below
# the notebook server's own address; on the machine of the browser it is reached directly.
_FRAME = """<div id="{id}" style="width:100%;height:{height}px"></div>
<p style="font:12px system-ui,sans-serif;color:#5c6d77">{name}: <a href="{direct}" target="_blank">{direct}</a></p>
<script>
(async () => {{
  const place = document.getElementById("{id}");
  const data = document.getElementById("jupyter-config-data");
  let base = data ? JSON.parse(data.textContent).baseUrl : document.body.dataset.baseUrl;
  const ways = [];
  if (base) ways.push(`${{base.replace(/\\/$/, "")}}/proxy/{port}{path}`);
  let src = {direct_json};
  for (const way of ways) {{
    try {{
      const answer = await fetch(`${{way}}api/session`, {{credentials: "same-origin"}});
      if (answer.ok && (answer.headers.get("content-type") || "").includes("json")) {{ src = way; break; }}
    }} catch (error) {{ /* the next way */ }}
  }}
  const frame = document.createElement("iframe");
  frame.src = src;
  frame.title = {title_json};
  frame.style.cssText = "width:100%;height:100%;border:1px solid #c5d0d4;border-radius:6px";
  place.replaceChildren(frame);
}})();
</script>"""


class View:
    """The page of a trace; in a notebook, the cell shows it. stop() ends its server, as does the end of Python.

    Attributes:
        url: Where the page is, on this machine.
    """

    def __init__(self, server: "Server", name: str, height_pixels: int) -> None:
        self._server = server
        self._name = name
        self._height_pixels = height_pixels
        self._shown = 0
        self.url = server.url

    @property
    def is_running(self) -> bool:
        """False after stop()."""
        return self._server.is_running

    def stop(self) -> None:
        """Ends the server, and removes what was written for it."""
        self._server.stop()

    def _place(self) -> tuple[str, str]:
        """Port and path of the address."""
        _, _, address, *path = self.url.split("/")
        return address.rsplit(":", 1)[1], "/" + "/".join(path)

    def _repr_html_(self) -> str:
        port, path = self._place()
        self._shown += 1  # several cells may show it
        return _FRAME.format(id=f"tidegauge-{port}-{self._shown}", height=self._height_pixels, name=escape(self._name),
                             direct=escape(self.url), direct_json=json.dumps(self.url),
                             title_json=json.dumps(f"Tidegauge: {self._name}").replace("</", "<\\/"), port=port, path=path)

    def _ipython_display_(self) -> None:
        if "google.colab" in sys.modules:
            port, path = self._place()
            sys.modules["google.colab"].output.serve_kernel_port_as_iframe(int(port), path=path, height=self._height_pixels)
            return
        shown = library("IPython.display", "tidegauge[notebook]")
        shown.display(shown.HTML(self._repr_html_()))

    def __repr__(self) -> str:
        return f"<tidegauge page of {self._name} at {self.url}>"


# ---- %%tidegauge -----------------------------------------------------------------------------------


def tidegauge_cell(line: str, cell: str) -> Any:
    """%%tidegauge [NAME]: runs the cell while PyTorch records its memory, and shows what it took.

    The trace is kept in the variable NAME (`_trace` if none is given).
    """
    from . import torch as watched

    name = line.strip() or "_trace"
    if not name.isidentifier():
        raise UsageError(f"%%tidegauge takes the name of a variable, not {name!r}")
    shell = library("IPython", "tidegauge[notebook]").get_ipython()
    with watched.record() as recording:
        done = shell.run_cell(cell)
    shell.user_ns[name] = recording.trace
    done.raise_error()
    return recording.trace


def load_ipython_extension(shell: Any) -> None:
    """%load_ext tidegauge"""
    shell.register_magic_function(tidegauge_cell, "cell", "tidegauge")
