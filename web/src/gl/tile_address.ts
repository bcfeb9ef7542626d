// Which tiles a view needs. The axis is cut into tiles of 512 columns; a column of level L is 2^L
// steps (or µs) wide, so that a tile of level L + 1 covers two of level L:
//
//   level 2   |               0               |               1               |
//   level 1   |       0       |       1       |       2       |       3       |
//
// Heights are cut likewise: rows of 4096 pixel rows, a pixel row being 2^k bytes.
// A column is never narrower than a device pixel: then no peak can fall between two pixels. A pixel
// row is half a device pixel or a little more: blocks lower than two of them come merged, so that
// every block of two pixels and most of one pixel are drawn as themselves. A row may begin in the
// middle of another, so that a low picture is never cut in two.

export const TILE_COLUMNS = 512;
export const TILE_ROWS = 4096;

export function levelFor(unitsPerPixel: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(unitsPerPixel, 1e-9)) - 1e-9));
}

export function rowLevelFor(bytesPerPixel: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(bytesPerPixel, 1)) - 1e-9) - 1);
}

export function tileSpan(level: number): number {
  return TILE_COLUMNS * 2 ** level;
}

export function rowSpan(rowLevel: number): number {
  return TILE_ROWS * 2 ** rowLevel;
}

/** Indices of the tiles that [low, high) touches, where the axis is [0, end). */
export function tilesIn(low: number, high: number, span: number, end: number): number[] {
  const first = Math.max(0, Math.floor(low / span));
  const last = Math.min(Math.ceil(end / span), Math.ceil(high / span)) - 1;
  const out: number[] = [];
  for (let index = first; index <= last && out.length < 64; index += 1) out.push(index);
  return out;
}

/**
 * Rows of tiles that [low, high) touches. Half a row higher there may be fewer of them: what is
 * seen of at most half a row's height always lies in one.
 */
export function rowsIn(low: number, high: number, rowLevel: number): number[] {
  const span = rowSpan(rowLevel);
  const rows = (from: number) => tilesIn(low - from, high - from, span, Number.MAX_SAFE_INTEGER);
  const whole = rows(0);
  if (whole.length === 1 || low < span / 2) return whole;
  const between = rows(span / 2);
  return between.length < whole.length ? between.map((row) => row + 0.5) : whole;
}

/** Those in the middle of the view first. */
export function middleOut(indices: readonly number[]): number[] {
  const middle = ((indices[0] ?? 0) + (indices.at(-1) ?? 0)) / 2;
  return [...indices].sort((a, b) => Math.abs(a - middle) - Math.abs(b - middle));
}

interface Parent {
  level: number;
  index: number;
}

/** The tiles of coarser levels that cover this one, nearest first. */
export function parentsOf(level: number, index: number, coarsest: number): Parent[] {
  const out: Parent[] = [];
  for (let up = level + 1; up <= coarsest; up += 1) {
    out.push({ level: up, index: Math.floor(index / 2 ** (up - level)) });
  }
  return out;
}

/** The level whose first tile covers the whole axis. */
export function coarsestLevel(end: number): number {
  return Math.max(0, Math.ceil(Math.log2(Math.max(1, end) / TILE_COLUMNS)));
}
