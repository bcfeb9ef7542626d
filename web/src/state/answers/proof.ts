// What a replay says about the advice that is shown: requested after the rest of the view.
import type { Advice, Sentence } from "../../api/contract";
import { frozen } from "../../api/frozen";
import { START } from "../link/url";
import { follow, page, pictured, place } from "../page/store";
import { OOM_VIEW, shownOom } from "./oom";

interface Proof {
  sentences: Sentence[];
  /** the advice again: first what the replay proves, last what it disproves */
  advice: Advice[];
  /** in that order: what the replay shows; null: it tests nothing */
  of_advice: (string | null)[];
}

export const overviewProof = follow<Proof | null>(() =>
  frozen === null && page.value.view === START.view && place.value && pictured.value
    ? { path: "proof", params: { ...place.value } }
    : null,
);

export const oomProof = follow<Proof | null>(() => {
  const oom = shownOom.value;
  if (frozen !== null || page.value.view !== OOM_VIEW || !place.value || !oom) return null;
  return { path: "proof", params: { ...place.value, step: oom.step } };
});
