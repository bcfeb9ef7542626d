import { describe, expect, it } from "vitest";
import {
  coarsestLevel,
  levelFor,
  middleOut,
  parentsOf,
  rowLevelFor,
  rowSpan,
  rowsIn,
  tileSpan,
  tilesIn,
} from "./tile_address";

describe("levels", () => {
  it("make columns at least a pixel wide and less than two", () => {
    for (const perPixel of [1, 1.5, 2, 3.3, 100, 65_536, 1e6]) {
      const pixels = 2 ** levelFor(perPixel) / perPixel;
      expect(pixels).toBeGreaterThanOrEqual(1);
      expect(pixels).toBeLessThan(2);
    }
  });
  it("stop at one step per column", () => {
    expect(levelFor(0.01)).toBe(0);
    expect(levelFor(0)).toBe(0);
  });
  it("make pixel rows of half a pixel or more, and less than one", () => {
    for (const perPixel of [2, 3, 5e7, 2 ** 20]) {
      const pixels = 2 ** rowLevelFor(perPixel) / perPixel;
      expect(pixels).toBeLessThan(1);
      expect(pixels).toBeGreaterThanOrEqual(0.5);
    }
  });
  it("end where one tile covers everything", () => {
    for (const end of [1, 512, 513, 3274, 1e7]) {
      expect(tileSpan(coarsestLevel(end))).toBeGreaterThanOrEqual(end);
    }
    expect(coarsestLevel(512)).toBe(0);
    expect(coarsestLevel(513)).toBe(1);
  });
});

describe("tiles of a view", () => {
  it("cover it and stay inside the recording", () => {
    expect(tilesIn(0, 3394, tileSpan(2), 3274)).toEqual([0, 1]);
    expect(tilesIn(2050, 2100, tileSpan(0), 3274)).toEqual([4]);
    expect(tilesIn(-50, 10, tileSpan(0), 3274)).toEqual([0]);
    expect(tilesIn(3300, 3394, tileSpan(0), 3274)).toEqual([6]);
    expect(tilesIn(4000, 4100, tileSpan(0), 3274)).toEqual([]);
  });
  it("are bounded in number", () => {
    expect(tilesIn(0, 1e12, tileSpan(0), 1e12)).toHaveLength(64);
  });
  it("lie in one row where a low picture would be cut in two", () => {
    const span = rowSpan(3);
    expect(rowsIn(0, span, 3)).toEqual([0]);
    expect(rowsIn(0.8 * span, 1.3 * span, 3)).toEqual([0.5]);
    expect(rowsIn(7.9 * span, 8.1 * span, 3)).toEqual([7.5]);
    expect(rowsIn(0.2 * span, 1.1 * span, 3)).toEqual([0, 1]);
    expect(rowsIn(0.9 * span, 2.1 * span, 3)).toEqual([0.5, 1.5]);
    expect(rowsIn(0.9 * span, 1.9 * span, 3)).toEqual([0, 1]);
  });
  it("are asked from the middle out", () => {
    expect(middleOut([4, 5, 6, 7, 8])).toEqual([6, 5, 7, 4, 8]);
    expect(middleOut([])).toEqual([]);
  });
  it("have parents that contain them", () => {
    const parents = parentsOf(0, 13, 3);
    expect(parents).toEqual([
      { level: 1, index: 6 },
      { level: 2, index: 3 },
      { level: 3, index: 1 },
    ]);
    for (const { level, index } of parents) {
      expect(index * tileSpan(level)).toBeLessThanOrEqual(13 * tileSpan(0));
      expect((index + 1) * tileSpan(level)).toBeGreaterThanOrEqual(14 * tileSpan(0));
    }
  });
  it("fit a usual screen into one row from zero", () => {
    const [span, pixels] = [40 * 2 ** 30, 700];
    const rows = tilesIn(0, span, rowSpan(rowLevelFor(span / pixels)), Number.MAX_SAFE_INTEGER);
    expect(rows).toEqual([0]);
  });
});
