import { describe, expect, it } from "vitest";
import type { Quad } from "../api/tile";
import {
  AGE_RAMP,
  OLDER_SLOT,
  PALETTE_SIZE,
  SIZE_RAMP,
  sizeStepOf,
  UNKNOWN_KEY,
} from "./colour_rules";
import { type ColourBy, colourOf, mix, palette, parseHex } from "./colours";
import { isFiltering, isHidden, NO_FILTER, parseRgba } from "./painter";
import { FRAGMENT_SHADER, VERTEX_SHADER } from "./quad_shader";

const QUAD: Quad = {
  column0: 0,
  column1: 1,
  low: 0,
  high: 1,
  id: 1,
  stack: 33,
  provenance: 0,
  flags: 0,
  stackSlot: 4,
  categorySlot: 2,
  stream: 9,
  pool: 3,
  log2Bytes: 20,
  firstStep: 100,
};
const AT = { ageAt: 200, steps: 1000 };

describe("colours", () => {
  it("are parsed in every way that a style sheet may write them", () => {
    expect(parseHex("#0b6478")).toEqual([11, 100, 120]);
    expect(parseHex(" #FFF ")).toEqual([255, 255, 255]);
    expect(parseHex("nonsense")).toEqual([128, 128, 128]);
    expect(parseRgba("rgba(10, 16, 20, .46)")).toEqual([10, 16, 20, 0.46]);
    expect(parseRgba("#0a101475")[3]).toBeCloseTo(0.459, 3);
    expect(mix([0, 0, 0], [100, 200, 40], 0.25)).toEqual([75, 150, 30]);
  });
  it("fill the palette that the shader declares", () => {
    expect(palette(() => "#123456", false)).toHaveLength(PALETTE_SIZE);
    for (const source of [VERTEX_SHADER, FRAGMENT_SHADER]) {
      expect(source).toContain(`u_palette[${PALETTE_SIZE}]`);
    }
  });
  it("follow the way of colouring", () => {
    const index = (mode: ColourBy["mode"], quad = QUAD) => colourOf(quad, { ...AT, mode }).colour;
    expect(index("stack")).toBe(4);
    expect(index("category")).toBe(2);
    expect(index("stream")).toBe(2);
    expect(index("pool")).toBe(4);
    expect(index("size")).toBe(SIZE_RAMP + sizeStepOf(20));
    expect(index("age")).toBe(AGE_RAMP + 4);
    expect(index("provenance")).toBe(2);
    expect(index("provenance", { ...QUAD, provenance: 3 })).toBe(OLDER_SLOT);
    expect(index("stack", { ...QUAD, stackSlot: 200 })).toBe(OLDER_SLOT);
    expect(index("age", { ...QUAD, flags: 2 })).toBe(0);
  });
  it("climb their ramps from end to end", () => {
    expect(sizeStepOf(0)).toBe(0);
    expect(sizeStepOf(40)).toBe(6);
    const ageStep = (ageAt: number, steps: number) =>
      colourOf({ ...QUAD, firstStep: 0 }, { mode: "age", ageAt, steps }).colour - AGE_RAMP;
    expect(ageStep(-5, 1000)).toBe(0);
    expect(ageStep(1000, 1000)).toBe(6);
    expect(ageStep(0, 0)).toBe(0);
  });
});

describe("filters", () => {
  it("hide listed keys, and the rest with its own switch", () => {
    const filter = { listed: new Set([1, 2]), hidden: new Set([2]), restHidden: false };
    expect([1, 2, 3, -1].map((key) => isHidden(key, filter))).toEqual([false, true, false, false]);
    const rest = { ...filter, restHidden: true };
    expect([1, 2, 3, -1].map((key) => isHidden(key, rest))).toEqual([false, true, true, true]);
    expect(isFiltering(NO_FILTER)).toBe(false);
    expect(isFiltering(rest)).toBe(true);
  });
  it("know what the legend calls a quad", () => {
    const key = (mode: ColourBy["mode"], quad = QUAD) => colourOf(quad, { ...AT, mode }).key;
    expect(key("stack")).toBe(34);
    expect(key("stack", { ...QUAD, stackSlot: 9 })).toBe(UNKNOWN_KEY);
    expect(key("stack", { ...QUAD, flags: 2, provenance: 1 })).toBe(0);
    expect(key("pool", { ...QUAD, pool: 255 })).toBe(UNKNOWN_KEY);
    expect(key("stack", { ...QUAD, flags: 2 })).toBe(-1);
    expect(key("stream")).toBe(10);
  });
});
