// The three pictures of the Fragmentation view, drawn by the rules of the guide.
import type { DeviceInfo } from "../../api/contract";
import type { Arena, Forecast, Frag, FragAt } from "../../api/frag";
import { decimalStep, multiples } from "../../text/ticks";
import { bytesText, integer } from "../../text/units";
import { font, hatch, horizontal, label, type Surface, staff, vertical } from "../../ui/plot";
import { bestOf, MIN_POWER, scoresOf } from "./model";

export const GUTTER = 62;
const ROOM = 1.06;
/** right of both plots over time, for the names of the bands: a step stands in one column */
export const MARGIN = 76;

export interface Steps {
  of: DeviceInfo;
  cursor: number;
}

/** The pixel of a step, and the step at a pixel, on a plot of that width. */
export function stepScale(events: number, width: number) {
  const pixels = Math.max(1, width - GUTTER - MARGIN);
  const span = Math.max(1, events) * ROOM;
  return {
    toX: (step: number) => GUTTER + ((step + 0.5) / span) * pixels,
    toStep: (x: number) =>
      Math.max(0, Math.min(Math.max(1, events) - 1, Math.floor(((x - GUTTER) / pixels) * span))),
    right: GUTTER + pixels,
  };
}

function path(s: Surface, xs: readonly number[], ys: readonly number[]): void {
  s.c.beginPath();
  xs.forEach((x, i) => {
    if (i === 0) s.c.moveTo(x, ys[i] ?? 0);
    else s.c.lineTo(x, ys[i] ?? 0);
  });
}

function line(
  s: Surface,
  xs: readonly number[],
  ys: readonly number[],
  colour: string,
  width: number,
  dash: number[] = [],
): void {
  path(s, xs, ys);
  s.c.strokeStyle = colour;
  s.c.lineWidth = width;
  s.c.lineJoin = "round";
  s.c.setLineDash(dash);
  s.c.stroke();
  s.c.setLineDash([]);
}

function area(
  s: Surface,
  xs: readonly number[],
  ys: readonly number[],
  bottom: number,
  fill: string | CanvasPattern,
): void {
  path(s, xs, ys);
  s.c.lineTo(xs.at(-1) ?? 0, bottom);
  s.c.lineTo(xs[0] ?? 0, bottom);
  s.c.closePath();
  s.c.fillStyle = fill;
  s.c.fill();
}

function stepMarks(s: Surface, events: number, toX: (step: number) => number, bottom: number) {
  font(s);
  label(s, "step", GUTTER - 11, bottom + 13, { align: "right" });
  for (const step of multiples(0, events, decimalStep(events, s.width - GUTTER, 86))) {
    const x = toX(step - 0.5);
    vertical(s, x, bottom, bottom + 4, s.token("axis"));
    label(s, integer(step), x, bottom + 13, { align: step === 0 ? "left" : "center" });
  }
}

function moments(s: Surface, { of, cursor }: Steps, toX: (step: number) => number, bottom: number) {
  for (const oom of of.ooms) {
    vertical(s, toX(oom.step), 4, bottom, s.token("danger"), [], 1.5);
  }
  if (of.ooms.some((oom) => oom.step === cursor)) return;
  vertical(s, toX(cursor), 4, bottom, s.token("ink"), [2, 2]);
}

export function drawUnused(s: Surface, data: Frag, at: Steps): void {
  const { columns } = data;
  const [top, bottom] = [10, s.height - 22];
  const { toX, right } = stepScale(at.of.events, s.width);
  const high = Math.max(1, ...columns.free_bytes) * 1.05;
  const toY = staff(s, { x: GUTTER, top, bottom, low: 0, high, gridTo: right, labelPixels: 34 });
  const xs = columns.step.map(toX);
  const free = columns.free_bytes.map(toY);
  const pinned = columns.pinned_bytes.map(toY);
  area(s, xs, free, bottom, hatch(s.c, s.token("hatch")));
  area(s, xs, pinned, bottom, s.token("surface"));
  area(s, xs, pinned, bottom, s.token("reserved-weak"));
  line(s, xs, free, s.token("ink-2"), 1.25);
  line(s, xs, pinned, s.token("reserved"), 1.75);
  line(s, xs, columns.largest_hole_bytes.map(toY), s.token("accent"), 1.5);
  line(s, xs, columns.stranded_bytes.map(toY), s.token("ink-3"), 1.25, [3, 2]);
  horizontal(s, GUTTER, right, bottom, s.token("axis"));
  moments(s, at, toX, bottom);
  stepMarks(s, at.of.events, toX, bottom);
}

const BANDS = [
  [40, "light"],
  [60, "moderate"],
  [80, "severe"],
] as const;

/**
 * Where it was made a dot, the predicted scores as a line, as far off as it used to be as a band.
 */
function drawForecast(
  s: Surface,
  forecast: Forecast,
  toX: (step: number) => number,
  toY: (score: number) => number,
): void {
  const best = bestOf(forecast);
  if (!best || forecast.now === null) return;
  const start = toX(forecast.from_step);
  // within the recording it lies at its steps; after the end it is widened to be visible
  const wide = Math.max(1, 24 / Math.max(0.01, toX(forecast.steps.at(-1) ?? 0) - start));
  const stretch = forecast.came[0] === null ? wide : 1;
  const places = [start, ...forecast.steps.map((step) => start + (toX(step) - start) * stretch)];
  const middle = [forecast.now, ...best.predicted];
  const off = [0, ...best.errors.map((error) => error ?? 0)];
  const edge = (sign: number) =>
    middle.map((score, k) => toY(Math.max(0, Math.min(100, score + sign * (off[k] ?? 0)))));
  path(s, [...places, ...places.toReversed()], [...edge(1), ...edge(-1).toReversed()]);
  s.c.closePath();
  s.c.fillStyle = s.token("accent-weak");
  s.c.fill();
  line(s, places, middle.map(toY), s.token("accent"), 1.5, [3, 2]);
  s.c.beginPath();
  s.c.arc(start, toY(forecast.now), 2.5, 0, Math.PI * 2);
  s.c.fillStyle = s.token("accent");
  s.c.fill();
}

interface Scored extends Steps {
  arena: Arena;
  forecast: Forecast | null;
}

export function drawScore(s: Surface, { columns }: Frag, at: Scored): void {
  const { arena, forecast } = at;
  const [top, bottom] = [8, s.height - 22];
  const { toX, right } = stepScale(at.of.events, s.width);
  const toY = (score: number) => bottom - (score / 100) * (bottom - top);
  font(s);
  for (const [score, name] of BANDS) {
    horizontal(s, GUTTER, right, toY(score), s.token("line"), [3, 3]);
    label(s, name, right + 8, toY(score));
  }
  for (const score of [0, 40, 60, 80, 100]) {
    label(s, String(score), GUTTER - 11, toY(score), { align: "right" });
  }
  vertical(s, GUTTER - 1, top, bottom, s.token("axis"));
  horizontal(s, GUTTER, right, bottom, s.token("axis"));
  const xs = columns.step.map(toX);
  const other = scoresOf(columns, arena === "reserved" ? "address" : "reserved");
  const shown = scoresOf(columns, arena);
  line(s, xs, other.map(toY), s.token("line-3"), 1, [3, 2]);
  line(s, xs, shown.map(toY), s.token("ink-2"), 1.5);
  if (forecast) drawForecast(s, forecast, toX, toY);
  moments(s, at, toX, bottom);
  stepMarks(s, at.of.events, toX, bottom);
}

interface Curve {
  data: FragAt;
  request: number;
  stranded: number;
  power: number;
  oom: number | null;
}

const SIZES = [9, 13, 16, 20, 24, 27, 30, 33, 36, 40] as const;

export function drawStranded(s: Surface, of: Curve): void {
  const [top, bottom, left, right] = [12, s.height - 22, GUTTER, s.width - 16];
  const free = of.data.now.free_bytes;
  const toX = (bytes: number) =>
    left +
    ((Math.log2(Math.max(512, bytes)) - MIN_POWER) / (of.power - MIN_POWER)) * (right - left);
  const high = Math.max(1, free) * 1.15;
  const toY = staff(s, { x: left, top, bottom, low: 0, high, gridTo: right, labelPixels: 34 });
  const curve = of.data.stranded;
  if (curve.length > 0) {
    const xs = [...curve.map((point) => toX(point.request_bytes)), right];
    const ys = [...curve.map((point) => toY(point.stranded_bytes)), toY(free)];
    // one byte more than all that is free: none of it serves
    xs.splice(-1, 0, toX(free));
    ys.splice(-1, 0, toY(free));
    area(s, xs, ys, bottom, s.token("reserved-weak"));
    line(s, xs, ys, s.token("reserved"), 1.75);
  }
  horizontal(s, left, right, bottom, s.token("axis"));
  font(s);
  const sizes = SIZES.filter((power) => power <= of.power);
  let free_from = Number.NEGATIVE_INFINITY;
  for (const power of sizes) {
    const x = toX(2 ** power);
    vertical(s, x, bottom, bottom + 4, s.token("axis"));
    const text = bytesText(2 ** power).replace(/\.0+(?= )/, "");
    const wide = s.c.measureText(text).width;
    const start = power === MIN_POWER ? x : Math.min(x - wide / 2, right - wide);
    if (start < free_from) continue;
    label(s, text, start, bottom + 13);
    free_from = start + wide + 10;
  }
  const largest = of.data.now.largest_hole_bytes;
  if (largest > 0) {
    vertical(s, toX(largest), top, bottom, s.token("ink-3"), [1, 3]);
    const text = `largest hole ${bytesText(largest)}`;
    const before = toX(largest) + s.c.measureText(text).width + 12 > right;
    label(s, text, toX(largest) + (before ? -6 : 6), top + 4, {
      align: before ? "right" : "left",
      colour: s.token("ink-2"),
      halo: true,
    });
  }
  if (of.oom !== null) {
    vertical(s, toX(of.oom), top, bottom, s.token("danger"), [], 1.5);
    font(s, 11, 500);
    label(s, "OOM request", toX(of.oom) - 6, bottom - 12, {
      align: "right",
      colour: s.token("danger"),
      backed: true,
    });
  }
  const x = toX(of.request);
  vertical(s, x, top, bottom, s.token("accent"), [], 1.5);
  s.c.fillStyle = s.token("surface");
  s.c.strokeStyle = s.token("accent");
  s.c.lineWidth = 2;
  s.c.beginPath();
  s.c.arc(x, toY(of.stranded), 4.5, 0, Math.PI * 2);
  s.c.fill();
  s.c.stroke();
}
