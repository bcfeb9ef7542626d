// The chosen setting over the recording: what it would have reserved, beside what was reserved,
// above what is in blocks.
import type { Replayed } from "../../api/what_if";
import { decimalStep, multiples } from "../../text/ticks";
import { bytesText, integer } from "../../text/units";
import {
  font,
  hatch,
  horizontal,
  label,
  plate,
  type Surface,
  staff,
  vertical,
} from "../../ui/plot";

const GUTTER = 62;
const MARGIN = 24;
const LABEL_PIXELS = 100;
const MAX_FAILURES = 200;

interface Chart {
  own: Replayed;
  chosen: Replayed;
  steps: number;
  capacity: number | null;
}

function step(
  s: Surface,
  line: readonly number[],
  toX: (at: number) => number,
  toY: (b: number) => number,
) {
  line.forEach((bytes, at) => {
    if (at === 0) s.c.moveTo(toX(0), toY(bytes));
    s.c.lineTo(toX(at), toY(bytes));
    s.c.lineTo(toX(at + 1), toY(bytes));
  });
}

function area(
  s: Surface,
  line: readonly number[],
  toX: (at: number) => number,
  toY: (b: number) => number,
) {
  s.c.beginPath();
  step(s, line, toX, toY);
  s.c.lineTo(toX(line.length), toY(0));
  s.c.lineTo(toX(0), toY(0));
  s.c.closePath();
  s.c.fill();
}

export function drawWhatIf(s: Surface, { own, chosen, steps, capacity }: Chart): void {
  const [left, right, top, bottom] = [GUTTER, s.width - MARGIN, 14, s.height - 24];
  const peak = Math.max(1, own.peak_reserved_bytes, chosen.peak_reserved_bytes);
  const shown = capacity !== null && capacity <= peak * 2 ? capacity : null;
  const high = Math.max(peak, shown ?? 0) * 1.08;
  const toY = staff(s, { x: left, top, bottom, low: 0, high, gridTo: right, labelPixels: 34 });
  const columns = Math.max(1, chosen.reserved_line.length);
  const toX = (at: number) => left + (at / columns) * (right - left);
  s.c.fillStyle = hatch(s.c, s.token("hatch"));
  area(s, chosen.reserved_line, toX, toY);
  s.c.fillStyle = s.token("surface");
  area(s, chosen.active_line, toX, toY);
  s.c.fillStyle = s.token("accent-weak");
  area(s, chosen.active_line, toX, toY);
  for (const [line, colour, width] of [
    [chosen.active_line, "accent", 1.25],
    [own.reserved_line, "reserved", 1.25],
    [chosen.reserved_line, "ink", 1.75],
  ] as const) {
    if (colour === "reserved" && own === chosen) continue;
    s.c.beginPath();
    step(s, line, toX, toY);
    s.c.strokeStyle = s.token(colour);
    s.c.lineWidth = width;
    s.c.lineJoin = "round";
    s.c.stroke();
  }
  horizontal(s, left, right, bottom, s.token("axis"));
  font(s);
  for (const at of multiples(0, steps, decimalStep(steps, right - left, LABEL_PIXELS))) {
    const x = left + (at / Math.max(1, steps)) * (right - left);
    vertical(s, x, bottom, bottom + 4, s.token("axis"));
    const text = at === 0 ? "step 0" : integer(at);
    if (x + s.c.measureText(text).width / 2 > right) continue;
    label(s, text, x, bottom + 13, { align: at === 0 ? "left" : "center" });
  }
  if (shown !== null) {
    horizontal(s, left, right, toY(shown), s.token("ink-3"), [1, 3]);
    label(s, `ceiling ${bytesText(shown)}`, left + 8, toY(shown) + 10, {
      colour: s.token("ink-2"),
      halo: true,
    });
  }
  const first = chosen.failures[0];
  if (!first) return;
  const at = (step: number) => left + (step / Math.max(1, steps)) * (right - left);
  for (const { step: failed } of chosen.failures.slice(0, MAX_FAILURES)) {
    vertical(s, at(failed), top, bottom, s.token("danger"), [], 1.5);
  }
  plate(s, chosen.ooms === 1 ? "OOM" : `${integer(chosen.ooms)} OOM`, at(first.step), top + 2, {
    align: "center",
    background: s.token("danger"),
    colour: s.token("surface"),
  });
}
