// Colours of the quads, from the tokens of the theme. One list for both painters:
//
//   0 other · 1…9 slots · 10…16 size ramp · 17…23 age ramp · 24 stripe · 25 filtered away
import type { LegendBy } from "../api/contract";
import type { Quad } from "../api/tile";

export type Rgb = readonly [number, number, number];

export const PALETTE_SIZE = 26;
export const SIZE_RAMP = 10;
export const AGE_RAMP = 17;
export const STRIPE = 24;
export const FILTERED = 25;
export const RAMP_STEPS = 7;
export const OLDER_SLOT = 9;

/** The order is known to the shader. */
export const MODES: readonly LegendBy[] = [
  "stack",
  "category",
  "stream",
  "pool",
  "size",
  "age",
  "provenance",
];

export function parseHex(hex: string): Rgb {
  const short = /^#([0-9a-f])([0-9a-f])([0-9a-f])$/i.exec(hex.trim());
  const whole = short
    ? `#${short
        .slice(1)
        .map((part) => part + part)
        .join("")}`
    : hex.trim();
  const match = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(whole);
  if (!match) return [128, 128, 128];
  const channel = (i: 1 | 2 | 3) => Number.parseInt(match[i] ?? "0", 16);
  return [channel(1), channel(2), channel(3)];
}

/** `share` of a, the rest of b. */
export function mix(a: Rgb, b: Rgb, share: number): Rgb {
  const channel = (i: 0 | 1 | 2) => Math.round(a[i] * share + b[i] * (1 - share));
  return [channel(0), channel(1), channel(2)];
}

export function css(colour: Rgb): string {
  return `rgb(${colour.join(" ")})`;
}

export type Token = (name: string) => string;

export function readToken(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(`--tg-${name}`).trim();
}

/** Memory older than the recording is muted, so that it recedes behind what was traced. */
export function olderColour(token: Token, dark: boolean): Rgb {
  return mix(parseHex(token("cat-9")), parseHex(token("surface")), dark ? 0.28 : 0.5);
}

export function palette(token: Token, dark: boolean): Rgb[] {
  const surface = parseHex(token("surface"));
  const slate = parseHex(token("cat-9"));
  const other = mix(parseHex(token("ink-3")), surface, dark ? 0.7 : 0.62);
  const slots = [1, 2, 3, 4, 5, 6, 7, 8].map((slot) => parseHex(token(`cat-${slot}`)));
  const ramp = (name: string) => [1, 2, 3, 4, 5, 6, 7].map((i) => parseHex(token(`${name}-${i}`)));
  return [
    other,
    ...slots,
    olderColour(token, dark),
    ...ramp("size"),
    ...ramp("age"),
    mix(surface, slate, dark ? 0.86 : 0.72),
    parseHex(token("grid")),
  ];
}

/** Ramp step of a size: 512 B and less is the first, 4 GiB and more the last. */
export function sizeStep(log2Bytes: number): number {
  return Math.max(0, Math.min(RAMP_STEPS - 1, Math.floor(((log2Bytes - 9) / 23) * RAMP_STEPS)));
}

/** Ramp step of an age in steps, on a log scale up to the length of the recording. */
export function ageStep(age: number, steps: number): number {
  const share = Math.log2(1 + Math.max(0, age)) / Math.max(1, Math.log2(1 + steps));
  return Math.max(0, Math.min(RAMP_STEPS - 1, Math.floor(share * RAMP_STEPS)));
}

/** Slot of a stream or a pool. */
export function ordinalSlot(id: number): number {
  return 1 + (id % 8);
}

export interface ColourBy {
  mode: LegendBy;
  /** what ages count to */
  ageAt: number;
  steps: number;
}

/** Index into the palette. The vertex shader does the same; quad_shader.ts. */
export function paletteIndex(quad: Quad, by: ColourBy): number {
  const merged = (quad.flags & 2) !== 0;
  switch (by.mode) {
    case "stack":
      return Math.min(OLDER_SLOT, quad.stackSlot);
    case "category":
      return Math.min(OLDER_SLOT, quad.categorySlot);
    case "stream":
      return ordinalSlot(quad.stream);
    case "pool":
      return quad.pool === MANY ? OLDER_SLOT : ordinalSlot(quad.pool);
    case "size":
      return SIZE_RAMP + sizeStep(quad.log2Bytes);
    case "age":
      return merged ? 0 : AGE_RAMP + ageStep(by.ageAt - quad.firstStep, by.steps);
    case "provenance":
      return quad.provenance === 0 ? 2 : OLDER_SLOT;
  }
}

/** Key of what the legend calls unknown; every other key is one more than the number of its row. */
export const UNKNOWN_KEY = 0;
const MANY = 255;

/** What the legend calls the quad, as a number for filters. −1: only "other" can mean it. */
export function filterKey(quad: Quad, by: ColourBy): number {
  const merged = (quad.flags & 2) !== 0;
  switch (by.mode) {
    case "stack":
      if (merged) return quad.provenance === 0 ? -1 : UNKNOWN_KEY;
      return quad.stackSlot === OLDER_SLOT ? UNKNOWN_KEY : quad.stack + 1;
    case "category":
      return quad.categorySlot + 1;
    case "stream":
      return quad.stream + 1;
    case "pool":
      return quad.pool === MANY ? UNKNOWN_KEY : quad.pool + 1;
    case "size":
      return Math.floor(quad.log2Bytes) + 1;
    case "age":
      return merged ? -1 : ageStep(by.ageAt - quad.firstStep, by.steps) + 1;
    case "provenance":
      return quad.provenance + 1;
  }
}
