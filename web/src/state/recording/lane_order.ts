// How lanes are sorted and compared: pure functions of what is known of each.
import type { LaneReference, LaneSort } from "../link/page_state";

interface LaneFacts {
  /** most bytes that were ever reserved, or live where nothing was reserved */
  peakBytes: number;
  /** live at the cursor; null: not known, or nothing was recorded there */
  cursorBytes: number | null;
}

/** Two recordings are compared with the first, more of them with the middle one. */
export function referenceFor(wanted: LaneReference | null, lanes: number): LaneReference {
  return wanted ?? (lanes > 2 ? "median" : "first");
}

export function median(values: readonly number[]): number | null {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const high = sorted[sorted.length >> 1] ?? 0;
  if (sorted.length % 2 === 1) return high;
  return ((sorted[(sorted.length >> 1) - 1] ?? 0) + high) / 2;
}

/**
 * What every lane's live bytes at the cursor are compared with. `lanes`: in the order of the files.
 */
export function referenceBytes(lanes: readonly LaneFacts[], of: LaneReference): number | null {
  if (of === "first") return lanes[0]?.cursorBytes ?? null;
  return median(lanes.flatMap(({ cursorBytes }) => (cursorBytes === null ? [] : [cursorBytes])));
}

/** Indices of the lanes as they are shown: largest first, equals in the order of the files. */
export function laneOrder(
  lanes: readonly LaneFacts[],
  by: LaneSort,
  reference: number | null,
): number[] {
  const order = lanes.map((_, index) => index);
  if (by === "file") return order;
  const weight = ({ peakBytes, cursorBytes }: LaneFacts): number => {
    if (by === "peak") return peakBytes;
    if (cursorBytes === null) return -1;
    return by === "cursor" ? cursorBytes : Math.abs(cursorBytes - (reference ?? cursorBytes));
  };
  const weights = lanes.map(weight);
  return order.sort((a, b) => (weights[b] ?? 0) - (weights[a] ?? 0) || a - b);
}

export interface LaneLayout {
  /** height of a lane and of all of them, CSS pixels */
  height: number;
  total: number;
  /** those that are in sight */
  first: number;
  last: number;
}

const MIN_LANE = 78;
/** More of them in sight than that would have to share too few quads. */
const MAX_IN_SIGHT = 12;

/** Lanes share the height; when they would be too low to be read, they scroll. */
export function laneLayout(count: number, viewHeight: number, scrollTop: number): LaneLayout {
  const least = Math.max(MIN_LANE, Math.ceil(viewHeight / MAX_IN_SIGHT));
  const height = Math.max(least, Math.floor(viewHeight / Math.max(1, count)));
  const total = height * count;
  const top = Math.max(0, Math.min(scrollTop, total - viewHeight));
  return {
    height,
    total,
    first: Math.min(count, Math.floor(top / height)),
    last: Math.min(count, Math.ceil((top + viewHeight) / height)),
  };
}
