// The visible part of a picture as arithmetic: what there is, what is visible, how it moves.
import type { Allocation } from "../../../api/contract";
import type { Range } from "../../../state/link/url";
import { type Domain, seesEnd } from "../../../state/recording/domain";
import { highest, type Sample } from "../tiles/line_sampler";
import type { OomMark } from "./frame";

export function everything(domain: Domain): Range {
  return [0, domain.room];
}

/**
 * The window after the recording has grown: what shows all of it shows all, what shows the end goes
 * with it, everything else stays where it is.
 */
export function grown(x: Range, before: Domain, after: Domain): Range {
  const moved = before.base - after.base;
  const [low, high] = [x[0] + moved, x[1] + moved];
  if (isEverything(x, before)) return everything(after);
  const by = seesEnd(x, before) ? after.end - (before.end + moved) : 0;
  return clampRange([low + by, high + by], after);
}

/** Inside the domain, not smaller than the least span. */
export function clampRange([low, high]: Range, domain: Domain): Range {
  const span = Math.min(domain.room, Math.max(Math.min(domain.least, domain.room), high - low));
  const middle = (low + high) / 2;
  let from = high - low === span ? low : middle - span / 2;
  from = Math.min(Math.max(0, from), domain.room - span);
  return [from, from + span];
}

/** Zooms by `factor` (below 1: closer) so that `at` stays where it is. */
export function zoomAt([low, high]: Range, at: number, factor: number, domain: Domain): Range {
  const span = (high - low) * factor;
  if (span < domain.least && factor < 1) {
    const least = Math.min(domain.least, high - low);
    const share = (at - low) / (high - low);
    return clampRange([at - share * least, at + (1 - share) * least], domain);
  }
  return clampRange([at - (at - low) * factor, at + (high - at) * factor], domain);
}

export function panBy([low, high]: Range, by: number, domain: Domain): Range {
  const from = Math.min(Math.max(0, low + by), Math.max(0, domain.room - (high - low)));
  return [from, from + (high - low)];
}

/** Moves as little as needed to see `at`, with a tenth of the span around it. */
export function reveal([low, high]: Range, at: number, domain: Domain): Range {
  const margin = (high - low) * 0.1;
  if (at >= low + margin && at <= high - margin) return [low, high];
  const middle = (high - low) / 2;
  return clampRange([at - middle, at + middle], domain);
}

export function isEverything([low, high]: Range, domain: Domain): boolean {
  return low <= domain.room * 1e-6 && high >= domain.room * (1 - 1e-6);
}

export function zoomBytes([low, high]: Range, at: number, factor: number, highest: number): Range {
  const span = Math.min(highest, Math.max(4096, (high - low) * factor));
  const share = (at - low) / (high - low);
  const from = Math.min(Math.max(0, at - share * span), Math.max(0, highest - span));
  return [from, from + span];
}

/** Bytes zoomed at a share of the picture's height, from below; null: everything is seen again. */
export function zoomedBytes(bytes: Range, share: number, factor: number, highest: number) {
  const at = bytes[0] + Math.min(1, Math.max(0, share)) * (bytes[1] - bytes[0]);
  const next = zoomBytes(bytes, at, factor, highest);
  return next[0] <= 0 && next[1] >= highest * 0.999 ? null : next;
}

/** By a share of what is seen, not below zero and not above what there is. */
export function panBytes([low, high]: Range, share: number, highest: number): Range {
  const span = high - low;
  const from = Math.min(Math.max(0, low + share * span), Math.max(0, highest - span));
  return [from, from + span];
}

/** With a quarter of it on both sides, and not less than half of the least that can be seen. */
export function withMargin([low, high]: Range, least: number): Range {
  const margin = Math.max(least / 2, (high - low) * 0.25);
  return [low - margin, high + margin];
}

/** Between two ranges, for the short move to a selection. `t` from 0 to 1. */
export function between(a: Range, b: Range, t: number): Range {
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t];
}

/** Positions of the URL are absolute, those of the picture count from the base. */
export function relative(x: Range | null, domain: Domain): Range | null {
  if (!x) return null;
  const [low, high] = [x[0] - domain.base, x[1] - domain.base];
  // a range of the other axis, or from another file: show everything instead of nothing
  return high <= 0 || low >= domain.room ? null : [low, high];
}

export function absolute(x: Range, domain: Domain): Range | null {
  if (isEverything(x, domain)) return null;
  const round = (value: number) => Math.round((value + domain.base) * 1000) / 1000;
  return [round(x[0]), round(x[1])];
}

/** Birth and end of an allocation as positions; what is not known is the end of the recording. */
export function lifeOf(of: Allocation, domain: Domain): Range {
  if (domain.axis === "step") return [of.first_step, Math.min(domain.end, of.last_step)];
  const low = of.alloc_time_us === null ? 0 : of.alloc_time_us - domain.base;
  return [low, of.free_time_us === null ? domain.end : of.free_time_us - domain.base];
}

const AIR = 1.055;

/**
 * The visible bytes when the user has not chosen them, with a little air above: the highest
 * level seen, and the request of an out-of-memory event on top of it. A request far above
 * everything (torch.empty(10**15)) must not press the picture flat: then it is drawn cut off.
 */
export function fittedBytes(
  samples: readonly Sample[],
  ooms: readonly OomMark[],
  x: Range,
  ceilingBytes: number | null,
  fallback: number,
): Range {
  let top = highest(samples);
  if (top <= 0) top = fallback;
  const level = top;
  for (const { position, oom } of ooms) {
    if (position < x[0] || position > x[1]) continue;
    const stands = oom.reserved_bytes + (oom.requested_bytes ?? 0);
    if (stands <= level * 2) top = Math.max(top, stands);
  }
  if (ceilingBytes !== null && ceilingBytes > top && ceilingBytes <= level * 1.15) {
    top = ceilingBytes;
  }
  return [0, Math.max(4096, top * AIR)];
}
