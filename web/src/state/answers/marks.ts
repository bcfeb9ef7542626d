// What is marked in the pictures: the hits of a search or the rows of a query. The URL keeps their
// text; the server's number of the mark lives only here.
import { computed, signal } from "@preact/signals";
import { getJson } from "../../api/client";
import { frozen } from "../../api/frozen";
import type { Hit, SearchResult } from "../../api/query_contract";
import { attempt } from "../page/notes";
import { device, file, follow, go, page, place } from "../page/store";
import { sqlAnswer } from "./sql";

export const search = follow<SearchResult>(() => {
  const q = page.value.q.trim();
  return place.value && q !== "" && frozen === null
    ? { path: "search", params: { ...place.value, q, limit: 50 } }
    : null;
}, true);

/** The answer to the text that is in the state now; null if there is none. */
export async function settledSearch(): Promise<SearchResult | null> {
  while (search.peek().loading) {
    await new Promise<void>((resolve) => {
      const stop = search.subscribe((now) => {
        if (now.loading) return;
        resolve();
        queueMicrotask(() => stop());
      });
    });
  }
  return search.peek().data;
}

interface Mark {
  number: number;
  count: number;
  source: "search" | "sql";
}

export const mark = computed<Mark | null>(() => {
  if (page.value.mark === "search") {
    const data = page.value.q.trim() === "" ? null : search.value.data;
    return data && data.count > 0
      ? { number: data.mark, count: data.count, source: "search" }
      : null;
  }
  if (page.value.mark === "sql") {
    const answer = sqlAnswer.value;
    if (!answer || answer.file !== file.value?.id || answer.result.mark === null) return null;
    return { number: answer.result.mark, count: answer.result.marked, source: "sql" };
  }
  return null;
});

/** The index of the current hit; −1 before the first jump. */
export const hitIndex = signal(-1);

/** Jumps to the next or previous member of the mark and selects it. */
export function jump(by: number): void {
  attempt(jumpNow(by));
}

async function jumpNow(by: number): Promise<void> {
  const [of, at] = [mark.value, place.value];
  if (!of || !at || of.count === 0) return;
  const index = hitIndex.value < 0 && by < 0 ? of.count - 1 : hitIndex.value + by;
  const wrapped = ((index % of.count) + of.count) % of.count;
  const params = { file: at.file, mark: of.number, index: wrapped };
  const hit = await getJson<Hit>("hit", params);
  // another search, or another file, in the meantime
  if (mark.peek()?.number !== of.number || place.peek()?.file !== at.file) return;
  hitIndex.value = hit.index;
  const other = hit.allocation.device !== device.value?.ordinal;
  go({
    view: "timeline",
    sel: hit.allocation.id,
    at: hit.allocation.first_step,
    ...(other ? { device: hit.allocation.device, x: null, y: null } : {}),
  });
}

export function clearMark(): void {
  hitIndex.value = -1;
  go({ mark: null, q: page.value.mark === "search" ? "" : page.value.q, only: false });
}
