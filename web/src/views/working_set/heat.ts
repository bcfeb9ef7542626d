// Address by time: which memory was touched when. Addresses upwards, holes left out.
import type { HeatPicture } from "../../api/working_set";
import { decimalStep } from "../../text/ticks";
import { visible } from "../../text/visible";
import { font, horizontal, label, type Surface, vertical } from "../../ui/plot";
import { windowText } from "./words";

/** Shades of what was touched: the ramp has one more, which is untouched. */
export const STEPS = 6;
const LINE_PIXELS = 14;
const MARGIN = 24;

/** Which shade: 0 untouched, 1 … STEPS; -1: no memory there. */
export function shadeOf(percent: number): number {
  if (percent < 0) return -1;
  if (percent === 0) return 0;
  return Math.min(STEPS, Math.max(1, Math.ceil((percent / 100) * STEPS)));
}

/** Rows that follow each other and are of one name. */
export function runsOf(names: readonly string[]): { name: string; begin: number; end: number }[] {
  const runs: { name: string; begin: number; end: number }[] = [];
  names.forEach((name, row) => {
    const last = runs.at(-1);
    if (last?.name === name) last.end = row + 1;
    else runs.push({ name, begin: row, end: row + 1 });
  });
  return runs;
}

function gutterOf(width: number): number {
  return width < 700 ? 120 : 180;
}

/** Where columns begin and end, from 0 to 1: each is as wide as its time, which differs. */
export function edgesOf(ends_s: readonly number[]): number[] {
  const all = ends_s.at(-1) ?? 0;
  if (all <= 0)
    return Array.from({ length: ends_s.length + 1 }, (_, at) => at / Math.max(1, ends_s.length));
  return [0, ...ends_s.map((end) => end / all)];
}

export function drawHeat(s: Surface, of: HeatPicture): void {
  const { c, width, height } = s;
  const [left, right, top, bottom] = [gutterOf(width), width - MARGIN, 8, height - 24];
  const rows = of.rows.length;
  const columns = of.ends_s.length;
  const edges = edgesOf(of.ends_s);
  const toX = (column: number) => left + (edges[column] ?? 1) * (right - left);
  const toY = (row: number) => bottom - (row / rows) * (bottom - top);
  for (let row = 0; row < rows; row += 1) {
    // whole pixels, so that no seams show
    const [upper, lower] = [Math.round(toY(row + 1)), Math.round(toY(row))];
    const cells = of.percent[row] ?? [];
    for (let x = 0; x < columns; ) {
      const shade = shadeOf(cells[x] ?? -1);
      let end = x + 1;
      while (end < columns && shadeOf(cells[end] ?? -1) === shade) end += 1;
      if (shade >= 0) {
        c.fillStyle = s.token(`heat-${shade + 1}`);
        const from = Math.round(toX(x));
        c.fillRect(from, upper, Math.max(1, Math.round(toX(end)) - from), lower - upper);
      }
      x = end;
    }
  }
  drawNames(s, of, left, toY);
  drawTimes(s, of, left, right, bottom);
}

function drawNames(s: Surface, of: HeatPicture, left: number, toY: (row: number) => number): void {
  let last = Number.POSITIVE_INFINITY;
  font(s);
  for (const { name, begin, end } of runsOf(of.rows.map((row) => row.name))) {
    const middle = (toY(begin) + toY(end)) / 2;
    horizontal(s, left - 6, left, toY(end), s.token("axis"));
    if (last - middle < LINE_PIXELS) continue;
    label(s, cut(s, visible(name), left - 26), left - 10, middle, { align: "right" });
    last = middle;
  }
}

function cut(s: Surface, text: string, pixels: number): string {
  let shown = text;
  while (shown.length > 4 && s.c.measureText(shown).width > pixels)
    shown = `${shown.slice(0, -2).trimEnd()}…`;
  return shown;
}

function drawTimes(s: Surface, of: HeatPicture, left: number, right: number, bottom: number): void {
  const end = of.ends_s.at(-1) ?? 0;
  if (end <= 0) return;
  horizontal(s, left, right, bottom, s.token("axis"));
  const step = decimalStep(end, right - left, 80, 0.001);
  for (let i = 0; i * step <= end && i < 200; i += 1) {
    const x = left + ((i * step) / end) * (right - left);
    vertical(s, x, bottom, bottom + 4, s.token("axis"));
    label(s, i === 0 ? "0" : windowText(i * step), Math.min(x, right - 10), bottom + 14, {
      align: "center",
    });
  }
}
