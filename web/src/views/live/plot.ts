// Device memory of each process over time, drawn by the rules of the guide: the chosen one stands
// out, the others recede; each line has its name at its end, where there is room.
import type { LiveAnswer, LiveLine, LiveProcess } from "../../api/live";
import { decimalStep, multiples } from "../../text/ticks";
import { bytesText, integer } from "../../text/units";
import { visible } from "../../text/visible";
import { font, horizontal, label, plate, type Surface, staff, vertical } from "../../ui/plot";
import { ageText } from "./words";

export const GUTTER = 62;
const MARGIN = 150;
const LABEL_PIXELS = 15;
const LONGEST_NAME = 15;

/** Steps of the time axis in seconds: what people count in. */
const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200, 86400];

export function timeStep(spanSeconds: number, pixels: number, labelPixels: number): number {
  const wanted = (spanSeconds / Math.max(1, pixels)) * labelPixels;
  return STEPS.find((step) => step >= wanted) ?? decimalStep(spanSeconds, pixels, labelPixels);
}

/** "30 s", "9 min", "3 h", "2 d". */
export function stepText(seconds: number): string {
  for (const [size, unit] of [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
  ] as const) {
    if (seconds % size === 0) return `${integer(seconds / size)} ${unit}`;
  }
  return `${integer(seconds)} s`;
}

/** Which part of a line lies at a pixel; null: none. */
export function partAt(x: number, width: number, parts: number): number | null {
  const pixels = width - GUTTER - MARGIN;
  const at = Math.floor(((x - GUTTER) / Math.max(1, pixels)) * parts);
  return at >= 0 && at < parts ? at : null;
}

export function nameOf(of: LiveProcess): string {
  const name = visible(of.name);
  const short = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
  return `${short} ${of.pid}`;
}

export function lastOf(line: LiveLine): number | null {
  const at = line.findLastIndex((bytes) => bytes !== null);
  return at < 0 ? null : at;
}

interface Wanted {
  data: LiveAnswer;
  chosen: number | null;
  /** of a line, under the pointer */
  part: number | null;
}

export function drawLive(s: Surface, { data, chosen, part }: Wanted): void {
  const { c, width, height } = s;
  const [left, right, top, bottom] = [GUTTER, width - MARGIN, 12, height - 24];
  const rows = data.processes.filter(({ line }) => line !== null);
  const high = Math.max(1, ...rows.flatMap(({ line }) => (line ?? []).map((bytes) => bytes ?? 0)));
  const toY = staff(s, {
    x: left,
    top,
    bottom,
    low: 0,
    high: high * 1.08,
    gridTo: right,
    labelPixels: 34,
  });
  horizontal(s, left, right, bottom, s.token("axis"));
  drawTimes(s, data, left, right, bottom);
  // the chosen one lies above the others
  const order = [...rows].sort((a, b) => rank(a) - rank(b));
  function rank(row: LiveProcess): number {
    return row.process === chosen ? 1 : 0;
  }
  const parts = rows[0]?.line?.length ?? 0;
  const toX = (at: number) => left + (at / Math.max(1, parts)) * (right - left);
  for (const row of order) {
    const strong = chosen === null || row.process === chosen;
    const line = row.line ?? [];
    if (row.process === chosen || rows.length === 1) {
      trace(s, line, toX, toY, bottom);
      c.fillStyle = s.token("accent-weak");
      c.fill();
    }
    trace(s, line, toX, toY, null);
    c.strokeStyle = strong ? s.token("accent") : s.token("ink-3");
    c.lineWidth = row.process === chosen ? 1.75 : 1.25;
    c.lineJoin = "round";
    c.stroke();
  }
  nameLines(s, order.toReversed(), chosen, toX, toY);
  if (part !== null && parts > 0) drawCursor(s, { data, chosen, part }, rows, toX, toY, bottom);
}

/** Steps, not slopes; gaps where the process was not there. `floor`: closed down to there. */
function trace(
  s: Surface,
  line: LiveLine,
  toX: (at: number) => number,
  toY: (bytes: number) => number,
  floor: number | null,
): void {
  const { c } = s;
  c.beginPath();
  let open = false;
  line.forEach((bytes, at) => {
    if (bytes === null) {
      if (open && floor !== null) c.lineTo(toX(at), floor);
      open = false;
      return;
    }
    if (!open) c.moveTo(toX(at), floor ?? toY(bytes));
    c.lineTo(toX(at), toY(bytes));
    c.lineTo(toX(at + 1), toY(bytes));
    open = true;
  });
  if (open && floor !== null) c.lineTo(toX(line.length), floor);
}

function nameLines(
  s: Surface,
  rows: readonly LiveProcess[],
  chosen: number | null,
  toX: (at: number) => number,
  toY: (bytes: number) => number,
): void {
  const taken: { x: number; y: number }[] = [];
  for (const row of rows) {
    const line = row.line ?? [];
    const last = lastOf(line);
    if (last === null) continue;
    // not on the axis
    const [x, y] = [toX(last + 1) + 6, Math.min(toY(line[last] ?? 0), toY(0) - 9)];
    if (taken.some((one) => Math.abs(one.y - y) < LABEL_PIXELS && Math.abs(one.x - x) < 140))
      continue;
    taken.push({ x, y });
    const strong = row.process === chosen;
    font(s, 11, strong ? 500 : 400);
    // Another process's line may run through it, and would read as a hyphen.
    const colour = s.token(strong ? "ink" : "ink-2");
    label(s, nameOf(row), x, y, { colour, halo: true, backed: true });
  }
}

function drawTimes(
  s: Surface,
  data: LiveAnswer,
  left: number,
  right: number,
  bottom: number,
): void {
  const span = (data.to_us - data.from_us) / 1e6;
  const live = data.state === "recording" || data.state === "monitor";
  const step = timeStep(span, right - left, 90);
  font(s);
  for (const back of multiples(0, span, step, 100)) {
    const x = right - (back / span) * (right - left);
    const first = (data.to_us - data.first_us) / 1e6 - back;
    vertical(s, x, bottom, bottom + 4, s.token("axis"));
    const now = live ? "now" : "end";
    const text = back === 0 ? now : `−${stepText(back)}`;
    const half = s.c.measureText(text).width / 2;
    if (first < -1 || x - half < left - 20) continue;
    label(s, text, x, bottom + 14, { align: "center" });
  }
}

function drawCursor(
  s: Surface,
  { data, chosen, part }: Wanted,
  rows: readonly LiveProcess[],
  toX: (at: number) => number,
  toY: (bytes: number) => number,
  bottom: number,
): void {
  if (part === null) return;
  const x = toX(part + 0.5);
  vertical(s, x, 4, bottom, s.token("ink-3"));
  const parts = rows[0]?.line?.length ?? 1;
  const back = ((parts - part - 0.5) / parts) * (data.to_us - data.from_us);
  const at = (row: LiveProcess) => row.line?.[part] ?? null;
  const known = rows.filter((row) => at(row) !== null);
  for (const row of known) {
    s.c.beginPath();
    s.c.arc(x, toY(at(row) ?? 0), 2.5, 0, 2 * Math.PI);
    s.c.fillStyle = s.token(chosen === null || row.process === chosen ? "accent" : "ink-3");
    s.c.fill();
  }
  const shown = known.filter((row) => chosen === null || row.process === chosen).slice(0, 3);
  const words = shown.map((row) => `${nameOf(row)} ${bytesText(at(row) ?? 0)}`);
  plate(s, [`−${ageText(back)}`, ...words].join(" · "), x, 12, { align: "center" });
}

/** The same in words, for screen readers. */
export function plotText(data: LiveAnswer): string {
  const rows = data.processes.filter(({ line }) => line !== null);
  const words = rows.map((row) => `${nameOf(row)} ${bytesText(row.live_bytes)}`);
  return `Live device memory over the last ${ageText(data.to_us - data.from_us)}: ${words.join(", ") || "no process holds memory"}`;
}
