// The keys for what is marked and chosen, the same in every picture.
import { clearMark, jump, mark } from "../../../state/answers/marks";
import { go, page } from "../../../state/page/store";

/** Next and previous hit, only the hits. True: the key was used. */
export function markKey(event: KeyboardEvent): boolean {
  if (event.key === "n") jump(1);
  else if (event.key === "N") jump(-1);
  else if (event.key === "o") {
    if (mark.value) go({ only: !page.value.only });
  } else return false;
  return true;
}

/** The selection first, then the segment, then the mark, then a cursor that was put somewhere. */
export function stepBack(): void {
  if (page.value.sel !== null) go({ sel: null });
  else if (page.value.seg !== null) go({ seg: null });
  else if (page.value.mark !== null) clearMark();
  else if (page.value.at !== null) go({ at: null });
}
