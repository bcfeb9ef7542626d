// Recordings side by side: every device of every open file is a lane. Where each lane stands on the
// axis that they share, as arithmetic without a picture:
//
//   by the clock     rank 0  |■■■■■■■■■■|           by the first event   |■■■■■■■■■■|
//                    rank 1     |■■■■■■■■■|                              |■■■■■■■■■|
//                             └ offset 0 …                               all offsets 0
import type { DeviceInfo, FileInfo } from "../../api/contract";
import type { Alignment, Axis } from "../link/page_state";
import { type Domain, domainOf, noTimeBecause, stepDomain, timeDomain } from "./domain";

/** The view that shows them. */
export const LANES_VIEW = "lanes";

export interface Lane {
  key: string;
  file: number;
  /** parts of the path that distinguish the files */
  name: string;
  device: DeviceInfo;
  /** which reading of a recording that grows */
  gen?: number;
}

/** What every question about a lane says. */
export function placeOfLane({ file, device, gen }: Lane) {
  return { file, device: device.ordinal, ...(gen === undefined ? {} : { gen }) };
}

/** A lane on the shared axis. */
export interface PlacedLane extends Lane {
  /** null: it has no place on this axis; `because` says why */
  domain: Domain | null;
  because: string | null;
  /** where its own axis begins on the shared one */
  offset: number;
}

export interface SharedAxis {
  /** what was chosen, or what fits; only of time */
  align: Alignment;
  domain: Domain;
  lanes: readonly PlacedLane[];
}

export function lanesOf(files: readonly FileInfo[]): Lane[] {
  return files.flatMap((file) =>
    file.devices.map((device) => ({
      key: `${file.id}/${device.ordinal}`,
      file: file.id,
      name: file.name,
      device,
      ...(file.recording == null ? {} : { gen: file.gen ?? 0 }),
    })),
  );
}

export function laneKey(file: number, ordinal: number): string {
  return `${file}/${ordinal}`;
}

/** Whether the recordings, taken together, leave no gap: then their clocks can be compared. */
export function clocksOverlap(domains: readonly Domain[]): boolean {
  const sorted = [...domains].sort((a, b) => a.base - b.base);
  let reach = sorted[0] ? sorted[0].base + sorted[0].end : 0;
  for (const { base, end } of sorted) {
    if (base > reach) return false;
    reach = Math.max(reach, base + end);
  }
  return true;
}

function whyNot(device: DeviceInfo, axis: Axis): string | null {
  if (device.events === 0) return "no events, only the final state";
  return axis === "time" ? noTimeBecause(device) : null;
}

/**
 * One axis for all. `current`: the lane that the page's URL speaks of; its times are what the
 * shared axis counts from when the lanes begin together.
 */
export function shareAxis(
  lanes: readonly Lane[],
  axis: Axis,
  wanted: Alignment | null,
  current: string,
): SharedAxis {
  const placed = lanes.map((lane) => {
    const because = whyNot(lane.device, axis);
    return { ...lane, because, domain: because === null ? domainOf(lane.device, axis) : null };
  });
  const domains = placed.flatMap(({ domain }) => (domain ? [domain] : []));
  const longest = domains.reduce((most, { end }) => Math.max(most, end), 1);
  if (axis === "step") {
    const all = placed.map((lane) => ({ ...lane, offset: 0 }));
    return { align: "first", domain: stepDomain(longest), lanes: all };
  }
  const align = wanted ?? (clocksOverlap(domains) ? "clock" : "first");
  const first = domains.reduce((least, { base }) => Math.min(least, base), Infinity);
  if (align === "clock" && domains.length > 0) {
    const last = domains.reduce((most, { base, end }) => Math.max(most, base + end), -Infinity);
    const all = placed.map((lane) => ({ ...lane, offset: (lane.domain?.base ?? first) - first }));
    return { align, domain: timeDomain(first, last - first), lanes: all };
  }
  const own = placed.find(({ key }) => key === current)?.domain?.base;
  const base = own ?? (Number.isFinite(first) ? first : 0);
  const all = placed.map((lane) => ({ ...lane, offset: 0 }));
  return { align: "first", domain: timeDomain(base, longest), lanes: all };
}

/** A position of the shared axis on a lane's own; null: nothing of the lane is there. */
export function inLane(lane: PlacedLane, position: number): number | null {
  const own = position - lane.offset;
  return lane.domain !== null && own >= 0 && own < lane.domain.end ? own : null;
}
