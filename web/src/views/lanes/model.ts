// What is side by side: lanes, the axis that they share, the one cursor, and their order. All of it
// follows from the state of the page and the answers; nothing here draws.

import { computed, signal } from "@preact/signals";
import { frozen } from "../../api/frozen";
import { cursorPosition, cursorStep } from "../../state/page/cursor";
import { page, place, session } from "../../state/page/store";
import { noTimeBecause } from "../../state/recording/domain";
import { laneOrder, referenceBytes, referenceFor } from "../../state/recording/lane_order";
import {
  laneKey,
  lanesOf,
  type PlacedLane,
  type SharedAxis,
  shareAxis,
} from "../../state/recording/lanes";

/** What a lane holds at the cursor. */
export interface LaneValue {
  /** its own step there */
  step: number;
  activeBytes: number;
  reservedBytes: number;
}

/** By the key of the lane; none: nothing was recorded there. values.ts asks for them. */
export const values = signal<ReadonlyMap<string, LaneValue>>(new Map());

/** False until the first of them are here. */
export const answered = signal(false);

export const lanes = computed(() => lanesOf(session.value?.files ?? []));

/** Worth a view of its own. An exported page has the tiles of one lane at a time. */
export const severalLanes = computed(() => frozen === null && lanes.value.length > 1);

/** Then the lanes differ by their device. */
export const oneFile = computed(() => (session.value?.files ?? []).length === 1);

export const currentKey = computed(() =>
  place.value ? laneKey(place.value.file, place.value.device) : "",
);

/** Whether any lane has usable times. */
export const timed = computed(() =>
  lanes.value.some(({ device }) => noTimeBecause(device) === null),
);

const axis = computed(() => (page.value.axis === "time" && timed.value ? "time" : "step"));
const alignment = computed(() => page.value.align);

export const shared = computed<SharedAxis>(() => sharedFor(currentKey.value));

/** The same axis if the page spoke of another lane. */
export function sharedFor(key: string): SharedAxis {
  return shareAxis(lanes.value, axis.value, alignment.value, key);
}

export const current = computed<PlacedLane | null>(
  () => shared.value.lanes.find(({ key }) => key === currentKey.value) ?? null,
);

/** The cursor on the shared axis: a step, or µs; null while the time of its step is unknown. */
export const cursor = computed<number | null>(() => {
  const { domain } = shared.value;
  const { at, t } = page.value;
  // a longer lane may have steps that the current one does not
  if (domain.axis === "step") return at ?? cursorStep.value;
  if (t !== null) return t - domain.base;
  const of = current.value;
  const own = of?.domain ? cursorPosition(of.domain) : null;
  return own === null || !of ? null : own + of.offset;
});

export const facts = computed(() =>
  shared.value.lanes.map(({ key, device }) => ({
    peakBytes: Math.max(device.peak.reserved.bytes, device.peak.active.bytes),
    cursorBytes: values.value.get(key)?.activeBytes ?? null,
  })),
);

export const against = computed(() => referenceFor(page.value.against, lanes.value.length));

export const reference = computed(() => referenceBytes(facts.value, against.value));

/** Lanes as they are shown, from top to bottom. */
export const ordered = computed<readonly PlacedLane[]>(() => {
  const all = shared.value.lanes;
  const order = laneOrder(facts.value, page.value.rank, reference.value);
  return order.flatMap((index) => all[index] ?? []);
});
