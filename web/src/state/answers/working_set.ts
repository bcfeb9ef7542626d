// The Working set view: which files of measurements there are, and what one says.
import { computed, signal } from "@preact/signals";
import type { WorkingSet, WorkingSetInfo } from "../../api/working_set";
import { follow, page, session } from "../page/store";

export const WORKING_SET_VIEW = "working_set";

export const workingSets = computed<readonly WorkingSetInfo[]>(
  () => session.value?.working_sets ?? [],
);
/** No file but such ones: there is nothing but this view. */
export const onlyWorkingSets = computed(
  () => (session.value?.files.length ?? 0) === 0 && workingSets.value.length > 0,
);

export const chosenSet = signal(0);

export const workingSet = follow<WorkingSet>(() =>
  page.value.view === WORKING_SET_VIEW && workingSets.value.length > 0
    ? { path: "working_set", params: { id: chosenSet.value } }
    : null,
);
