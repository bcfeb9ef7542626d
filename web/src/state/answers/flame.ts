// What the flame view asks: whose bytes, of which steps, by which frames.
import { computed } from "@preact/signals";
import { decodeTree, type FlameAnswer, type FlameTree, type SandwichAnswer } from "../../api/flame";
import { frozenDevice } from "../../api/frozen";
import { termOf } from "../link/filter_terms";
import type { FlameOf, Range } from "../link/url";
import { cursorStep } from "../page/cursor";
import { device, follow, page, place } from "../page/store";
import { filterPending, passingForFlame } from "./filters";

/** First and last step that the flame graph is about, both included. */
export const spanSteps = computed<Range>(() => {
  const exported = frozenDevice(device.value?.ordinal);
  if (exported) return [exported.from, exported.to];
  const last = Math.max(0, (device.value?.events ?? 1) - 1);
  const { span, x, axis } = page.value;
  const wanted = span ?? (axis === "step" ? x : null);
  if (!wanted) return [0, last];
  const low = Math.max(0, Math.min(last, Math.round(wanted[0])));
  return [low, Math.max(low, Math.min(last, Math.round(wanted[1]) - (span ? 0 : 1)))];
});

export function needsSpan(of: FlameOf): boolean {
  return of === "allocated" || of === "growth" || of === "churn";
}

/** The frame that was picked: it is a term of the filter, so that every view knows it. */
export const pickedFrame = computed<number | null>(() => {
  const term = termOf(page.value.filter, "frame");
  return term && !term.not && /^\d{1,10}$/.test(term.value) ? Number(term.value) : null;
});

function params() {
  const { flame, frames, noise, hide } = page.value;
  const [from, to] = spanSteps.value;
  return {
    ...(place.value ?? { file: 0, device: 0 }),
    of: flame,
    ...(flame === "live" ? { step: cursorStep.value } : {}),
    ...(needsSpan(flame) ? { from, to } : {}),
    frames,
    ...(noise ? { noise: 1 } : {}),
    ...(hide.trim() === "" ? {} : { hide: hide.trim() }),
    ...(passingForFlame.value === null ? {} : { filter: passingForFlame.value }),
  };
}

const shown = computed(
  () => page.value.view === "flame" && place.value !== null && !filterPending.value,
);

export const flame = follow<FlameAnswer>(
  () => (shown.value ? { path: "flame", params: params() } : null),
  true,
);

export const flameTree = computed<FlameTree | null>(() => {
  const { data } = flame.value;
  return data ? decodeTree(data.tree, data.frames) : null;
});

export const sandwich = follow<SandwichAnswer>(() => {
  const frame = page.value.sandwich;
  return shown.value && frame !== null
    ? { path: "sandwich", params: { ...params(), frame } }
    : null;
}, true);

export const sandwichTrees = computed<{ callers: FlameTree; callees: FlameTree } | null>(() => {
  const { data } = sandwich.value;
  if (!data) return null;
  return {
    callers: decodeTree(data.callers, data.frames),
    callees: decodeTree(data.callees, data.frames),
  };
});
