// The filter of the page: its text is in the URL, what it lets pass is asked once, and the views
// use it when the server has understood it. Nothing moves when a filter changes; the rest turns
// grey.
import { computed, effect, signal } from "@preact/signals";
import { frozen } from "../../api/frozen";
import type { Categories, FilterAnswer } from "../../api/views_contract";
import { formatTerms, parseTerms } from "../link/filter_terms";
import { cursorStep } from "../page/cursor";
import { device, follow, go, page, pictured, place } from "../page/store";

/** The bar is open although nothing is filtered. */
export const filterOpen = signal(false);

export const filtered = follow<FilterAnswer>(() => {
  const filter = page.value.filter.trim();
  return place.value && filter !== "" && frozen === null
    ? { path: "filter", params: { ...place.value, filter } }
    : null;
}, true);

/** The last text that was understood, of what is asked now or before; null: everything passes. */
export const passing = signal<string | null>(null);
effect(() => {
  const wanted = page.value.filter.trim();
  const { data, error, loading } = filtered.value;
  if (wanted === "" || error) passing.value = null;
  else if (data && !loading) passing.value = wanted;
});

/** Not yet known: who asks now would show for a moment what the link filters away. */
export const filterPending = computed(
  () =>
    frozen === null &&
    page.value.filter.trim() !== "" &&
    passing.value === null &&
    !filtered.value.error,
);

/** Without the frame that the flame graph points out itself: its shapes must not move. */
export const passingForFlame = computed<string | null>(() => {
  if (passing.value === null) return null;
  const rest = formatTerms(parseTerms(passing.value).filter((term) => term.key !== "frame"));
  return rest === "" ? null : rest;
});

export function setFilter(filter: string): void {
  go({ filter });
}

/** What memory is for at the cursor, with the unknown share. */
export const categories = follow<Categories>(() => {
  const wanted = filterOpen.value || page.value.filter !== "" || page.value.colour === "category";
  if (frozen !== null || !wanted || !pictured.value || !place.value || !device.value) return null;
  return { path: "categories", params: { ...place.value, step: cursorStep.value } };
}, true);
