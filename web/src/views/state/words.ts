// How the State view names what it shows.
import type { LayoutGroup, LayoutSegment, StateSort } from "../../api/layout";

export const SORT_NAMES: Record<StateSort, string> = {
  waste: "free bytes",
  size: "size",
  age: "age",
  pinned: "pinned bytes",
  address: "address",
};

const SIGNS: Record<string, readonly [string, string]> = {
  alloc: ["+", "alloc"],
  free: ["−", "free"],
  free_requested: ["−", "free requested"],
  free_completed: ["·", "free completed"],
  segment_alloc: ["▲", "segment alloc"],
  segment_free: ["▼", "segment free"],
  segment_map: ["△", "segment map"],
  segment_unmap: ["▽", "segment unmap"],
  oom: ["!", "out of memory"],
  snapshot: ["◇", "snapshot"],
};

/** A sign and a name for each kind of event; what is unknown keeps its own name. */
export function signOf(action: string): readonly [string, string] {
  return SIGNS[action] ?? ["?", action.replaceAll("_", " ")];
}

export function groupName(group: LayoutGroup): string {
  if (!group.known) return "Outside all known segments";
  const pool = group.pool === null ? "No pool" : `Pool ${group.pool.text}`;
  return group.stream === null ? pool : `${pool}, stream ${group.stream.id}`;
}

/** "s" and the last nine digits: as in the frames of the allocator. */
export function shortAddress(of: LayoutSegment): string {
  const digits = of.address.replace(/^0x/, "");
  return of.segment === null ? `…${digits.slice(-9)}` : `s${digits.slice(-9)}`;
}

/** The first frame's place: "rotary.py:47" of "rotary.py:47 apply"; other labels as they are. */
export function placeOfLabel(label: string): string {
  return /^(\S+:\d+) /.exec(label)?.[1] ?? label;
}

/** Why the driver could not have the segment back. */
export function pinText(of: LayoutSegment): string {
  if (of.blocks === 0) return "nothing";
  if (of.free_bytes === 0) return "no free part";
  if (of.pinned_bytes === 0) return "free pages can be returned";
  return of.pins[0] ? placeOfLabel(of.pins[0].label) || "unknown stack" : "unknown";
}
