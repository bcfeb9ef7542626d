// Pictures of the address map: quads that are read in place, and planes that say how much of each
// cell is covered, owned, and passes the filter. Layout: docs/formats/page-api.md.
import { type Kinds, kindsOf } from "./quad";

const MAGIC = 0x314d4754; // "TGM1"
const HEADER_BYTES = 80;
const WORDS = 8;

/** What the rectangles can be coloured by; the shader numbers them in this order. */
export const HUES = ["size", "stack", "category", "stream", "pool", "provenance"] as const;
export type Hue = (typeof HUES)[number];

export const MapFlag = { marked: 1, segment: 2, atOom: 4, filtered: 8 } as const;

export interface MapTile {
  columns: number;
  rows: number;
  quads: number;
  x0: number;
  x1: number;
  /** on the owned axis, bytes */
  y0: number;
  y1: number;
  axisBytes: number;
  /** in pixels of the tile: smaller rectangles are in the planes */
  leastArea: number;
  engineMs: number;
  words: Uint32Array;
  floats: Float32Array;
  /**
   * a texel per cell, lowest row first: covered, owned, passing (covered if nothing is filtered)
   */
  cells: Uint8Array<ArrayBuffer>;
}

export function decodeMap(buffer: ArrayBuffer): MapTile {
  if (buffer.byteLength < HEADER_BYTES) {
    throw new RangeError(`map: only ${buffer.byteLength} bytes`);
  }
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== MAGIC) throw new RangeError("map: unexpected format");
  const [columns, rows, quads] = [4, 8, 12].map((at) => view.getUint32(at, true)) as [
    number,
    number,
    number,
  ];
  const planes = view.getUint32(16, true);
  const cells = columns * rows;
  const wanted = HEADER_BYTES + quads * WORDS * 4 + planes * cells;
  if (planes < 2 || planes > 3 || buffer.byteLength !== wanted) {
    throw new RangeError(`map: ${buffer.byteLength} bytes instead of ${wanted}`);
  }
  const plane = (index: number) =>
    new Uint8Array(buffer, HEADER_BYTES + quads * WORDS * 4 + index * cells, cells);
  return {
    columns,
    rows,
    quads,
    x0: view.getFloat64(24, true),
    x1: view.getFloat64(32, true),
    y0: view.getFloat64(40, true),
    y1: view.getFloat64(48, true),
    axisBytes: view.getFloat64(56, true),
    leastArea: view.getFloat64(64, true),
    engineMs: view.getFloat64(72, true),
    words: new Uint32Array(buffer, HEADER_BYTES, quads * WORDS),
    floats: new Float32Array(buffer, HEADER_BYTES, quads * WORDS),
    cells: interleaved(plane(0), plane(1), plane(planes === 3 ? 2 : 0)),
  };
}

/** One upload instead of three. */
function interleaved(r: Uint8Array, g: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(r.length * 4);
  for (let cell = 0, at = 0; cell < r.length; cell += 1, at += 4) {
    out[at] = r[cell] ?? 0;
    out[at + 1] = g[cell] ?? 0;
    out[at + 2] = b[cell] ?? 0;
    out[at + 3] = 255;
  }
  return out;
}

/** One quad, unpacked: for picking and for the Canvas 2D painter. */
export interface MapQuad extends Kinds {
  column0: number;
  column1: number;
  /** bytes above the tile's y0 */
  low: number;
  high: number;
  /** of the allocation, or of the segment of an outline */
  id: number;
}

export function mapQuadAt(tile: MapTile, index: number): MapQuad {
  const at = index * WORDS;
  const word = (offset: number) => tile.words[at + offset] ?? 0;
  const real = (offset: number) => tile.floats[at + offset] ?? 0;
  return {
    column0: real(0),
    column1: real(1),
    low: real(2),
    high: real(3),
    id: word(4),
    ...kindsOf(word(5), word(6), word(7)),
  };
}

/** The allocation drawn at a column (fractions allowed) and a place on the axis, or −1. */
export function pickMapQuad(tile: MapTile, column: number, bytes: number): number {
  const place = bytes - tile.y0;
  for (let index = tile.quads - 1; index >= 0; index -= 1) {
    const at = index * WORDS;
    if ((((tile.words[at + 6] ?? 0) >>> 8) & MapFlag.segment) !== 0) continue;
    if (column < (tile.floats[at] ?? 0) || column >= (tile.floats[at + 1] ?? 0)) continue;
    if (place >= (tile.floats[at + 2] ?? 0) && place < (tile.floats[at + 3] ?? 0)) return index;
  }
  return -1;
}

/** A run of addresses that the process ever owned, and where it begins on the axis. */
export interface OwnedRange {
  address: string;
  bytes: number;
  y: number;
}

export interface Ranges {
  axis_bytes: number;
  total: number;
  rows: OwnedRange[];
}
