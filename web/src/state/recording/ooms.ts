// Of several out-of-memory events the page tells about one: the one that was short by most; of
// equals, as where nobody knows what was left, the one that asked for most; of these the last, as
// the engine does (src/analysis/oom/oom.h). The story of the overview, the inspector and the timeline
// agree on it.
import type { Oom } from "../../api/contract";

function shortBytes(oom: Oom): number {
  // what was asked and what the driver had is not always said: then nobody knows how short it was
  if (oom.requested_bytes === null || oom.device_free_bytes === null) return 0;
  return Math.max(0, oom.requested_bytes - oom.device_free_bytes);
}

function isAsBad(a: Oom, b: Oom): boolean {
  const more = shortBytes(a) - shortBytes(b);
  return more === 0 ? (a.requested_bytes ?? 0) >= (b.requested_bytes ?? 0) : more > 0;
}

export function worstOom(list: readonly Oom[]): Oom | null {
  let worst: Oom | null = null;
  for (const one of list) if (worst === null || isAsBad(one, worst)) worst = one;
  return worst;
}
