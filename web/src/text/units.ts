// Numbers for people, by the rules of the guide: binary units, a real minus, thousands with a
// comma. Halves are rounded away from zero, as the engine does: tests/fixtures/sizes.json holds for
// both.
//
//   formatBytes(36230463488) → { number: "33.74", unit: "GiB" }
import type { Unit } from "../api/contract";

const KIB = 1024;
const MIB = 1024 * KIB;
export const GIB = 1024 * MIB;
const TIB = 1024 * GIB;

export interface Quantity {
  number: string;
  unit: Unit;
}

export const UNIT_BYTES: Record<Unit, number> = { B: 1, KiB: KIB, MiB: MIB, GiB: GIB, TiB: TIB };

function grouped(value: number, digits: number): string {
  const text = Math.abs(value).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  });
  return value < 0 ? `−${text}` : text;
}

export function unitFor(bytes: number): Unit {
  const size = Math.abs(bytes);
  if (size >= TIB) return "TiB";
  if (size >= GIB) return "GiB";
  if (size >= MIB) return "MiB";
  return size >= KIB ? "KiB" : "B";
}

/** In a given unit, so that numbers that are compared can share one. */
export function bytesIn(bytes: number, unit: Unit): Quantity {
  const value = bytes / UNIT_BYTES[unit];
  let digits = 0;
  if (unit === "GiB" || unit === "TiB") digits = 2;
  else if (unit !== "B" && Math.abs(value) < 99.95) digits = 1;
  return { number: grouped(value, digits), unit };
}

export function formatBytes(bytes: number): Quantity {
  return bytesIn(bytes, unitFor(bytes));
}

export function bytesText(bytes: number): string {
  const { number, unit } = formatBytes(bytes);
  return `${number} ${unit}`;
}

/** Each in the unit of the largest: "4,008 MiB asked, 3,842 MiB left". */
export function sharedUnit(...bytes: number[]): Unit {
  const largest = Math.max(...bytes.map(Math.abs));
  // below 10 GiB whole MiB say more than two decimals of GiB
  return largest >= GIB && largest < 10 * GIB ? "MiB" : unitFor(largest);
}

/** "4,008 MiB" and "166 MiB" in one unit, because they are compared. */
export function together(...bytes: number[]): string[] {
  const unit = sharedUnit(...bytes);
  return bytes.map((one) => {
    const { number } = bytesIn(one, unit);
    return `${number} ${unit}`;
  });
}

export function integer(value: number): string {
  return grouped(Math.round(value), 0);
}

/** "1 block", "2 blocks", "3 boxes" with the plural given. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${integer(count)} ${count === 1 ? one : many}`;
}

export function percent(share: number): string {
  return `${grouped(share * 100, 1)} %`;
}

/** 1.169 s, 922 ms, 40 µs, 3 m 12 s, 3 h 12 m. */
export function duration(us: number): string {
  const size = Math.abs(us);
  if (size < 1000) return `${grouped(us, 0)} µs`;
  if (size < 1e6) return `${grouped(us / 1000, size < 10000 ? 1 : 0)} ms`;
  if (size < 60e6) return `${grouped(us / 1e6, 3)} s`;
  const minutes = Math.floor(size / 60e6);
  const sign = us < 0 ? "−" : "";
  if (minutes < 60) return `${sign}${minutes} m ${Math.floor((size % 60e6) / 1e6)} s`;
  return `${sign}${integer(Math.floor(minutes / 60))} h ${minutes % 60} m`;
}

/** A place on a time axis: seconds with three decimals, relative to the recording's first event. */
export function seconds(us: number): string {
  return `${grouped(us / 1e6, 3)} s`;
}

/** "forward.py" of "/home/x/forward.py"; both kinds of slashes occur in real files. */
export function baseName(path: string): string {
  const cut = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return cut < 0 ? path : path.slice(cut + 1);
}
