import { describe, expect, it } from "vitest";
import { FRAME_QUADS, quadsPerTile, withinFrame } from "./quad_budget";

describe("the quads of a frame", () => {
  it("are shared by the tiles in it", () => {
    expect(quadsPerTile(0)).toBe(8000);
    expect(quadsPerTile(6)).toBe(8000);
    expect(quadsPerTile(7)).toBe(4000);
    expect(quadsPerTile(24)).toBe(2000);
    expect(quadsPerTile(90)).toBe(500);
  });
  it("never come to more than a frame may have", () => {
    for (let tiles = 1; tiles <= 400; tiles += 1) {
      expect(tiles * quadsPerTile(tiles)).toBeLessThanOrEqual(FRAME_QUADS);
    }
  });
  it("leave out what does not fit, and keep what does", () => {
    expect(withinFrame([40_000, 20_000, 9000], (quads) => quads)).toEqual([40_000, 9000]);
    expect(withinFrame([], () => 1)).toEqual([]);
  });
});
