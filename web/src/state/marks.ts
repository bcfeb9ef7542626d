// What is marked in the pictures: the hits of a search or the rows of a query. The URL keeps their
// text; the server's number of the mark lives only here.
import { computed, effect, signal } from "@preact/signals";
import { type ApiError, asApiError, getJson, isAbort, postJson } from "../api/client";
import type { Hit, SearchResult, SqlResult } from "../api/query_contract";
import { device, follow, go, page, place } from "./store";
import { recall, remember } from "./theme";

export const search = follow<SearchResult>(() => {
  const q = page.value.q.trim();
  return place.value && q !== ""
    ? { path: "search", params: { ...place.value, q, limit: 50 } }
    : null;
}, true);

export interface SqlAnswer {
  sql: string;
  file: number;
  result: SqlResult;
}

export const sqlAnswer = signal<SqlAnswer | null>(null);
export const sqlError = signal<ApiError | null>(null);
export const sqlRunning = signal(false);

export const ROW_LIMIT = 100_000;
let running: AbortController | null = null;
let asked = "";

/** Runs a query; its text goes into the URL and the history. */
export async function runSql(sql: string): Promise<void> {
  const at = place.value;
  if (!at || sql.trim() === "") return;
  running?.abort();
  running = new AbortController();
  const mine = running;
  sqlRunning.value = true;
  go({ sql });
  try {
    const body = { file: at.file, sql, limit: ROW_LIMIT };
    const result = await postJson<SqlResult>("sql", body, mine.signal);
    sqlAnswer.value = { sql, file: at.file, result };
    sqlError.value = null;
    rememberQuery(sql);
  } catch (error) {
    if (isAbort(error)) return;
    sqlAnswer.value = null;
    sqlError.value = asApiError(error);
  } finally {
    if (running === mine) sqlRunning.value = false;
  }
}

// a link that marks the rows of a query: the query runs again wherever the link leads
effect(() => {
  const { view, sql, mark: source } = page.value;
  const at = place.value;
  if (!at || view === "sql" || source !== "sql" || sql.trim() === "") return;
  const known = sqlAnswer.peek();
  if (asked === `${at.file} ${sql}` || (known?.sql === sql && known.file === at.file)) return;
  asked = `${at.file} ${sql}`;
  void runSql(sql);
});

export interface Mark {
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
    if (!answer || answer.file !== place.value?.file || answer.result.mark === null) return null;
    return { number: answer.result.mark, count: answer.result.marked, source: "sql" };
  }
  return null;
});

/** Which hit the page stands at; −1 before the first jump. */
export const hitIndex = signal(-1);

/** Jumps to the next or previous member of the mark and selects it. */
export async function jump(by: number): Promise<void> {
  const [of, at] = [mark.value, place.value];
  if (!of || !at || of.count === 0) return;
  const index = hitIndex.value < 0 && by < 0 ? of.count - 1 : hitIndex.value + by;
  const wrapped = ((index % of.count) + of.count) % of.count;
  const params = { file: at.file, mark: of.number, index: wrapped };
  const hit = await getJson<Hit>("hit", params);
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

// ---- history of queries --------------------------------------------------------------------------

const HISTORY_KEY = "tidegauge.sql";
const HISTORY_LENGTH = 30;

function readHistory(): string[] {
  try {
    const list: unknown = JSON.parse(recall(HISTORY_KEY) ?? "[]");
    return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
  } catch {
    return [];
  }
}

export const sqlHistory = signal<readonly string[]>(readHistory());

function rememberQuery(sql: string): void {
  const rest = sqlHistory.value.filter((one) => one !== sql);
  sqlHistory.value = [sql, ...rest].slice(0, HISTORY_LENGTH);
  remember(HISTORY_KEY, JSON.stringify(sqlHistory.value));
}
