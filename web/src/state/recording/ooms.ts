// Which of several out-of-memory events the page shows: the one with the largest shortage. Among
// equal ones, for example because the free memory is unknown, it is the largest request, and among
// these the last, as in the engine (src/analysis/oom/oom.h). Overview, inspector and timeline agree
// on it.
import type { Oom } from "../../api/contract";

function shortBytes(oom: Oom): number {
  // request and free memory are not always recorded: then the shortage is unknown
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
