// Colours of the quads, from the tokens of the theme. One list for both painters:
//
//   0 other · 1…9 slots · 10…16 size ramp · 17…23 age ramp · 24 stripe · 25 filtered away
import type { LegendBy } from "../api/contract";
import { type Quad, QuadFlag } from "../api/tile";
import { ageShare, QuadColour } from "./colour_rules";

export type Rgb = readonly [number, number, number];

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

/** Memory older than the recording is muted, so that traced memory stands out. */
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

export interface ColourBy {
  mode: LegendBy;
  /** what ages count to */
  ageAt: number;
  steps: number;
}

const quadColour = new QuadColour();

/** The colour and the key of a quad, until the next call: the answer is always the same object. */
export function colourOf(quad: Quad, by: ColourBy): QuadColour {
  const merged = (quad.flags & QuadFlag.merged) !== 0;
  const age = ageShare(by.ageAt - quad.firstStep, by.steps);
  return quadColour.set(by.mode, quad, merged, age);
}
