// Above the blocks: lines, ceiling, peak, out-of-memory events, selection, cursor, axis labels.

import { bytesText } from "../../../text/units";
import { font, horizontal, label, plate, type Surface, vertical } from "../../../ui/plot";
import { highestWithin } from "../tiles/line_sampler";
import { type Frame, fromX, toX, toY } from "../window/frame";
import { clip, traceLine, traceTop } from "./back_layer";
import { drawBands } from "./bands";
import { drawGaps } from "./gaps";
import { drawOoms } from "./ooms";
import { drawSelected, veilHovered } from "./selected";
import { drawAxis } from "./x_axis";

export function drawFront(s: Surface, frame: Frame): void {
  s.c.save();
  clip(s, frame);
  drawLines(s, frame);
  drawCeiling(s, frame);
  veilHovered(s, frame);
  drawSelected(s, frame);
  drawCursor(s, frame);
  drawPeak(s, frame);
  drawOlder(s, frame);
  s.c.restore();
  if (frame.y[0] > 0) drawTornEdge(s, frame);
  drawBands(s, frame);
  drawGaps(s, frame);
  drawOoms(s, frame);
  drawAxis(s, frame);
}

export function drawLines(s: Surface, frame: Frame): void {
  const { c } = s;
  c.lineJoin = "round";
  c.beginPath();
  traceTop(s, frame);
  c.strokeStyle = s.token("accent");
  c.lineWidth = 1;
  c.stroke();
  c.beginPath();
  traceLine(
    s,
    frame,
    (one) => one.reservedMin,
    (one) => one.reservedMax,
  );
  c.strokeStyle = s.token("reserved");
  c.lineWidth = 1.75;
  c.stroke();
}

export function drawCeiling(s: Surface, frame: Frame, words = true): void {
  const bytes = frame.device.ceiling_bytes;
  if (bytes === null || bytes > frame.y[1] || bytes < frame.y[0]) return;
  const { plot } = frame;
  const y = toY(frame, bytes);
  horizontal(s, plot.left, plot.right, y, s.token("ink-3"), [1, 3]);
  if (!words) return;
  font(s);
  label(
    s,
    `Ceiling ${bytesText(bytes)}  the most that this process could have`,
    plot.left + 10,
    y - 9,
    {
      colour: s.token("ink-2"),
      halo: true,
    },
  );
}

function drawCursor(s: Surface, frame: Frame): void {
  const { plot } = frame;
  if (frame.cursor !== null) {
    const x = toX(frame, frame.cursor);
    if (x >= plot.left && x <= plot.right) {
      vertical(s, x, plot.top, plot.bottom, s.token("ink-3"), [2, 3]);
    }
  }
  if (frame.hover) {
    vertical(s, toX(frame, frame.hover.position), plot.top, plot.bottom, s.token("ink-2"), [2, 2]);
  }
}

/** pixels from the left that the words of the ceiling take */
const CEILING_LABEL = 310;

/** A triangle that points at the highest reserved level, with words. */
export function drawPeak(s: Surface, frame: Frame, words = true): void {
  const { bytes, step } = frame.device.peak.reserved;
  const { plot } = frame;
  const at = frame.samples.find((one) => one.reservedMax >= bytes);
  const y = toY(frame, bytes);
  if (!at || y < plot.top - 2 || y > plot.bottom || bytes === 0) return;
  // a column that reaches beyond the edge may hold it where it cannot be seen
  const [from, to] = frame.domain.axis === "step" ? [step, step + 1] : [at.x0, at.x1];
  if (to <= frame.x[0] || from >= frame.x[1]) return;
  const position = frame.domain.axis === "step" ? Math.max(at.x0, step) : at.x0;
  const x = Math.max(plot.left, Math.min(plot.right, toX(frame, position)));
  const text = `Peak reserved ${bytesText(bytes)}`;
  font(s, 11, 500);
  const wide = s.c.measureText(text).width + 24;
  const left = x - plot.left > wide;
  const side = left ? -1 : 1;
  // under the level where nothing lies there, else above it, and above the ceiling if that is near
  const beside = left ? [fromX(frame, x - wide), fromX(frame, x - 10)] : [0, 0];
  const data = toY(frame, highestWithin(frame.samples, beside[0] ?? 0, beside[1] ?? 0));
  const ceiling = toY(frame, frame.device.ceiling_bytes ?? 0);
  const over = y - ceiling < 18 && y >= ceiling ? ceiling : y;
  const crowded = over - 18 < plot.top || (over < y && x - wide < plot.left + CEILING_LABEL);
  const under = left && (data > y + 20 || crowded);
  s.c.fillStyle = s.token("reserved");
  s.c.beginPath();
  s.c.moveTo(x + side * 2, y);
  s.c.lineTo(x + side * 9, y - 4.5);
  s.c.lineTo(x + side * 9, y + 4.5);
  s.c.fill();
  if (!words) return;
  label(s, text, x + side * 14, under ? y + 11 : over - 10, {
    align: left ? "right" : "left",
    colour: s.token("reserved-text"),
    backed: true,
  });
}

/** A plate on the memory that was there when the recording began. */
function drawOlder(s: Surface, frame: Frame): void {
  const height = toY(frame, 0) - toY(frame, frame.olderBytes);
  if (frame.olderBytes <= 0 || height < 22 || frame.x[0] > 0) return;
  const y = (Math.max(frame.plot.top, toY(frame, frame.olderBytes)) + toY(frame, 0)) / 2;
  if (y < frame.plot.top + 10 || y > frame.plot.bottom - 6) return;
  const text = `Older than the recording  ${bytesText(frame.olderBytes)}`;
  plate(s, text, toX(frame, 0) + 8, y, { background: s.token("surface") });
}

/** Teeth along the lower edge: the axis does not start at zero. */
export function drawTornEdge(s: Surface, frame: Frame): void {
  const { plot } = frame;
  s.c.fillStyle = s.token("surface");
  s.c.beginPath();
  s.c.moveTo(plot.left, plot.bottom + 1);
  for (let x = plot.left, up = false; x <= plot.right + 7; x += 7, up = !up) {
    s.c.lineTo(x, plot.bottom - (up ? 5 : 0));
  }
  s.c.lineTo(plot.right, plot.bottom + 1);
  s.c.fill();
}
