// Binary pictures of the server, read in place: no object per quad. Layouts:
// docs/formats/page-api.md.
import { type Kinds, kindsOf } from "./quad";

const TILE_MAGIC = 0x31544754; // "TGT1"
const LINES_MAGIC = 0x314c4754; // "TGL1"
const SHAPE_MAGIC = 0x31534754; // "TGS1"
const TILE_HEADER_BYTES = 64;
const LINES_HEADER_BYTES = 32;
export const QUAD_BYTES = 32;
export const NO_ID = 0xffffffff;

export const QuadFlag = { marked: 1, merged: 2, pending: 4, filtered: 8 } as const;

/** One rectangle of the stacked timeline: words, floats, halves and bytes over the same buffer. */
export interface Tile {
  columns: number;
  quads: number;
  raised: boolean;
  x0: number;
  x1: number;
  /** what the edges of the quads count from, bytes */
  y0: number;
  thresholdBytes: number;
  highestBytes: number;
  engineMs: number;
  words: Uint32Array;
  floats: Float32Array;
}

/** Allocated, reserved and requested bytes of each column; NaN where nothing was recorded. */
export interface Lines {
  columns: number;
  x0: number;
  x1: number;
  activeMin: Float64Array;
  activeMax: Float64Array;
  reservedMin: Float64Array;
  reservedMax: Float64Array;
  requestedMax: Float64Array;
  step: Uint32Array;
}

/** Where one allocation lies: lower edge per column, NaN where it is not live. */
export interface Shape {
  columns: number;
  y0: number;
  heightBytes: number;
  lower: Float32Array;
}

function header(buffer: ArrayBuffer, bytes: number, magic: number, what: string): DataView {
  if (buffer.byteLength < bytes) throw new RangeError(`${what}: only ${buffer.byteLength} bytes`);
  const view = new DataView(buffer);
  if (view.getUint32(0, true) !== magic) throw new RangeError(`${what}: unexpected format`);
  return view;
}

function expect(buffer: ArrayBuffer, bytes: number, what: string): void {
  if (buffer.byteLength !== bytes) {
    throw new RangeError(`${what}: ${buffer.byteLength} bytes instead of ${bytes}`);
  }
}

export function decodeTile(buffer: ArrayBuffer): Tile {
  const view = header(buffer, TILE_HEADER_BYTES, TILE_MAGIC, "tile");
  const quads = view.getUint32(8, true);
  expect(buffer, TILE_HEADER_BYTES + quads * QUAD_BYTES, "tile");
  return {
    columns: view.getUint32(4, true),
    quads,
    raised: (view.getUint32(12, true) & 1) !== 0,
    x0: view.getFloat64(16, true),
    x1: view.getFloat64(24, true),
    y0: view.getFloat64(32, true),
    thresholdBytes: view.getFloat64(40, true),
    highestBytes: view.getFloat64(48, true),
    engineMs: view.getFloat64(56, true),
    words: new Uint32Array(buffer, TILE_HEADER_BYTES, quads * 8),
    floats: new Float32Array(buffer, TILE_HEADER_BYTES, quads * 8),
  };
}

export function decodeLines(buffer: ArrayBuffer): Lines {
  const view = header(buffer, LINES_HEADER_BYTES, LINES_MAGIC, "lines");
  const columns = view.getUint32(4, true);
  expect(buffer, LINES_HEADER_BYTES + columns * 44, "lines");
  const column = (index: number) =>
    new Float64Array(buffer, LINES_HEADER_BYTES + index * columns * 8, columns);
  return {
    columns,
    x0: view.getFloat64(16, true),
    x1: view.getFloat64(24, true),
    activeMin: column(0),
    activeMax: column(1),
    reservedMin: column(2),
    reservedMax: column(3),
    requestedMax: column(4),
    step: new Uint32Array(buffer, LINES_HEADER_BYTES + columns * 40, columns),
  };
}

export function decodeShape(buffer: ArrayBuffer): Shape {
  const view = header(buffer, LINES_HEADER_BYTES, SHAPE_MAGIC, "shape");
  const columns = view.getUint32(4, true);
  expect(buffer, LINES_HEADER_BYTES + columns * 4, "shape");
  return {
    columns,
    y0: view.getFloat64(8, true),
    heightBytes: view.getFloat64(16, true),
    lower: new Float32Array(buffer, LINES_HEADER_BYTES, columns),
  };
}

/** One quad, unpacked: for picking and for the Canvas 2D painter. */
export interface Quad extends Kinds {
  column0: number;
  column1: number;
  low: number;
  high: number;
  id: number;
  /** merged: how many blocks */
  firstStep: number;
}

export function quadAt(tile: Tile, index: number): Quad {
  const at = index * 8;
  const word = (offset: number) => tile.words[at + offset] ?? 0;
  const columns = word(0);
  return {
    column0: columns & 0xffff,
    column1: columns >>> 16,
    low: tile.floats[at + 1] ?? 0,
    high: tile.floats[at + 2] ?? 0,
    id: word(3),
    ...kindsOf(word(4), word(5), word(6)),
    firstStep: word(7),
  };
}

/** The quad at a column (fractions allowed) and a height in bytes, or −1. */
export function pickQuad(tile: Tile, column: number, bytes: number): number {
  const [whole, height] = [Math.floor(column), bytes - tile.y0];
  for (let index = 0, at = 0; index < tile.quads; index += 1, at += 8) {
    const columns = tile.words[at] ?? 0;
    if (whole < (columns & 0xffff) || whole >= columns >>> 16) continue;
    if (height >= (tile.floats[at + 1] ?? 0) && height < (tile.floats[at + 2] ?? 0)) return index;
  }
  return -1;
}
