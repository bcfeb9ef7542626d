// Below the blocks: grid, staff, and the hatch of what is reserved but not live.
import { hatch, type Surface, staff } from "../../../ui/plot";
import type { Sample } from "../tiles/line_sampler";
import { type Frame, toX, toY } from "../window/frame";

export function drawBack(s: Surface, frame: Frame, labelPixels?: number): void {
  const { plot } = frame;
  staff(s, {
    x: plot.left,
    top: plot.top,
    bottom: plot.bottom,
    low: frame.y[0],
    high: frame.y[1],
    gridTo: plot.right,
    ...(labelPixels === undefined ? {} : { labelPixels }),
  });
  s.c.save();
  clip(s, frame);
  s.c.beginPath();
  areaUnderReserved(s, frame);
  s.c.fillStyle = hatch(s.c, s.token("hatch"));
  s.c.fill();
  s.c.restore();
}

export function clip(s: Surface, { plot }: Frame): void {
  s.c.beginPath();
  s.c.rect(plot.left, plot.top - 2, plot.right - plot.left, plot.bottom - plot.top + 2);
  s.c.clip();
}

/** One closed shape per run of columns without a gap. */
function areaUnderReserved(s: Surface, frame: Frame): void {
  let previous: Sample | null = null;
  const floor = frame.plot.bottom;
  for (const one of frame.samples) {
    if (Number.isNaN(one.reservedMax)) continue;
    const [left, right, y] = [toX(frame, one.x0), toX(frame, one.x1), toY(frame, one.reservedMax)];
    if (previous === null) {
      s.c.moveTo(left, floor);
    } else if (one.x0 > previous.x1) {
      s.c.lineTo(toX(frame, previous.x1), floor);
      s.c.lineTo(left, floor);
    }
    s.c.lineTo(left, y);
    s.c.lineTo(right, y);
    previous = one;
  }
  if (previous) s.c.lineTo(toX(frame, previous.x1), floor);
  s.c.closePath();
}

/** A step line through columns: up and down within a column, then on to the next. */
export function traceLine(
  s: Surface,
  frame: Frame,
  low: (one: Sample) => number,
  high: (one: Sample) => number,
): void {
  let level = Number.NaN;
  let end = Number.NaN;
  for (const one of frame.samples) {
    const [bottom, top] = [low(one), high(one)];
    if (Number.isNaN(top)) continue;
    const [left, right] = [toX(frame, one.x0), toX(frame, one.x1)];
    // the end that lies nearer to where the line comes from is visited first
    const [first, last] =
      Math.abs(bottom - level) <= Math.abs(top - level) ? [bottom, top] : [top, bottom];
    if (Number.isNaN(level) || one.x0 > end) s.c.moveTo(left, toY(frame, first));
    else s.c.lineTo(left, toY(frame, first));
    if (first !== last) {
      const middle = (left + right) / 2;
      s.c.lineTo(middle, toY(frame, first));
      s.c.lineTo(middle, toY(frame, last));
    }
    s.c.lineTo(right, toY(frame, last));
    level = last;
    end = one.x1;
  }
}

const WIDE_COLUMN = 3;

/**
 * The allocated line: the upper edge of the blocks. Where columns are narrow only their tops are
 * drawn, because a line that goes up and down in every pixel would hide the blocks under it.
 */
export function traceTop(s: Surface, frame: Frame): void {
  let end = Number.NaN;
  for (const one of frame.samples) {
    if (Number.isNaN(one.activeMax)) continue;
    const [left, right] = [toX(frame, one.x0), toX(frame, one.x1)];
    const y = toY(frame, one.activeMax);
    if (right - left >= WIDE_COLUMN && one.x0 === end) s.c.lineTo(left, y);
    else s.c.moveTo(left, y);
    s.c.lineTo(right, y);
    end = one.x1;
  }
}
