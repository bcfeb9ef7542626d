// What the What-if view asks: the settings that are known to help, and one that the user wrote.
import { signal } from "@preact/signals";
import { type ApiError, asApiError, getJson, postJson } from "../../api/client";
import type { Session } from "../../api/contract";
import type { WhatIf } from "../../api/what_if";
import { adoptGrown, follow, go, page, place, placePatch } from "../page/store";

export const WHAT_IF_VIEW = "what-if";

export const whatIf = follow<WhatIf>(() => {
  const { view, set, cap } = page.value;
  if (view !== WHAT_IF_VIEW || !place.value) return null;
  const params = { ...place.value, set, ...(cap === null ? {} : { capacity: cap }) };
  return { path: "what_if", params };
}, true);

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
