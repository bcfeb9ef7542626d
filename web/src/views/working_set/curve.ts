// The profile: what is touched within a window, on a logarithmic scale of windows, with the knee
// and the sizes of the machine.
import type { CurvePoint, SizeMark, WorkingSet } from "../../api/working_set";
import { bytesText } from "../../text/units";
import { visible } from "../../text/visible";
import { font, horizontal, label, plate, type Surface, staff, vertical } from "../../ui/plot";
import { windowText } from "./words";

const GUTTER = 62;
const MARGIN = 24;
const LABEL_PIXELS = 64;
const LINE_PIXELS = 14;

/** Pixels of a window: doubling it is the same way everywhere. */
export function logScale(
  curve: readonly CurvePoint[],
  left: number,
  right: number,
): (seconds: number) => number {
  const first = Math.log2(curve[0]?.window_s || 1e-3);
  const last = Math.log2(curve.at(-1)?.window_s || 1);
  return (seconds) => left + ((Math.log2(seconds) - first) / (last - first || 1)) * (right - left);
}

/** Those sizes that the picture has room for: up to twice what was touched. */
export function marksWithin(marks: readonly SizeMark[], most: number): SizeMark[] {
  return marks.filter(({ bytes }) => bytes <= most * 2);
}

/** The most of all windows; 1 of none, so that it can be divided by. */
function mostOf(curve: readonly CurvePoint[]): number {
  return curve.reduce((most, { bytes }) => Math.max(most, bytes), 1);
}

/** Upper end of the axis. */
export function highOf(of: WorkingSet): number {
  const most = mostOf(of.curve);
  return Math.max(most, ...marksWithin(of.marks, most).map(({ bytes }) => bytes)) * 1.12;
}

export function drawCurve(s: Surface, of: WorkingSet): void {
  const { c, width, height } = s;
  const [left, right, top, bottom] = [GUTTER, width - MARGIN, 12, height - 24];
  const toY = staff(s, {
    x: left,
    top,
    bottom,
    low: 0,
    high: highOf(of),
    gridTo: right,
    labelPixels: 34,
  });
  horizontal(s, left, right, bottom, s.token("axis"));
  const toX = logScale(of.curve, left + 8, right);
  let free = Number.NEGATIVE_INFINITY;
  font(s);
  for (const { window_s } of of.curve) {
    const x = toX(window_s);
    vertical(s, x, bottom, bottom + 4, s.token("axis"));
    if (x - free < LABEL_PIXELS) continue;
    label(s, windowText(window_s), Math.min(x, right - 14), bottom + 14, { align: "center" });
    free = x;
  }
  c.beginPath();
  of.curve.forEach(({ window_s, bytes }, at) => {
    if (at === 0) c.moveTo(toX(window_s), toY(bytes));
    else c.lineTo(toX(window_s), toY(bytes));
  });
  c.strokeStyle = s.token("accent");
  c.lineWidth = 1.75;
  c.lineJoin = "round";
  c.stroke();
  c.fillStyle = s.token("accent");
  for (const { window_s, bytes } of of.curve) {
    c.beginPath();
    c.arc(toX(window_s), toY(bytes), 2.5, 0, 2 * Math.PI);
    c.fill();
  }
  drawMarks(s, of, left, right, toY);
  const knee = of.knee === null ? undefined : of.curve[of.knee];
  if (!knee) return;
  const [x, y] = [toX(knee.window_s), toY(knee.bytes)];
  c.strokeStyle = s.token("outline");
  c.lineWidth = 1.5;
  c.beginPath();
  c.arc(x, y, 5, 0, 2 * Math.PI);
  c.stroke();
  const words = `Knee ${windowText(knee.window_s)} · ${bytesText(knee.bytes)}`;
  plate(s, words, x + 10, Math.min(bottom - 12, y + 18), { background: s.token("surface-2") });
}

/** Hardware's limits are dotted lines in ink; a name has its own height, or is left out. */
function drawMarks(
  s: Surface,
  of: WorkingSet,
  left: number,
  right: number,
  toY: (bytes: number) => number,
): void {
  const most = mostOf(of.curve);
  let last = Number.POSITIVE_INFINITY;
  font(s);
  for (const mark of marksWithin(of.marks, most)) {
    const y = toY(mark.bytes);
    horizontal(s, left, right, y, s.token("ink-2"), [1, 3]);
    if (last - y < LINE_PIXELS) continue;
    label(s, `${visible(mark.name)} ${bytesText(mark.bytes)}`, right - 4, y - 8, {
      align: "right",
      colour: s.token("ink-2"),
      halo: true,
    });
    last = y;
  }
}
