import { describe, expect, it } from "vitest";
import { columnsPerPicture, FRAME_QUADS, fitting, quadsPerTile } from "./quad_budget";
import { levelFor, TILE_COLUMNS, tileSpan, tilesIn } from "./tile_address";

describe("the quads of a frame", () => {
  it("are shared by the tiles in it", () => {
    expect(quadsPerTile(0)).toBe(8000);
    expect(quadsPerTile(6)).toBe(8000);
    expect(quadsPerTile(7)).toBe(4000);
    expect(quadsPerTile(24)).toBe(2000);
    expect(quadsPerTile(48)).toBe(1000);
  });
  it("never come to more than a frame may have, whatever stands in it", () => {
    for (let pictures = 1; pictures <= 16; pictures += 1) {
      for (const [low, span] of [
        [0, 1e6],
        [333, 7777],
        [100_001, 3e5],
      ] as const) {
        // the widest screen, of one column a pixel
        const level = levelFor(span / Math.min(5120, columnsPerPicture(pictures)));
        const tiles = pictures * tilesIn(low, low + span, tileSpan(level), 1e9).length;
        const least = 2 * TILE_COLUMNS;
        expect(tiles * Math.max(least, quadsPerTile(tiles))).toBeLessThanOrEqual(FRAME_QUADS);
      }
    }
  });
  it("leave out stand-ins that do not fit", () => {
    expect([...fitting([40_000, 20_000, 9000], 50_000, (quads) => quads)]).toEqual([40_000, 9000]);
    expect(fitting([1], 0, () => 1).size).toBe(0);
  });
});
