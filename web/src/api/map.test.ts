import { describe, expect, it } from "vitest";
import { decodeMap, mapQuadAt, pickMapQuad } from "./map";

/** Two by two cells, an outline and a block. */
function answer(planes = 3): ArrayBuffer {
  const buffer = new ArrayBuffer(80 + 64 + planes * 4);
  const view = new DataView(buffer);
  const head = [0x314d4754, 2, 2, 2, planes, 0];
  for (const [i, value] of head.entries()) view.setUint32(i * 4, value, true);
  const reals = [10, 14, 4096, 8192, 65536, 1.5, 2.25];
  for (const [i, value] of reals.entries()) view.setFloat64(24 + i * 8, value, true);
  const quad = (at: number, edges: number[], id: number, kinds: number) => {
    for (const [i, value] of edges.entries()) view.setFloat32(at + i * 4, value, true);
    view.setUint32(at + 16, id, true);
    view.setUint32(at + 20, 33, true);
    view.setUint32(at + 24, kinds, true);
    view.setUint32(at + 28, 5 | (6 << 8) | ((20 * 256) << 16), true);
  };
  quad(80, [0, 2, 0, 4096], 3, 2 << 8);
  quad(112, [0.25, 1.5, 0, 1024], 7, 1 | (5 << 8) | (4 << 16) | (2 << 24));
  new Uint8Array(buffer, 144).set([1, 2, 3, 4, 255, 255, 0, 9, 0, 1, 2, 3].slice(0, planes * 4));
  return buffer;
}

describe("a tile of the map", () => {
  it("is read in place", () => {
    const tile = decodeMap(answer());
    expect([tile.columns, tile.rows, tile.quads]).toEqual([2, 2, 2]);
    expect([tile.x0, tile.x1, tile.y0, tile.y1]).toEqual([10, 14, 4096, 8192]);
    expect([tile.axisBytes, tile.leastArea, tile.engineMs]).toEqual([65536, 1.5, 2.25]);
    expect([...tile.cells.slice(0, 8)]).toEqual([1, 255, 0, 255, 2, 255, 1, 255]);
    expect(mapQuadAt(tile, 1)).toEqual({
      column0: 0.25,
      column1: 1.5,
      low: 0,
      high: 1024,
      id: 7,
      stack: 33,
      provenance: 1,
      flags: 5,
      stackSlot: 4,
      categorySlot: 2,
      stream: 5,
      pool: 6,
      log2Bytes: 20,
    });
  });
  it("has what passes be what is covered when nothing is filtered", () => {
    const tile = decodeMap(answer(2));
    expect([...tile.cells.slice(12)]).toEqual([4, 9, 4, 255]);
  });
  it("is picked by fractions of columns, and outlines are seen through", () => {
    const tile = decodeMap(answer());
    expect(pickMapQuad(tile, 0.3, 4096)).toBe(1);
    expect(pickMapQuad(tile, 0.2, 4096)).toBe(-1);
    expect(pickMapQuad(tile, 0.3, 5120)).toBe(-1);
  });
  it("is refused when it is something else or cut off", () => {
    expect(() => decodeMap(new ArrayBuffer(12))).toThrow("only 12 bytes");
    expect(() => decodeMap(answer().slice(0, 150))).toThrow("150 bytes instead of 156");
    const other = answer();
    new DataView(other).setUint32(0, 1, true);
    expect(() => decodeMap(other)).toThrow("unexpected format");
  });
});
