// Allocated and reserved bytes of the visible range, put together from the tiles that are there:
// the level that is wanted, or a coarser one until it arrives.
import type { Lines } from "../../../api/tile";

/** One column of lines on the screen: positions on the axis and the range of bytes in it. */
export interface Sample {
  x0: number;
  x1: number;
  activeMin: number;
  activeMax: number;
  reservedMin: number;
  reservedMax: number;
  step: number;
}

export interface LineTile {
  lines: Lines;
  /** position of column 0, and width of a column */
  x0: number;
  column: number;
  /** the part of the axis that this tile covers */
  from: number;
  to: number;
}

/** All columns that touch [low, high), left to right; columns without a recording are left out. */
export function samples(tiles: readonly LineTile[], low: number, high: number): Sample[] {
  const out: Sample[] = [];
  for (const { lines, x0, column, from, to } of tiles) {
    const first = Math.max(0, Math.floor((Math.max(low, from) - x0) / column));
    const last = Math.min(lines.columns, Math.ceil((Math.min(high, to) - x0) / column));
    for (let i = first; i < last; i += 1) {
      const activeMax = lines.activeMax[i] ?? Number.NaN;
      const reservedMax = lines.reservedMax[i] ?? Number.NaN;
      if (Number.isNaN(activeMax) && Number.isNaN(reservedMax)) continue;
      out.push({
        x0: Math.max(from, x0 + i * column),
        x1: Math.min(to, x0 + (i + 1) * column),
        activeMin: lines.activeMin[i] ?? activeMax,
        activeMax,
        reservedMin: lines.reservedMin[i] ?? reservedMax,
        reservedMax,
        step: lines.step[i] ?? 0,
      });
    }
  }
  return out;
}

export function sampleAt(list: readonly Sample[], x: number): Sample | null {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.x1 ?? 0) <= x) low = middle + 1;
    else high = middle;
  }
  const found = list[low];
  return found !== undefined && x >= found.x0 ? found : null;
}

/** The highest reserved or active level that a range of the axis reaches. */
export function highestWithin(list: readonly Sample[], low: number, high: number): number {
  return highest(list.filter((one) => one.x1 > low && one.x0 < high));
}

export function highest(list: readonly Sample[]): number {
  let most = 0;
  for (const one of list) most = Math.max(most, one.activeMax, one.reservedMax);
  return most;
}
