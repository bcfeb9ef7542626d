// The step of the page: the cursor, what was live there, and what is selected.
import { computed } from "@preact/signals";
import {
  type Allocation,
  type Annotations,
  LEGENDS,
  type Legend,
  type LegendBy,
  type StateAt,
} from "../../api/contract";
import type { Domain } from "../recording/domain";
import { LANES_VIEW } from "../recording/lanes";
import { worstOom } from "../recording/ooms";
import { resting } from "./latest";
import { device, follow, go, hoverStep, page, pictured, place } from "./store";

/** The cursor: where it was put, else the worst out-of-memory, else the peak. */
export const cursorStep = computed<number>(() => {
  const of = device.value;
  if (!of) return 0;
  const wanted = page.value.at ?? worstOom(of.ooms)?.step ?? of.peak.active.step;
  return Math.max(0, Math.min(of.events - 1, wanted));
});

/** Puts the cursor some events further, or back. */
export function stepCursor(by: number): void {
  const last = (device.value?.events ?? 1) - 1;
  go({ at: Math.max(0, Math.min(last, cursorStep.value + by)) });
}

export const stateAt = follow<StateAt>(() => {
  if (!pictured.value || !place.value || !device.value || device.value.events === 0) return null;
  return { path: "at", params: { ...place.value, axis: "step", x: cursorStep.value } };
}, true);

/** Position of the cursor on an axis, from its base; null while the time of its step is unknown. */
export function cursorPosition(domain: Domain): number | null {
  if (domain.axis === "step") return cursorStep.value + 0.5;
  const at = stateAt.value.data;
  return at?.time_us == null ? null : at.time_us - domain.base;
}

/**
 * The pointer's step, with a little delay: a sweep over the picture must not ask for every step.
 */
const restingStep = resting(() => hoverStep.value?.step ?? null, 90);

const WITH_LEGEND: readonly string[] = ["timeline", LANES_VIEW];

/** The legend follows the pointer, and returns to the cursor when the pointer leaves. */
export const legendStep = computed(() => restingStep.value ?? cursorStep.value);

export const legend = follow<Legend>(() => {
  if (!pictured.value || !place.value || !WITH_LEGEND.includes(page.value.view)) return null;
  return {
    path: "legend",
    params: { ...place.value, step: legendStep.value, by: page.value.colour },
  };
}, true);

const WITH_BANDS = ["timeline", "map"];

export const annotations = follow<Annotations>(() =>
  pictured.value && place.value && WITH_BANDS.includes(page.value.view)
    ? { path: "annotations", params: place.value }
    : null,
);

const genOf = ({ gen }: { gen?: number }) => (gen === undefined ? {} : { gen });

export const selection = follow<Allocation>(() =>
  place.value && page.value.sel !== null
    ? {
        path: "allocation",
        params: { file: place.value.file, ...genOf(place.value), id: page.value.sel },
      }
    : null,
);

/** Only some files name categories; then the legend has a row with a slot. */
const categories = follow<Legend>(() =>
  pictured.value &&
  place.value &&
  WITH_LEGEND.includes(page.value.view) &&
  (device.value?.events ?? 0) > 0
    ? { path: "legend", params: { ...place.value, step: cursorStep.value, by: "category" } }
    : null,
);
const hasCategories = computed(() =>
  (categories.value.data?.rows ?? []).some((row) => row.slot >= 1 && row.slot <= 8),
);

/** What this file can be coloured by. */
export const colourings = computed<readonly LegendBy[]>(() =>
  LEGENDS.filter((by) => by !== "category" || hasCategories.value || page.value.colour === by),
);
