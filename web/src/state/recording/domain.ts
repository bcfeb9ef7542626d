// The horizontal axis of one device: what there is, and why there may be no axis of time.
import type { DeviceInfo } from "../../api/contract";
import { frozen } from "../../api/frozen";
import type { Axis, Range } from "../link/url";

/** The axis of one device. Positions count from `base`, so that they stay small numbers. */
export interface Domain {
  axis: Axis;
  /** 0 for steps; time of the first event in µs */
  base: number;
  /** length of what was recorded */
  end: number;
  /** what "everything" shows: a little room after the end, so that the end is seen as one */
  room: number;
  least: number;
}

const ROOM = 0.036;
/**
 * Numbers below it are exact to the µs, up to the year 2255; a tile may reach past the last event.
 */
const LARGEST = 2 ** 53;
const TILE_REACH = 4;

/** Why this device has no axis of time, in a sentence; null: it has one. */
export function noTimeBecause(device: DeviceInfo): string | null {
  const [first, last] = [device.first_time_us, device.last_time_us];
  const of = device.label;
  if (device.events === 0) return `${of} has no events`;
  if (frozen !== null) return "an exported page has steps only";
  if (first === null || last === null) return `the events of ${of} have no usable times`;
  if (Math.abs(first) + TILE_REACH * (last - first) > LARGEST) {
    return `the times of ${of} are too large to be exact to the microsecond`;
  }
  return last > first ? null : `all events of ${of} have the same time`;
}

/** An axis of time from `base` on, of at least 1 µs. */
export function timeDomain(base: number, end: number): Domain {
  return { axis: "time", base, end, room: end * (1 + ROOM), least: 20 };
}

export function stepDomain(steps: number): Domain {
  const end = Math.max(1, steps);
  return { axis: "step", base: 0, end, room: end * (1 + ROOM), least: 8 };
}

export function domainOf(device: DeviceInfo, axis: Axis): Domain {
  const first = device.first_time_us;
  const last = device.last_time_us;
  if (axis === "time" && first !== null && last !== null && noTimeBecause(device) === null) {
    return timeDomain(first, last - first + 1);
  }
  return stepDomain(device.events);
}

/** The end is in view, of positions: whoever looks there wants to see what comes. */
export function seesEnd([low, high]: Range, domain: Domain): boolean {
  return high >= domain.end - (high - low) * 1e-3;
}
