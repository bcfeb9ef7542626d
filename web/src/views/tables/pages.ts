// The rows of a table, a page at a time: the engine sorts and filters, the page holds what it
// shows.
import { computed, effect, signal } from "@preact/signals";
import { type ApiError, asApiError, getJson, isAbort } from "../../api/client";
import type { TableAnswer, TableCell } from "../../api/views_contract";
import { filterPending, passing } from "../../state/answers/filters";
import { file, page, pictured, place, reading } from "../../state/page/store";
import { isOfProcess, sortOf } from "./columns";

export const PAGE_ROWS = 200;
const KEPT_PAGES = 60;

/** What the rows on the screen are rows of. */
export const question = computed(() => {
  if (page.value.view !== "tables") return null;
  const { table } = page.value;
  const sort = sortOf(table, page.value.sort);
  if (isOfProcess(table)) {
    if (!file.value) return null;
    const of = { file: file.value.id, ...reading(file.value) };
    return { ...of, name: table, sort: sort.column, order: sort.down ? "desc" : "asc" };
  }
  if (!place.value || filterPending.value) return null;
  return {
    ...place.value,
    name: page.value.table,
    sort: sort.column,
    order: sort.down ? "desc" : "asc",
    ...(passing.value === null ? {} : { filter: passing.value }),
  };
});

interface Held {
  /** what the rows are of; another question starts anew */
  key: string;
  first: TableAnswer | null;
  pages: ReadonlyMap<number, readonly TableCell[][]>;
  error: ApiError | null;
}

const NONE: Held = { key: "", first: null, pages: new Map(), error: null };
export const held = signal<Held>(NONE);
/** the last request has no answer yet */
export const waiting = computed(() => held.value.first === null || held.value.key !== keyNow.value);
const keyNow = computed(() => JSON.stringify(question.value));
let flights = new Map<number, AbortController>();
/** the page that was on the screen last */
let lastPage = 0;

/** A question without which reading of a recording it is about. */
export function lastingKey(key: string): string {
  const asked: object | null = key === "" ? null : JSON.parse(key);
  return JSON.stringify(asked && { ...asked, gen: 0 });
}

effect(() => {
  const key = keyNow.value;
  for (const flight of flights.values()) flight.abort();
  flights = new Map();
  if (question.value === null) return;
  // a recording that has grown: the rows on the screen stay until theirs are here
  const shown = lastingKey(key) === lastingKey(held.peek().key) ? lastPage : 0;
  askPage(key, shown);
});

function askPage(key: string, index: number): void {
  const asked = question.peek();
  if (!asked || flights.has(index)) return;
  const abort = new AbortController();
  flights.set(index, abort);
  const params = { ...asked, offset: index * PAGE_ROWS, limit: PAGE_ROWS };
  getJson<TableAnswer>("table", params, abort.signal)
    .then((answer) => {
      flights.delete(index);
      if (keyNow.peek() !== key) return;
      const same = held.peek().key === key ? held.peek() : { ...NONE, key };
      const pages = new Map(same.pages);
      pages.set(index, answer.rows);
      // the oldest page that is not this one goes
      for (const old of pages.keys()) {
        if (pages.size <= KEPT_PAGES) break;
        if (old !== index) pages.delete(old);
      }
      held.value = { key, first: same.first ?? answer, pages, error: null };
      pictured.value = true;
    })
    .catch((error: unknown) => {
      if (isAbort(error)) return;
      flights.delete(index);
      if (keyNow.peek() === key) held.value = { ...NONE, key, error: asApiError(error) };
      pictured.value = true;
    });
}

/** Asks for the pages of these rows, if they are not here. */
export function wantRows(first: number, last: number): void {
  const now = held.peek();
  if (now.first === null || now.key !== keyNow.peek()) return;
  const to = Math.min(last, now.first.shown) - 1;
  const from = Math.floor(first / PAGE_ROWS);
  lastPage = from;
  for (const [index, flight] of flights) {
    // pages that were scrolled over are not worth an answer
    if (index < from || index > Math.floor(to / PAGE_ROWS)) {
      flight.abort();
      flights.delete(index);
    }
  }
  for (let index = from; index <= Math.floor(to / PAGE_ROWS); index += 1) {
    if (!now.pages.has(index)) askPage(now.key, index);
  }
}

export function rowAt(of: Held, index: number): readonly TableCell[] | null {
  return of.pages.get(Math.floor(index / PAGE_ROWS))?.[index % PAGE_ROWS] ?? null;
}

export const MAX_COPIED = 1000;

/** Rows that may not be here yet, for copying. */
export async function rowsBetween(first: number, last: number): Promise<TableAnswer | null> {
  const asked = question.peek();
  if (!asked) return null;
  const limit = Math.min(MAX_COPIED, last - first + 1);
  return getJson<TableAnswer>("table", { ...asked, offset: first, limit });
}

/** With heads, cells with tabs between them: spreadsheets take it. */
export function tabbed(answer: TableAnswer): string {
  const clean = (cell: TableCell) => String(cell ?? "").replace(/[\t\r\n]+/g, " ");
  return [
    answer.columns.map((column) => column.name).join("\t"),
    ...answer.rows.map((row) => row.map(clean).join("\t")),
  ].join("\n");
}
