// What the What-if view asks: the settings that are known to help, and one that the user wrote.
import { effect, signal } from "@preact/signals";
import { type ApiError, asApiError, getJson, postJson } from "../../api/client";
import type { Session } from "../../api/contract";
import type { WhatIf, WhatIfProgress } from "../../api/what_if";
import { adoptGrown, follow, go, page, place, placePatch } from "../page/store";

export const WHAT_IF_VIEW = "what-if";

const asked = () => {
  const { view, set, cap } = page.value;
  if (view !== WHAT_IF_VIEW || !place.value) return null;
  const params = { ...place.value, set, ...(cap === null ? {} : { capacity: cap }) };
  return { path: "what_if", params };
};

export const whatIf = follow<WhatIf>(asked, true);

/** How many settings have been replayed for the awaited answer; null: not known, or none awaited. */
export const replayed = signal<WhatIfProgress | null>(null);
const POLL_MS = 400;

effect(() => {
  replayed.value = null;
  const question = whatIf.value.loading ? asked() : null;
  if (question === null) return;
  let waits = true;
  const poll = setInterval(() => {
    getJson<WhatIfProgress>("what_if_progress", question.params)
      .then((progress) => {
        if (waits && progress.running) replayed.value = progress;
      })
      .catch(() => {}); // the answer itself reports what is wrong
  }, POLL_MS);
  return () => {
    waits = false;
    clearInterval(poll);
  };
});

/** The replay that is being made into a file, and why the last one could not be. */
export const opening = signal<{ settings: string | null; error: ApiError | null }>({
  settings: null,
  error: null,
});

/**
 * What the recording would have been under these settings joins the files, and its state is shown.
 */
export async function openReplay(settings: string): Promise<void> {
  const at = place.peek();
  if (at === null || opening.peek().settings !== null) return;
  const { cap } = page.peek();
  opening.value = { settings, error: null };
  try {
    const params = { ...at, set: settings, ...(cap === null ? {} : { capacity: cap }) };
    const made = await postJson<{ file: number }>("replay", params, null);
    adoptGrown(await getJson<Session>("session"), {});
    opening.value = { settings: null, error: null };
    go({ ...placePatch(made.file, at.device), view: "state" }, true);
  } catch (error) {
    opening.value = { settings: null, error: asApiError(error) };
  }
}
