// What the Diff view asks: which two recordings, where in each, rows by what.
import { computed } from "@preact/signals";
import type { DiffAnswer, DiffFlameAnswer } from "../../api/diff";
import { decodeTree, type FlameTree } from "../../api/flame";
import { frozen } from "../../api/frozen";
import { follow, page, place, session } from "../page/store";
import { type Lane, laneKey, lanesOf } from "../recording/lanes";
import { type Likely, likelyB } from "./diff_choice";

const lanes = computed(() => lanesOf(session.value?.files ?? []));

export const laneA = computed<Lane | null>(() => {
  const key = place.value ? laneKey(place.value.file, place.value.device) : "";
  return lanes.value.find((lane) => lane.key === key) ?? null;
});

/** B may be A: two places of one recording. Null: nothing was chosen, and there is no other. */
const chosenB = computed<Likely | null>(() => {
  const a = laneA.value;
  if (a === null) return null;
  const chosen = lanes.value.find(({ key }) => key === page.value.vs);
  return chosen ? { lane: chosen, because: "" } : likelyB(lanes.value, a);
});
export const laneB = computed<Lane | null>(() => chosenB.value?.lane ?? null);
/** Why this B, if the user did not choose it. */
export const becauseB = computed(() => chosenB.value?.because ?? "");

export const recordings = lanes;

export const placeOfB = computed(() => page.value.pb || page.value.pa);

function params() {
  const [a, b] = [laneA.value, laneB.value];
  if (a === null || b === null || frozen !== null || page.value.view !== "diff") return null;
  return {
    file: a.file,
    device: a.device.ordinal,
    at: page.value.pa,
    file_b: b.file,
    device_b: b.device.ordinal,
    at_b: placeOfB.value,
  };
}

export const diff = follow<DiffAnswer>(() => {
  const of = params();
  return of && { path: "diff", params: { ...of, by: page.value.by } };
}, true);

export const diffFlame = follow<DiffFlameAnswer>(() => {
  const of = page.value.pic === "flame" ? params() : null;
  return of && { path: "diff_flame", params: { ...of, width: page.value.width } };
}, true);

export const diffTree = computed<FlameTree | null>(() => {
  const { data } = diffFlame.value;
  return data ? decodeTree(data.tree, data.frames) : null;
});
