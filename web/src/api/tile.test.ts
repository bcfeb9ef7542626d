import { describe, expect, it } from "vitest";
import { decodeLines, decodeShape, decodeTile, NO_ID, pickQuad, quadAt } from "./tile";

interface Made {
  columns: [number, number];
  edges: [number, number];
  id?: number;
  flags?: number;
}

function tileBuffer(quads: readonly Made[], y0 = 1000): ArrayBuffer {
  const buffer = new ArrayBuffer(64 + quads.length * 32);
  const view = new DataView(buffer);
  view.setUint32(0, 0x31544754, true);
  view.setUint32(4, 512, true);
  view.setUint32(8, quads.length, true);
  view.setUint32(12, 1, true);
  view.setFloat64(16, 100, true);
  view.setFloat64(24, 612, true);
  view.setFloat64(32, y0, true);
  view.setFloat64(40, 2, true);
  view.setFloat64(48, 9999, true);
  view.setFloat64(56, 1.5, true);
  quads.forEach((quad, i) => {
    const at = 64 + i * 32;
    view.setUint16(at, quad.columns[0], true);
    view.setUint16(at + 2, quad.columns[1], true);
    view.setFloat32(at + 4, quad.edges[0], true);
    view.setFloat32(at + 8, quad.edges[1], true);
    view.setUint32(at + 12, quad.id ?? NO_ID, true);
    view.setUint32(at + 16, 7, true);
    view.setUint8(at + 20, 3);
    view.setUint8(at + 21, quad.flags ?? 0);
    view.setUint8(at + 22, 4);
    view.setUint8(at + 23, 5);
    view.setUint8(at + 24, 6);
    view.setUint8(at + 25, 255);
    view.setUint16(at + 26, 20 * 256 + 128, true);
    view.setUint32(at + 28, 4_000_000_000, true);
  });
  return buffer;
}

describe("a tile", () => {
  it("is read field by field as the contract says", () => {
    const tile = decodeTile(tileBuffer([{ columns: [3, 512], edges: [8, 16], id: 42, flags: 5 }]));
    expect(tile).toMatchObject({
      columns: 512,
      quads: 1,
      raised: true,
      x0: 100,
      x1: 612,
      y0: 1000,
    });
    expect(tile).toMatchObject({ thresholdBytes: 2, highestBytes: 9999, engineMs: 1.5 });
    expect(quadAt(tile, 0)).toEqual({
      column0: 3,
      column1: 512,
      low: 8,
      high: 16,
      id: 42,
      stack: 7,
      provenance: 3,
      flags: 5,
      stackSlot: 4,
      categorySlot: 5,
      stream: 6,
      pool: 255,
      log2Bytes: 20.5,
      firstStep: 4_000_000_000,
    });
  });
  it("is refused when it is not one, or cut", () => {
    expect(() => decodeTile(new ArrayBuffer(10))).toThrow(RangeError);
    expect(() => decodeTile(new ArrayBuffer(64))).toThrow(/unexpected format/);
    expect(() => decodeTile(tileBuffer([{ columns: [0, 1], edges: [0, 1] }]).slice(0, 80))).toThrow(
      /instead of/,
    );
  });
});

describe("picking", () => {
  const tile = decodeTile(
    tileBuffer([
      { columns: [0, 10], edges: [0, 100], id: 1 },
      { columns: [0, 5], edges: [100, 150], id: 2 },
      { columns: [5, 10], edges: [100, 120], id: 3 },
    ]),
  );
  const idAt = (column: number, bytes: number) => {
    const index = pickQuad(tile, column, bytes);
    return index < 0 ? null : quadAt(tile, index).id;
  };
  it("finds the block at a column and a height", () => {
    expect(idAt(0, 1000)).toBe(1);
    expect(idAt(9.99, 1099.9)).toBe(1);
    expect(idAt(4.99, 1100)).toBe(2);
    expect(idAt(5, 1119)).toBe(3);
  });
  it("finds nothing beside the blocks", () => {
    expect(idAt(5, 1120)).toBeNull();
    expect(idAt(10, 1000)).toBeNull();
    expect(idAt(0, 999.9)).toBeNull();
  });
});

describe("lines and shapes", () => {
  it("are columns in the order of the contract", () => {
    const buffer = new ArrayBuffer(32 + 2 * 44);
    const view = new DataView(buffer);
    view.setUint32(0, 0x314c4754, true);
    view.setUint32(4, 2, true);
    view.setFloat64(16, 5, true);
    view.setFloat64(24, 7, true);
    for (let i = 0; i < 10; i += 1) view.setFloat64(32 + i * 8, i, true);
    view.setUint32(112, 11, true);
    view.setUint32(116, 12, true);
    const lines = decodeLines(buffer);
    expect([...lines.activeMin]).toEqual([0, 1]);
    expect([...lines.activeMax]).toEqual([2, 3]);
    expect([...lines.reservedMin]).toEqual([4, 5]);
    expect([...lines.reservedMax]).toEqual([6, 7]);
    expect([...lines.requestedMax]).toEqual([8, 9]);
    expect([...lines.step]).toEqual([11, 12]);
    expect(() => decodeLines(buffer.slice(0, 100))).toThrow(RangeError);
  });
  it("have gaps where a block is not live", () => {
    const buffer = new ArrayBuffer(32 + 8);
    const view = new DataView(buffer);
    view.setUint32(0, 0x31534754, true);
    view.setUint32(4, 2, true);
    view.setFloat64(8, 4096, true);
    view.setFloat64(16, 512, true);
    view.setFloat32(32, Number.NaN, true);
    view.setFloat32(36, 64, true);
    const shape = decodeShape(buffer);
    expect(shape).toMatchObject({ columns: 2, y0: 4096, heightBytes: 512 });
    expect([...shape.lower]).toEqual([Number.NaN, 64]);
  });
});
