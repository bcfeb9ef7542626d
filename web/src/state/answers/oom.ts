// Which out-of-memory event the view is about, and the server's story of it.
import { computed } from "@preact/signals";
import type { Oom } from "../../api/contract";
import type { OomStory } from "../../api/oom";
import { device, follow, go, page, place } from "../page/store";
import { worstOom } from "../recording/ooms";

export const OOM_VIEW = "oom";

/** The event under the cursor, else the nearest one before it, else the worst. */
function chosenOom(ooms: readonly Oom[], at: number | null): Oom | null {
  if (at !== null) {
    const before = ooms.filter((one) => one.step <= at);
    const last = before[before.length - 1];
    if (last) return last;
  }
  return worstOom(ooms);
}

export const shownOom = computed<Oom | null>(() =>
  chosenOom(device.value?.ooms ?? [], page.value.at),
);

export const oomStory = follow<OomStory>(() => {
  const oom = shownOom.value;
  if (page.value.view !== OOM_VIEW || !place.value || !oom) return null;
  return { path: "oom", params: { ...place.value, step: oom.step } };
}, true);

export function goOom(by: number): void {
  const ooms = device.peek()?.ooms ?? [];
  const here = ooms.findIndex((one) => one.step === shownOom.peek()?.step);
  const next = ooms[Math.max(0, Math.min(ooms.length - 1, here + by))];
  if (next && next.step !== page.peek().at) go({ at: next.step });
}
