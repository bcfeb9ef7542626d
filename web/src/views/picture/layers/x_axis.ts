// The lower axis: steps or seconds.

import { decimalStep, multiples, timeTickLabel } from "../../../text/ticks";
import { integer } from "../../../text/units";
import { font, horizontal, label, type Surface, vertical } from "../../../ui/plot";
import { toX, type XFrame } from "../window/frame";

const LABEL_PIXELS = 86;

/** `taken`: pixels where something else stands; no label there. */
export function drawAxis(s: Surface, frame: XFrame, taken?: readonly [number, number]): void {
  const { plot, x, domain } = frame;
  horizontal(s, plot.left, plot.right, plot.bottom, s.token("axis"));
  const step = decimalStep(x[1] - x[0], plot.right - plot.left, LABEL_PIXELS);
  font(s);
  for (const position of multiples(Math.max(0, x[0]), Math.min(domain.end, x[1]), step)) {
    const pixel = toX(frame, position);
    if (pixel < plot.left - 0.5) continue;
    vertical(s, pixel, plot.bottom, plot.bottom + 4, s.token("axis"));
    const text = domain.axis === "time" ? timeTickLabel(position, step) : integer(position);
    const half = s.c.measureText(text).width / 2;
    if (taken && pixel + half > taken[0] - 6 && pixel - half < taken[1] + 6) continue;
    if (pixel - half < plot.left + 2 || pixel + half > plot.right - 2) continue;
    label(s, text, pixel, plot.bottom + 13, { align: "center" });
  }
  label(s, domain.axis, plot.left - 11, plot.bottom + 13, { align: "right" });
}
