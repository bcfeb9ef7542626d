// The sum check as a bar: live + free inside + driver + other against the request on top of
// what was reserved.
//
//   low    live          free  driver      other
//   ╱██████████████████│////│··········│▒▒▒▒▒▒▒│
//                           │ request ▓▓▓ over │        what rises above the ceiling is over
import type { VerdictSum } from "../../api/oom";

type SumKey = "live" | "free" | "driver" | "other";

interface SumPart {
  key: SumKey;
  label: string;
  bytes: number;
  /** share of the bar, 0 … 1; the first part may be cut */
  share: number;
}

interface SumBar {
  /** bytes at the left edge; 0: nothing is cut off */
  low: number;
  parts: SumPart[];
  /** of the request: where it begins, what fits under the ceiling, what is over; shares */
  request: { begin: number; inside: number; over: number } | null;
}

const NAMES: Record<SumKey, string> = {
  live: "live",
  free: "free inside segments",
  driver: "free at the driver",
  other: "used elsewhere on the device",
};

export function sumBar(sum: VerdictSum, requested: number | null): SumBar {
  const bytes: Record<SumKey, number> = {
    live: sum.live_bytes,
    free: sum.free_bytes,
    driver: sum.driver_bytes ?? 0,
    other: sum.other_bytes ?? 0,
  };
  const whole = bytes.live + bytes.free + bytes.driver + bytes.other;
  const reserved = bytes.live + bytes.free;
  const high = Math.max(whole, reserved + (requested ?? 0), 1);
  // most of it is live, and what matters lies above: the bar begins where that fills two thirds
  const wanted = high - (high - bytes.live) * 1.5;
  const low = wanted < high * 0.12 ? 0 : wanted;
  const span = high - low;
  const parts = (Object.keys(NAMES) as SumKey[])
    .filter((key) => bytes[key] > 0)
    .map((key) => ({
      key,
      label: NAMES[key],
      bytes: bytes[key],
      share: (key === "live" ? bytes.live - low : bytes[key]) / span,
    }));
  if (requested === null) return { low, parts, request: null };
  const ceiling = reserved + bytes.driver;
  const known = sum.driver_bytes !== null;
  const over = known ? Math.max(0, reserved + requested - ceiling) : 0;
  return {
    low,
    parts,
    request: {
      begin: (reserved - low) / span,
      inside: (requested - over) / span,
      over: over / span,
    },
  };
}
