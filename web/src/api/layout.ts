// The inside of the segments after a step: `api/state` of docs/formats/page-api.md.

export const STATE_SORTS = ["waste", "size", "age", "pinned", "address"] as const;
export type StateSort = (typeof STATE_SORTS)[number];

export const PartKind = { live: 0, pending: 1, free: 2, unmapped: 3, merged: 4 } as const;
export const PartFlag = { marked: 1, filtered: 2 } as const;

export interface SegmentSums {
  owned_bytes: number;
  live_bytes: number;
  requested_bytes: number;
  rounding_bytes: number;
  pending_bytes: number;
  free_bytes: number;
  largest_free_bytes: number;
  pinned_bytes: number;
  releasable_bytes: number;
  held_in_pools_bytes: number;
  blocks: number;
  free_parts: number;
  passing_bytes: number;
}

export interface LayoutGroup extends SegmentSums {
  pool: { id: number; text: string } | null;
  stream: { id: number; raw: number | string } | null;
  /** false: blocks outside of every known segment */
  known: boolean;
  first: number;
  count: number;
}

/** A live block that keeps free memory of its segment from going back to the driver. */
export interface Pin {
  id: number;
  address_id: string;
  block_bytes: number;
  pins_bytes: number;
  label: string;
  first_step: number;
}

export interface LayoutSegment extends SegmentSums {
  address: string;
  /** from its address to the end of its last part */
  span_bytes: number;
  segment: {
    id: number;
    address_id: string;
    address: string;
    total_bytes: number;
    kind: string;
  } | null;
  pool: { id: number; text: string } | null;
  stream: { id: number; raw: number | string } | null;
  first_step: number | null;
  small_pool: boolean | null;
  pin_count: number;
  /** those that pin most */
  pins: Pin[];
}

/** One column per fact; −1 where there is none. Ordered by segment, then by offset. */
export interface Parts {
  segment: number[];
  offset: number[];
  bytes: number[];
  live_bytes: number[];
  rounding_bytes: number[];
  kind: number[];
  blocks: number[];
  allocation: number[];
  stack_slot: number[];
  category_slot: number[];
  provenance: number[];
  first_step: number[];
  flags: number[];
}

export interface Layout {
  step: number;
  time_us: number | null;
  sums: SegmentSums;
  groups: LayoutGroup[];
  /** segments in all; those listed begin at `offset` */
  total: number;
  offset: number;
  widest_bytes: number;
  /** narrower parts are summed up */
  px: number;
  segments: LayoutSegment[];
  parts: Parts;
}

/** Where the parts of each listed segment begin; one more than there are segments. */
export function partBegins({ segments, parts }: Pick<Layout, "segments" | "parts">): number[] {
  const begins: number[] = [];
  let at = 0;
  for (let index = 0; index < segments.length; index += 1) {
    while (at < parts.segment.length && (parts.segment[at] ?? 0) < index) at += 1;
    begins.push(at);
  }
  begins.push(parts.segment.length);
  return begins;
}

/** The part of a segment at an offset in bytes, or −1. */
export function partAt(parts: Parts, begin: number, end: number, offset: number): number {
  for (let index = begin; index < end; index += 1) {
    const low = parts.offset[index] ?? 0;
    if (offset >= low && offset < low + (parts.bytes[index] ?? 0)) return index;
  }
  return -1;
}
