// How everybody who ranks stacks by the free bytes that they pin ranks them: src/analysis/pinned.h.
import { integer } from "./units";

export const PIN_ORDER =
  "Those that pin a tenth or more of it stand first, most per live byte first; then the others by what they pin";

/** Pinned bytes per live byte: "0.6", "31", "4,000". */
export function perLiveByte(pins: number, live: number): string {
  if (live === 0) return "–";
  const value = pins / live;
  return value < 10 ? value.toFixed(1) : integer(value);
}
