// A click on a block selects it and puts the cursor there.
import { getJson } from "../../../api/client";
import type { Allocation } from "../../../api/contract";
import { frozen } from "../../../api/frozen";
import { NO_ID } from "../../../api/tile";
import type { PageState } from "../../../state/link/url";
import { attempt } from "../../../state/page/notes";
import { go, page } from "../../../state/page/store";
import type { Place } from "../tiles/source";
import type { Under } from "./pick";

/** `more`: what else changes with it, another recording for one. */
export function chooseBlock(at: Place, under: Under, more: Partial<PageState> = {}): void {
  const { quad, step, bytes } = under;
  if (quad && quad.id !== NO_ID) {
    go({ ...more, sel: quad.id, at: step });
    return;
  }
  // merged blocks have no id in the picture: the server, if there is one, knows which lies there
  go(frozen === null ? { ...more, at: step } : { ...more, at: step, sel: null });
  if (frozen !== null) return;
  const asked = page.peek();
  const found = getJson<{ allocation: Allocation | null }>("pick", { ...at, step, y: bytes });
  attempt(
    found.then(({ allocation }) => {
      const now = page.peek();
      // unless something else was chosen while the server looked
      const same = now.sel === asked.sel && now.at === step;
      if (same && now.file === asked.file && now.device === asked.device) {
        go({ sel: allocation?.id ?? null });
      }
    }),
  );
}
