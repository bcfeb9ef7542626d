import { describe, expect, it } from "vitest";
import { boxOf, columnSpan, covers, mapAddresses, rowSpan, touches } from "./addresses";

const GIB = 2 ** 30;

describe("the tiles of the map", () => {
  it("cover the view with columns and rows of a pixel or more", () => {
    const view = { x: [1000, 9000] as const, y: [0, 40 * GIB] as const, width: 1100, height: 700 };
    const list = mapAddresses(view, 10_000_000, 40 * GIB);
    expect(list.length).toBeGreaterThan(0);
    const first = list[0];
    expect(2 ** (first?.level ?? 0)).toBeGreaterThanOrEqual(8000 / 1100);
    expect(2 ** (first?.rowLevel ?? 0)).toBeGreaterThanOrEqual((40 * GIB) / 700);
    const left = Math.min(...list.map((one) => boxOf(one).x[0]));
    const right = Math.max(...list.map((one) => boxOf(one).x[1]));
    expect(left).toBeLessThanOrEqual(1000);
    expect(right).toBeGreaterThanOrEqual(9000);
  });
  it("are six at most, whatever the screen and wherever the view begins", () => {
    for (const width of [600, 1272, 2544, 5000]) {
      for (const from of [0, 511, 513, 70_001, 999_999]) {
        const view = {
          x: [from, from + 90_000] as const,
          y: [from * 4096, from * 4096 + 7 * GIB] as const,
          width,
          height: width * 0.7,
        };
        expect(mapAddresses(view, 10_000_000, 400 * GIB).length).toBeLessThanOrEqual(6);
      }
    }
  });
  it("ask for nothing where nothing is", () => {
    const view = { x: [0, 8] as const, y: [0, 4096] as const, width: 1000, height: 600 };
    const list = mapAddresses(view, 8, 4096);
    for (const one of list) expect(boxOf(one).y[0]).toBeLessThan(4096);
  });
  it("know what they touch", () => {
    const box = boxOf({ level: 1, index: 1, rowLevel: 2, row: 0 });
    expect(box).toEqual({ x: [columnSpan(1), 2 * columnSpan(1)], y: [0, rowSpan(2)] });
    const parent = boxOf({ level: 2, index: 0, rowLevel: 3, row: 0 });
    expect(covers(parent, box)).toBe(true);
    expect(covers(box, parent)).toBe(false);
    expect(touches(box, boxOf({ level: 1, index: 2, rowLevel: 2, row: 0 }))).toBe(false);
  });
});
