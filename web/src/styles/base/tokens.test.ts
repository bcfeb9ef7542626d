// The tokens keep what the design promises: readable text, marks that stand out, nine colours that
// stay apart in four kinds of colour vision, ramps that climb.
import { describe, expect, it } from "vitest";
import css from "./tokens.css?raw";

type Theme = Record<string, string>;
type Vector = readonly [number, number, number];

function themes(): Record<string, Theme> {
  const plain = css.replaceAll(/\/\*[\s\S]*?\*\//g, "");
  const found: Record<string, Theme> = {};
  for (const [, selector = "", body = ""] of plain.matchAll(/([^{}]+)\{([^{}]*)\}/g)) {
    for (const name of ["light", "dark"]) {
      if (!selector.includes(`data-theme="${name}"`)) continue;
      const pairs = [...body.matchAll(/--tg-([\w-]+):\s*(#[0-9a-f]{6})\s*;/g)];
      found[name] = Object.fromEntries(pairs.map(([, key = "", value = ""]) => [key, value]));
    }
  }
  return found;
}

function linear(hex: string): Vector {
  const channel = (at: number) => {
    const v = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function dot(a: Vector, b: Vector): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

function contrast(a: string, b: string): number {
  const [x, y] = [a, b].map((hex) => dot([0.2126, 0.7152, 0.0722], linear(hex)) + 0.05);
  return Math.max(x ?? 1, y ?? 1) / Math.min(x ?? 1, y ?? 1);
}

/** Machado, Oliveira and Fernandes 2009, full strength. */
const VISION: Record<string, readonly [Vector, Vector, Vector]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function oklab(rgb: Vector): Vector {
  const clamped = rgb.map((v) => Math.min(1, Math.max(0, v))) as unknown as Vector;
  const l = Math.cbrt(dot([0.4122214708, 0.5363325363, 0.0514459929], clamped));
  const m = Math.cbrt(dot([0.2119034982, 0.6806995451, 0.1073969566], clamped));
  const s = Math.cbrt(dot([0.0883024619, 0.2817188376, 0.6299787005], clamped));
  return [
    dot([0.2104542553, 0.793617785, -0.0040720468], [l, m, s]),
    dot([1.9779984951, -2.428592205, 0.4505937099], [l, m, s]),
    dot([0.0259040371, 0.7827717662, -0.808675766], [l, m, s]),
  ];
}

function distance(a: string, b: string, vision: string): number {
  const matrix = VISION[vision];
  if (!matrix) throw new Error(vision);
  const see = (hex: string) =>
    oklab(matrix.map((row) => dot(row, linear(hex))) as unknown as Vector);
  const [x, y] = [see(a), see(b)];
  return 100 * Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
}

const found = themes();
const CATEGORIES = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((i) => `cat-${i}`);

describe.each(["light", "dark"])("the %s theme", (name) => {
  const theme = found[name] ?? {};
  const of = (token: string) => {
    const value = theme[token];
    if (value === undefined) throw new Error(`no token ${token} in ${name}`);
    return value;
  };

  it("has readable text (AA) wherever text stands", () => {
    const texts = "ink ink-2 ink-3 accent accent-2 danger danger-2 reserved-text ok".split(" ");
    for (const text of texts) {
      for (const ground of ["bg", "surface", "surface-2", "raised", "hover"]) {
        expect(contrast(of(text), of(ground)), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
    }
    const pairs = [
      ["ink", "selected"],
      ["ink-2", "selected"],
      ["ink-3", "selected"],
      ["accent", "selected"],
      ["on-accent", "accent"],
      ["accent", "accent-weak"],
      ["ink-2", "accent-weak"],
      ["danger", "danger-weak"],
      ["reserved-text", "reserved-weak"],
      ["ink-2", "press"],
    ];
    for (const [text = "", ground = ""] of pairs) {
      expect(contrast(of(text), of(ground)), `${text} on ${ground}`).toBeGreaterThanOrEqual(4.5);
    }
  });

  it("has marks that stand out from the surface (3:1)", () => {
    for (const mark of ["line-3", "accent", "danger", "reserved", ...CATEGORIES]) {
      expect(contrast(of(mark), of("surface")), mark).toBeGreaterThanOrEqual(2.99);
    }
  });

  it.each(Object.keys(VISION))("keeps its colours apart in %s vision", (vision) => {
    const names = [...CATEGORIES, "danger", "reserved"];
    for (const [i, a] of names.entries()) {
      for (const b of names.slice(i + 1)) {
        if (a === "danger" && b === "reserved") continue; // never neighbours, and of different shapes
        expect(distance(of(a), of(b), vision), `${a} and ${b}`).toBeGreaterThanOrEqual(6.5);
      }
    }
  });

  it("has ramps that climb away from the surface", () => {
    for (const ramp of ["size", "age"]) {
      const away = [1, 2, 3, 4, 5, 6, 7].map((i) => contrast(of(`${ramp}-${i}`), of("surface")));
      expect(away).toEqual([...away].sort((a, b) => a - b));
    }
  });
});
