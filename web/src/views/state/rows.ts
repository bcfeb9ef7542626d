// The positions of the segments in the list: groups under each other, each with a head. Only those
// on the screen exist.
//
//   ┌ pool default, stream 0 ┐   34 px
//   │ segment 0              │   24 px each
//   │ segment 1              │
//   ├ pool default, stream 7 ┤
//   │ segment 2              │

export const ROW = 24;
export const GROUP_HEAD = 34;
/** Browsers cannot scroll further than some 30 million pixels. */
const MAX_PIXELS = 16_000_000;

interface GroupRows {
  /** index of the group in the answer */
  index: number;
  top: number;
  first: number;
  count: number;
  height: number;
}

/** `heads`: with a head over each group. */
export function groupRows(
  groups: readonly { first: number; count: number }[],
  heads: boolean,
): GroupRows[] {
  let top = 0;
  const out: GroupRows[] = [];
  for (const [index, { first, count }] of groups.entries()) {
    const height = (heads ? GROUP_HEAD : 0) + count * ROW;
    if (top + height > MAX_PIXELS) break;
    out.push({ index, top, first, count, height });
    top += height;
  }
  return out;
}

export function heightOf(rows: readonly GroupRows[]): number {
  const last = rows.at(-1);
  return last ? last.top + last.height : 0;
}

/** The first segment and the one after the last that are seen between two heights. */
export function seenSegments(
  rows: readonly GroupRows[],
  top: number,
  bottom: number,
  heads: boolean,
): readonly [number, number] {
  let first = Number.POSITIVE_INFINITY;
  let last = 0;
  const head = heads ? GROUP_HEAD : 0;
  for (const row of rows) {
    if (row.top + row.height <= top || row.top >= bottom) continue;
    const from = Math.max(0, Math.floor((top - row.top - head) / ROW));
    const to = Math.min(row.count, Math.ceil((bottom - row.top - head) / ROW));
    first = Math.min(first, row.first + Math.min(from, row.count));
    last = Math.max(last, row.first + Math.max(0, to));
  }
  return first > last ? [0, 0] : [first, last];
}

/** Top of a segment's row, or null if it is beyond what can be scrolled to. */
export function topOf(rows: readonly GroupRows[], index: number, heads: boolean): number | null {
  const row = rows.find((one) => index >= one.first && index < one.first + one.count);
  return row ? row.top + (heads ? GROUP_HEAD : 0) + (index - row.first) * ROW : null;
}

const PAGE = 20;
const MAX_SEGMENTS = 500;

/** What to ask for, in whole pages so that a little scrolling asks nothing. */
export function windowFor([first, last]: readonly [number, number]) {
  const offset = Math.max(0, Math.floor(first / PAGE) * PAGE - PAGE);
  const end = Math.ceil(last / PAGE) * PAGE + PAGE;
  return { offset, limit: Math.min(MAX_SEGMENTS, Math.max(PAGE * 3, end - offset)) };
}
