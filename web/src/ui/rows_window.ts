// Which rows of a long table are on the screen. Browsers cannot scroll more than some 30 million
// pixels, so that a very long table scrolls by shares of its length instead of by pixels.

export interface RowsWindow {
  first: number;
  last: number;
  /** pixels above the first row */
  offset: number;
  /** height of the whole scrolled content */
  height: number;
}

const MAX_PIXELS = 8_000_000;
const SPARE_ROWS = 8;

function isScaled(count: number, rowPixels: number): boolean {
  return count * rowPixels > MAX_PIXELS;
}

/** The row at the upper edge, with the part of it that is scrolled away. */
export function firstSeen(
  count: number,
  rowPixels: number,
  scrollTop: number,
  viewPixels: number,
): number {
  const height = Math.min(count * rowPixels, MAX_PIXELS);
  const top = Math.max(0, Math.min(scrollTop, height - viewPixels));
  if (!isScaled(count, rowPixels)) return top / rowPixels;
  const shown = Math.ceil(viewPixels / rowPixels);
  return Math.floor((top / Math.max(1, height - viewPixels)) * Math.max(0, count - shown));
}

export function rowsWindow(
  count: number,
  rowPixels: number,
  scrollTop: number,
  viewPixels: number,
): RowsWindow {
  const height = Math.min(count * rowPixels, MAX_PIXELS);
  const shown = Math.ceil(viewPixels / rowPixels);
  const top = Math.max(0, Math.min(scrollTop, height - viewPixels));
  const seen = Math.floor(firstSeen(count, rowPixels, scrollTop, viewPixels));
  const first = Math.max(0, seen - SPARE_ROWS);
  const last = Math.min(count, seen + shown + SPARE_ROWS);
  const offset = isScaled(count, rowPixels) ? top - (seen - first) * rowPixels : first * rowPixels;
  return { first, last, offset: Math.max(0, offset), height };
}

/**
 * Where to scroll so that a row is seen: from `now` as little as needed, without it so that the row
 * stands in the middle.
 */
export function scrollTo(
  row: number,
  count: number,
  rowPixels: number,
  viewPixels: number,
  now?: number,
): number {
  const height = Math.min(count * rowPixels, MAX_PIXELS);
  const reach = Math.max(0, height - viewPixels);
  const shown = Math.ceil(viewPixels / rowPixels);
  const whole = Math.max(1, Math.floor(viewPixels / rowPixels));
  /** so that this row is the first */
  const pixelsOf = (first: number) =>
    isScaled(count, rowPixels)
      ? (first / Math.max(1, count - shown)) * Math.max(1, reach)
      : first * rowPixels;
  const inside = (pixels: number) => Math.max(0, Math.min(reach, pixels));
  if (now === undefined)
    return inside(pixelsOf(Math.max(0, row - Math.floor(viewPixels / rowPixels / 2))));
  const first = firstSeen(count, rowPixels, now, viewPixels);
  if (row < first) return inside(pixelsOf(row));
  if (isScaled(count, rowPixels)) {
    return row < first + whole ? now : inside(pixelsOf(row - whole + 1));
  }
  return Math.max(now, inside((row + 1) * rowPixels - viewPixels));
}
