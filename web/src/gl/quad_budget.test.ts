import { describe, expect, it } from "vitest";
import { columnsPerPicture, FRAME_QUADS, fitting, quadsPerTile } from "./quad_budget";
import {
  levelFor,
  rowLevelFor,
  rowSpan,
  rowsIn,
  TILE_COLUMNS,
  tileSpan,
  tilesIn,
} from "./tile_address";

describe("the quads of a frame", () => {
  it("are shared by the tiles in it", () => {
    expect(quadsPerTile(0)).toBe(8000);
    expect(quadsPerTile(6)).toBe(8000);
    expect(quadsPerTile(7)).toBe(4000);
    expect(quadsPerTile(24)).toBe(2000);
    expect(quadsPerTile(48)).toBe(1000);
  });
  it("never come to more than a frame may have, whatever stands in it and is cut in two", () => {
    for (let pictures = 1; pictures <= 16; pictures += 1) {
      // 4,320 pixels of height for all, zoomed in bytes so that most rows of tiles are touched
      const pixels = Math.floor(4320 / pictures);
      const rowLevel = rowLevelFor(2 ** 20);
      const rows = [8, 8.01, 8.25, 8.49, 8.5, 8.51, 8.75, 8.99].reduce((most, row) => {
        const from = row * rowSpan(rowLevel);
        return Math.max(most, rowsIn(from, from + pixels * 2 ** 20, rowLevel).length);
      }, 1);
      expect(rows).toBe(pixels > 2160 ? 3 : pixels > 1024 ? 2 : 1);
      const strips = pictures * rows;
      for (const [low, span] of [
        [0, 1e6],
        [333, 7777],
        [100_001, 3e5],
      ] as const) {
        // the widest screen, of one column a pixel
        const level = levelFor(span / Math.min(5120, columnsPerPicture(strips)));
        const tiles = strips * tilesIn(low, low + span, tileSpan(level), 1e9).length;
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
