// Which rows of a long table stand on the screen. Browsers cannot scroll more than some 30 million
// pixels, so that a very long table scrolls by shares of its length instead of by pixels.

export interface RowsWindow {
  first: number;
  last: number;
  /** pixels above the first row */
  offset: number;
  /** height of the whole scrolled content */
  height: number;
}

const MOST_PIXELS = 8_000_000;
const SPARE_ROWS = 8;

export function rowsWindow(
  count: number,
  rowPixels: number,
  scrollTop: number,
  viewPixels: number,
): RowsWindow {
  const natural = count * rowPixels;
  const height = Math.min(natural, MOST_PIXELS);
  const shown = Math.ceil(viewPixels / rowPixels);
  const reach = Math.max(1, height - viewPixels);
  const top = Math.max(0, Math.min(scrollTop, height - viewPixels));
  const firstSeen =
    natural <= MOST_PIXELS
      ? Math.floor(top / rowPixels)
      : Math.floor((top / reach) * Math.max(0, count - shown));
  const first = Math.max(0, firstSeen - SPARE_ROWS);
  const last = Math.min(count, firstSeen + shown + SPARE_ROWS);
  const offset = natural <= MOST_PIXELS ? first * rowPixels : top - (firstSeen - first) * rowPixels;
  return { first, last, offset: Math.max(0, offset), height };
}

/** Where to scroll so that a row stands in the middle: the inverse of the above. */
export function scrollTo(
  row: number,
  count: number,
  rowPixels: number,
  viewPixels: number,
): number {
  const natural = count * rowPixels;
  const height = Math.min(natural, MOST_PIXELS);
  const reach = Math.max(0, height - viewPixels);
  const first = Math.max(0, row - Math.floor(viewPixels / rowPixels / 2));
  if (natural <= MOST_PIXELS) return Math.min(reach, first * rowPixels);
  const shown = Math.ceil(viewPixels / rowPixels);
  return Math.min(reach, (first / Math.max(1, count - shown)) * reach);
}
