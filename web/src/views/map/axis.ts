// The axis of addresses: owned ranges under each other, breaks between them. What the server calls
// a place on the axis is bytes from its beginning.
import type { OwnedRange } from "../../api/map";

export interface AddressAxis {
  bytes: number;
  /** by place on the axis */
  ranges: readonly OwnedRange[];
  /** the server has more ranges than it sent */
  cut: boolean;
}

/** The last range that begins at or before a place. */
export function rangeAt(axis: AddressAxis, place: number): OwnedRange | null {
  let [low, high] = [0, axis.ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((axis.ranges[middle]?.y ?? 0) <= place) low = middle + 1;
    else high = middle;
  }
  return axis.ranges[low - 1] ?? null;
}

/** "0x7f0586000200" at a place, or null where the page does not know. */
export function addressAt(axis: AddressAxis, place: number): string | null {
  const range = rangeAt(axis, place);
  if (!range || place < range.y || place >= range.y + range.bytes) return null;
  const offset = BigInt(Math.floor(place - range.y));
  return `0x${(BigInt(range.address) + offset).toString(16)}`;
}

/** The place of an address, or null where the page does not know. */
export function placeOf(axis: AddressAxis, address: string): number | null {
  const wanted = BigInt(address);
  let [low, high] = [0, axis.ranges.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (BigInt(axis.ranges[middle]?.address ?? "0x0") <= wanted) low = middle + 1;
    else high = middle;
  }
  const range = axis.ranges[low - 1];
  if (!range) return null;
  const offset = Number(wanted - BigInt(range.address));
  return offset < range.bytes ? range.y + offset : null;
}

/** How far what lies at a place has moved when ranges came in below it; 0: unknown. */
export function movedBy(before: AddressAxis, after: AddressAxis, place: number): number {
  const range = rangeAt(before, place);
  const now = range && placeOf(after, range.address);
  return range === null || now === null ? 0 : now - range.y;
}

/** As axes write addresses: the first seven digits. */
export function shortAddress(address: string): string {
  const digits = address.replace(/^0x/, "");
  return digits.length > 7 ? `${digits.slice(0, 7)}…` : digits;
}

interface AxisLabel {
  text: string;
  /** in pixels */
  y: number;
}

/** Labels in the middle of the ranges that are high enough, never nearer than `apart` pixels. */
export function axisLabels(
  axis: AddressAxis,
  toY: (place: number) => number,
  top: number,
  bottom: number,
  apart: number,
): AxisLabel[] {
  const seen = axis.ranges
    .map((range) => ({
      range,
      low: Math.min(bottom, toY(range.y)),
      high: Math.max(top, toY(range.y + range.bytes)),
    }))
    .filter((one) => one.low - one.high > 0)
    .sort((a, b) => b.low - b.high - (a.low - a.high));
  const out: AxisLabel[] = [];
  for (const { range, low, high } of seen.slice(0, 200)) {
    const y = (low + high) / 2;
    if (y < top + 6 || y > bottom - 6) continue;
    if (out.some((one) => Math.abs(one.y - y) < apart)) continue;
    out.push({ text: shortAddress(range.address), y });
  }
  return out;
}

/** Places where one range ends and the next begins, in view, not nearer than two pixels. */
export function breaks(
  axis: AddressAxis,
  toY: (place: number) => number,
  top: number,
  bottom: number,
): number[] {
  const out: number[] = [];
  for (const range of axis.ranges.slice(1)) {
    const y = Math.round(toY(range.y));
    if (y <= top || y >= bottom) continue;
    if (out.length === 0 || Math.abs((out.at(-1) ?? 0) - y) >= 2) out.push(y);
  }
  return out;
}
