// With what a recording is compared before anybody chose: the odd one out among many, else the
// next.

import { startDevice } from "../page/store";
import { median } from "../recording/lane_order";
import type { Lane } from "../recording/lanes";

export interface Likely {
  lane: Lane;
  /** why this one, where there are more; empty: it is the only other one */
  because: string;
}

/** Before any was chosen: what there is to compare with. One recording for each file. */
export function likelyB(all: readonly Lane[], a: Lane): Likely | null {
  const files = [...new Set(all.map(({ file }) => file))];
  const lanes =
    files.length < 2
      ? all
      : files.map((file) => (file === a.file ? a : likelyDevice(all, file, a.device.ordinal)));
  const others = lanes.filter((lane) => lane !== undefined && lane.key !== a.key) as Lane[];
  if (others.length < 2) return others[0] ? { lane: others[0], because: "" } : null;
  const odd = oddOne(lanes as Lane[]);
  if (odd && odd.lane.key !== a.key) return odd;
  const first = others[0] as Lane;
  return { lane: first, because: files.length > 1 ? "the first other file" : "the next device" };
}

function likelyDevice(all: readonly Lane[], file: number, ordinal: number): Lane | undefined {
  const own = all.filter((lane) => lane.file === file);
  const same = own.find(({ device }) => device.ordinal === ordinal);
  const start = startDevice(own.map(({ device }) => device));
  return same ?? own.find(({ device }) => device === start);
}

/** As `diff` finds it among ranks: robust deviations from the median, and a share of the median. */
const DEVIATIONS = 3.5;
const NORMAL = 1.4826;
const MIN_SHARE = 0.01;

/**
 * Among three or more: the only one out of memory, else the one whose peak is unlike the others'.
 */
export function oddOne(lanes: readonly Lane[]): Likely | null {
  if (lanes.length < 3) return null;
  const failed = lanes.filter(({ device }) => device.ooms.length > 0);
  if (failed.length === 1 && failed[0]) {
    return { lane: failed[0], because: "the only one out of memory" };
  }
  const peaks = lanes.map(({ device }) => device.peak.active.bytes);
  const middle = median(peaks) ?? 0;
  const away = peaks.map((peak) => Math.abs(peak - middle));
  const usual = median(away) ?? 0;
  const spread = NORMAL * (median(away.map((one) => Math.abs(one - usual))) ?? 0);
  const far = Math.max(...away);
  const odd = lanes[away.indexOf(far)];
  if (!odd || far - usual <= DEVIATIONS * spread || far <= MIN_SHARE * middle) return null;
  return { lane: odd, because: "its peak differs most from the others" };
}
