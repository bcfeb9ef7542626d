// What of the answers the overview shows, and how it is cut.
import type { DeviceInfo } from "../../api/contract";

/** The one that is shown first, then those that reserved most; in the order of the file. */
export function chosenCards(devices: readonly DeviceInfo[], shown: number, most: number) {
  const rank = (one: DeviceInfo) =>
    one.ordinal === shown ? Number.POSITIVE_INFINITY : one.peak.reserved.bytes;
  const first = [...devices].sort((a, b) => rank(b) - rank(a)).slice(0, most);
  return devices.filter((one) => first.includes(one));
}

/** Each on a line of its own, where there is room. */
export function sentencesOf(text: string): string[] {
  return text.split(/(?<=\.) (?=\S)/);
}
