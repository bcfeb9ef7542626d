// Drawing on a Canvas 2D by the rules of the guide: staffs, plates, labels, hatches.

import type { Unit } from "../api/contract";
import { readToken } from "../gl/colours";
import { byteTicks, multiples } from "../text/ticks";
import { UNIT_BYTES, unitFor } from "../text/units";

const MAX_RATIO = 2;

export function pixelRatio(): number {
  return Math.min(MAX_RATIO, window.devicePixelRatio || 1);
}

/** Tokens of the theme, read once per theme. */
export class Tokens {
  private readonly known = new Map<string, string>();
  readonly get = (name: string): string => {
    let value = this.known.get(name);
    if (value === undefined) {
      value = readToken(name);
      this.known.set(name, value);
    }
    return value;
  };
}

type Context = CanvasRenderingContext2D;

export interface Surface {
  c: Context;
  width: number;
  height: number;
  token: (name: string) => string;
}

/** Sizes the canvas to its box and clears it. Null while it is not laid out. */
export function surface(canvas: HTMLCanvasElement, tokens: Tokens): Surface | null {
  const ratio = pixelRatio();
  const [width, height] = [canvas.clientWidth, canvas.clientHeight];
  const c = canvas.getContext("2d");
  if (!c || width === 0 || height === 0) return null;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.clearRect(0, 0, width, height);
  c.textBaseline = "middle";
  return { c, width, height, token: tokens.get };
}

export function font(s: Surface, pixels = 11, weight = 400): void {
  s.c.font = `${weight} ${pixels}px ${s.token("font-ui")}`;
}

interface LabelLook {
  align?: CanvasTextAlign;
  colour?: string;
  /** an outline in the colour of the surface, for words near a line */
  halo?: boolean;
  /** a veil of the surface, for words on data */
  backed?: boolean;
}

export function label(s: Surface, text: string, x: number, y: number, look: LabelLook = {}): void {
  const { c } = s;
  c.textAlign = look.align ?? "left";
  if (look.backed) {
    const width = c.measureText(text).width;
    const left = look.align === "right" ? x - width : look.align === "center" ? x - width / 2 : x;
    c.globalAlpha = 0.82;
    c.fillStyle = s.token("surface");
    c.fillRect(left - 3, y - 8, width + 6, 16);
    c.globalAlpha = 1;
  }
  if (look.halo) {
    c.lineJoin = "round";
    c.lineWidth = 3;
    c.strokeStyle = s.token("surface");
    c.strokeText(text, x, y);
  }
  c.fillStyle = look.colour ?? s.token("ink-3");
  c.fillText(text, x, y);
}

/** Two lines on a veil of the surface, right-aligned, for words that must stand on data. */
export function backedLines(
  s: Surface,
  lines: readonly [string, string],
  right: number,
  y: number,
  colours: readonly [string, string],
): number {
  font(s, 11, 500);
  const first = s.c.measureText(lines[0]).width;
  font(s);
  const width = Math.max(first, s.c.measureText(lines[1]).width);
  s.c.globalAlpha = 0.82;
  s.c.fillStyle = s.token("surface");
  s.c.beginPath();
  s.c.roundRect(right - width - 6, y - 10, width + 12, 35, 3);
  s.c.fill();
  s.c.globalAlpha = 1;
  label(s, lines[1], right, y + 15, { align: "right", colour: colours[1] });
  font(s, 11, 500);
  label(s, lines[0], right, y, { align: "right", colour: colours[0] });
  return width;
}

interface PlateLook {
  align?: "left" | "right" | "center";
  background?: string;
  colour?: string;
}

/** A label on a small plate, readable on any data. Returns its left and right edge. */
export function plate(s: Surface, text: string, x: number, y: number, look: PlateLook = {}) {
  const { c } = s;
  font(s, 11, 500);
  const width = c.measureText(text).width + 10;
  const shift = look.align === "right" ? width : look.align === "center" ? width / 2 : 0;
  const left = Math.min(Math.max(0, x - shift), Math.max(0, s.width - width - 1));
  c.fillStyle = look.background ?? s.token("raised");
  c.beginPath();
  c.roundRect(left, y - 8.5, width, 17, 3);
  c.fill();
  c.textAlign = "left";
  c.fillStyle = look.colour ?? s.token("ink");
  c.fillText(text, left + 5, y + 0.5);
  return [left, left + width] as const;
}

export function horizontal(
  s: Surface,
  x0: number,
  x1: number,
  y: number,
  colour: string,
  dash: number[] = [],
  width = 1,
): void {
  stroke(s, [x0, Math.round(y) + 0.5, x1, Math.round(y) + 0.5], colour, dash, width);
}

export function vertical(
  s: Surface,
  x: number,
  y0: number,
  y1: number,
  colour: string,
  dash: number[] = [],
  width = 1,
): void {
  stroke(s, [Math.round(x) + 0.5, y0, Math.round(x) + 0.5, y1], colour, dash, width);
}

/** Where events of a recording are missing. */
export function gapLine(s: Surface, x: number, top: number, bottom: number): void {
  vertical(s, x, top, bottom, s.token("ink-2"), [2, 3]);
}

function stroke(
  s: Surface,
  [x0, y0, x1, y1]: [number, number, number, number],
  colour: string,
  dash: number[],
  width: number,
): void {
  const { c } = s;
  c.strokeStyle = colour;
  c.lineWidth = width;
  c.setLineDash(dash);
  c.beginPath();
  c.moveTo(x0, y0);
  c.lineTo(x1, y1);
  c.stroke();
  c.setLineDash([]);
}

const hatches = new Map<string, HTMLCanvasElement>();

/** Stripes at 45°: not live, or not known. Fixed to the screen, so that they do not swim. */
export function hatch(c: Context, colour: string, gap = 5): CanvasPattern | string {
  const ratio = pixelRatio();
  const key = `${colour} ${gap} ${ratio}`;
  let cell = hatches.get(key);
  if (!cell) {
    const side = Math.round(gap * 2 * ratio);
    cell = document.createElement("canvas");
    cell.width = side;
    cell.height = side;
    const d = cell.getContext("2d");
    if (!d) return colour;
    d.strokeStyle = colour;
    d.lineWidth = 1.1 * ratio;
    for (let shift = -side; shift <= side * 2; shift += side / 2) {
      d.beginPath();
      d.moveTo(shift, side + 0.5);
      d.lineTo(shift + side, -0.5);
      d.stroke();
    }
    hatches.set(key, cell);
  }
  const pattern = c.createPattern(cell, "repeat");
  pattern?.setTransform(new DOMMatrix().scale(1 / ratio));
  return pattern ?? colour;
}

interface Staff {
  /** the axis line */
  x: number;
  top: number;
  bottom: number;
  low: number;
  high: number;
  /** right end of the grid lines; absent: none */
  gridTo?: number;
  /** least distance between two labels */
  labelPixels?: number;
}

/** All labels of an axis share a unit: that of its upper end, if marks are not too small for it. */
export function axisUnit(high: number, major: number): Unit {
  const unit = unitFor(high);
  return major >= UNIT_BYTES[unit] / 8 ? unit : unitFor(major);
}

/** "0", "0.5 GiB", "24 GiB". */
export function axisLabel(bytes: number, unit: Unit, major: number): string {
  if (bytes === 0) return "0";
  const share = major / UNIT_BYTES[unit];
  const digits = share >= 1 ? 0 : Math.min(3, Math.ceil(-Math.log2(share)));
  const value = (bytes / UNIT_BYTES[unit]).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return `${value} ${unit}`;
}

/** The memory axis of every plot: long and short marks outside the line, labels at long ones. */
export function staff(s: Surface, of: Staff): (bytes: number) => number {
  const { c } = s;
  const span = Math.max(1, of.high - of.low);
  const pixels = of.bottom - of.top;
  const toPixel = (bytes: number) => of.bottom - ((bytes - of.low) / span) * pixels;
  const { major, minor } = byteTicks(span, pixels, of.labelPixels);
  const unit = axisUnit(of.high, major);
  const marks = multiples(of.low, of.high, minor, 400);
  const isLong = (bytes: number) => Math.abs(bytes / major - Math.round(bytes / major)) < 1e-6;
  if (of.gridTo !== undefined) {
    for (const bytes of marks.filter(isLong)) {
      horizontal(s, of.x, of.gridTo, toPixel(bytes), s.token("grid"));
    }
  }
  c.strokeStyle = s.token("axis");
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(of.x - 0.5, of.top);
  c.lineTo(of.x - 0.5, of.bottom);
  for (const bytes of marks) {
    const y = Math.round(toPixel(bytes)) + 0.5;
    c.moveTo(of.x - (isLong(bytes) ? 7 : 4), y);
    c.lineTo(of.x - 0.5, y);
  }
  c.stroke();
  font(s);
  for (const bytes of marks.filter(isLong)) {
    label(s, axisLabel(bytes, unit, major), of.x - 11, Math.round(toPixel(bytes)) + 0.5, {
      align: "right",
    });
  }
  return toPixel;
}
