// The query of the SQL view: its text is in the URL, its answer here. One runs at a time.
import { computed, effect, signal, untracked } from "@preact/signals";
import { ApiError, asApiError, isAbort, postJson } from "../../api/client";
import type { SqlResult } from "../../api/query_contract";
import { visible } from "../../text/visible";
import { addNotes } from "../page/notes";
import { file, go, linkRead, page } from "../page/store";
import { recall, remember } from "../page/theme";

export interface SqlAnswer {
  sql: string;
  file: number;
  /** the reading of a recording that it is about */
  gen: number;
  result: SqlResult;
}

/** What the last query came to. An answer stays until the next one is there. */
export const sqlAnswer = signal<SqlAnswer | null>(null);
export const sqlError = signal<ApiError | null>(null);
/** when the query that runs was started, ms of the page's clock */
export const sqlRunning = signal<number | null>(null);
export const sqlStopped = signal(false);

export const ROW_LIMIT = 100_000;
let running: AbortController | null = null;

/** Runs a query; its text goes into the URL and, once it has an answer, into the history. */
export async function runSql(sql: string): Promise<void> {
  const of = file.value;
  if (!of) return;
  running?.abort();
  const mine = new AbortController();
  running = mine;
  sqlStopped.value = false;
  go({ sql });
  if (sql.trim() === "") {
    finish(null, new ApiError("There is no query.", "Enter a query, or choose a question.", 0));
    return;
  }
  sqlRunning.value = performance.now();
  try {
    const body = { file: of.id, sql, limit: ROW_LIMIT };
    const result = await postJson<SqlResult>("sql", { file: of.id }, body, mine.signal);
    if (running !== mine) return;
    finish({ sql, file: of.id, gen: of.gen ?? 0, result }, null);
    rememberQuery(sql);
  } catch (error) {
    if (isAbort(error) || running !== mine) return;
    finish(null, asApiError(error));
  }
}

function finish(answer: SqlAnswer | null, error: ApiError | null): void {
  running = null;
  sqlRunning.value = null;
  sqlAnswer.value = answer;
  sqlError.value = error;
}

/** Gives the query up; the server stops it when no client waits. */
export function stopSql(): void {
  if (!running) return;
  running.abort();
  finish(null, null);
  sqlStopped.value = true;
}

// a link that holds a query shows its answer, or marks its rows, wherever it leads
effect(() => {
  if (linkRead.value === 0) return;
  const { sql, view, mark } = page.peek();
  const of = file.peek();
  if (!of || sql.trim() === "" || (view !== "sql" && mark !== "sql")) return;
  const known = sqlAnswer.peek();
  if (known?.sql === sql && known.file === of.id) return;
  untracked(() => void runSql(sql).then(() => noteError(sql)));
});

const QUICK_MS = 100;

// what marks rows marks them in the recording that has grown, too; a long query is left alone
effect(() => {
  const of = file.value;
  const answer = sqlAnswer.peek();
  if (!of || !answer || answer.file !== of.id || answer.gen === (of.gen ?? 0)) return;
  const { mark, sql } = page.peek();
  if (mark !== "sql" || sql !== answer.sql || answer.result.elapsed_ms > QUICK_MS) return;
  if (sqlRunning.peek() === null) untracked(() => void runSql(sql));
});

/** The recording has grown since the query was answered. */
export const sqlIsOlder = computed(() => {
  const [of, answer] = [file.value, sqlAnswer.value];
  return of !== null && answer?.file === of.id && answer.gen !== (of.gen ?? 0);
});

/** Where no view shows the error of a link's query. */
function noteError(sql: string): void {
  const error = sqlError.peek();
  if (error && page.peek().view !== "sql" && page.peek().sql === sql) {
    addNotes(`The query in the link marks nothing. ${visible(error.what)}`);
  }
}

// ---- history of queries -------------------------------------------------------------------------

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
