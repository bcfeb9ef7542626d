// How high the picture reaches when nobody has chosen it: everything that matters in the visible
// range, with a little air above.
import type { Range } from "../../../state/link/url";
import { highest, type Sample } from "../tiles/line_sampler";
import type { OomMark } from "./frame";

const AIR = 1.055;

/**
 * The highest level seen, and what stands on it: an out-of-memory's request. A request far above
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
