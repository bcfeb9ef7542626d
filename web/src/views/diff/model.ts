// The rows that are shown and the one that is chosen.
import { computed, signal } from "@preact/signals";
import type { DiffRow } from "../../api/diff";
import { diff, laneA, laneB, placeOfB } from "../../state/answers/diff";
import { DIFF_ROWS } from "../../state/link/url";
import { go, page, placePatch } from "../../state/page/store";
import { textMatch } from "../../text/text_match";
import { rowKey } from "./words";

/** What the field above the rows says; rows that match are shown. */
export const wanted = signal("");

export const MAX_ROWS = 300;

const match = computed(() => textMatch(wanted.value));

/** Why the field cannot be searched for; empty: it can. */
export const wrongPattern = computed(() => (typeof match.value === "string" ? match.value : ""));

export const rows = computed<DiffRow[]>(() => {
  const all = diff.value.data?.rows ?? [];
  const matches = match.value;
  if (typeof matches !== "function") return all;
  return all.filter((row) => matches(`${row.label} ${row.caller ?? ""}`));
});

/** The answer may still be that of other rows. */
export const shownBy = computed(() => diff.value.data?.by ?? page.value.by);

export const chosen = computed<DiffRow | null>(() => {
  const key = page.value.row;
  if (key === "") return null;
  return (diff.value.data?.rows ?? []).find((row) => rowKey(shownBy.value, row) === key) ?? null;
});

export function choose(row: DiffRow | null): void {
  go({ row: row === null ? "" : rowKey(shownBy.value, row) });
}

/** A becomes B and B becomes A, with their places. */
export function exchange(): void {
  const [a, b] = [laneA.peek(), laneB.peek()];
  if (!a || !b) return;
  const { pa } = page.peek();
  const pb = placeOfB.peek();
  const other = a.key === b.key ? {} : placePatch(b.file, b.device.ordinal);
  go({ ...other, vs: a.key, pa: pb, pb: pa === pb ? "" : pa, row: "", way: [] }, true);
}

export function nextRows(by: number): void {
  const at = DIFF_ROWS.indexOf(page.peek().by);
  const next = DIFF_ROWS[(at + by + DIFF_ROWS.length) % DIFF_ROWS.length];
  if (next) go({ by: next, row: "" });
}

/** The row below or above the chosen one; its key is in sight then. */
export function step(by: number): void {
  const list = rows.peek().slice(0, MAX_ROWS);
  const at = chosen.peek() ? list.indexOf(chosen.peek() as DiffRow) : -1;
  const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : at + by];
  if (next) choose(next);
}
