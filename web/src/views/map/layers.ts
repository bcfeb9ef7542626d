// Over the rectangles of the map: the axis of addresses with its breaks, bands, out-of-memory,
// selection.
import { font, horizontal, label, type Surface, vertical } from "../../ui/plot";
import { drawBands } from "../picture/layers/bands";
import { drawPlates } from "../picture/layers/ooms";
import { drawAxis } from "../picture/layers/x_axis";
import { toX, toY } from "../picture/window/frame";
import { axisLabels, breaks } from "./axis";
import type { MapFrame, MapRect } from "./frame";

const LABEL_APART = 26;
const THIN = 4;

export function drawMapFront(s: Surface, frame: MapFrame): void {
  const { plot } = frame;
  drawBands(s, frame);
  s.c.save();
  s.c.beginPath();
  s.c.rect(plot.left, plot.top - 2, plot.right - plot.left, plot.bottom - plot.top + 2);
  s.c.clip();
  for (const { position } of frame.ooms) {
    vertical(s, toX(frame, position), plot.top, plot.bottom, s.token("danger"), [], 1.5);
  }
  if (frame.cursor !== null) {
    vertical(s, toX(frame, frame.cursor), plot.top, plot.bottom, s.token("ink-2"), [3, 3]);
  }
  if (frame.hover !== null) {
    vertical(s, toX(frame, frame.hover), plot.top, plot.bottom, s.token("line-3"));
  }
  if (frame.hovered) drawRect(s, frame, frame.hovered, s.token("ink-3"), 1);
  if (frame.selected) drawRect(s, frame, frame.selected, s.token("outline"), 1.5);
  s.c.restore();
  drawPlates(
    s,
    frame,
    frame.ooms.filter(({ position }) => position >= frame.x[0] && position <= frame.x[1]),
  );
  drawAddresses(s, frame);
  drawAxis(s, frame);
}

/** Thinner than four pixels it is filled. */
function drawRect(s: Surface, frame: MapFrame, rect: MapRect, colour: string, line: number): void {
  const { plot } = frame;
  const left = Math.max(plot.left - 4, toX(frame, rect.x[0]));
  const right = Math.min(plot.right + 4, toX(frame, rect.x[1]));
  const top = Math.max(plot.top - 4, toY(frame, rect.y[1]));
  const bottom = Math.min(plot.bottom + 4, toY(frame, rect.y[0]));
  if (right < plot.left || left > plot.right || bottom < plot.top || top > plot.bottom) return;
  const [width, height] = [Math.max(2, right - left), Math.max(2, bottom - top)];
  s.c.fillStyle = colour;
  s.c.strokeStyle = colour;
  s.c.lineWidth = line;
  if (height < THIN || width < THIN) s.c.fillRect(left, top, width, height);
  else s.c.strokeRect(left + line / 2, top + line / 2, width - line, height - line);
}

function drawAddresses(s: Surface, frame: MapFrame): void {
  const { plot, axis } = frame;
  vertical(s, plot.left - 1, plot.top, plot.bottom, s.token("axis"));
  const place = (bytes: number) => toY(frame, bytes);
  for (const y of breaks(axis, place, plot.top, plot.bottom)) {
    horizontal(s, plot.left - 5, plot.left, y, s.token("line-3"));
  }
  s.c.font = `10.5px ${s.token("font-mono")}`;
  for (const { text, y } of axisLabels(axis, place, plot.top, plot.bottom, LABEL_APART)) {
    label(s, text, plot.left - 9, y, { align: "right" });
  }
  font(s);
}
