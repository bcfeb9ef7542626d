// Questions in SQL. The answer is a table; rows that are allocations can be marked in the pictures.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Schema } from "../../api/query_contract";
import {
  ROW_LIMIT,
  runSql,
  type SqlAnswer,
  sqlAnswer,
  sqlError,
  sqlIsOlder,
  sqlRunning,
  sqlStopped,
  stopSql,
} from "../../state/answers/sql";
import { attempt } from "../../state/page/notes";
import { file, follow, go, linkRead, page, pictured, session } from "../../state/page/store";
import { counted, integer } from "../../text/units";
import { Icon } from "../../ui/icons";
import { ErrorNotice, Notice } from "../../ui/notice";
import { saveCsv } from "./cells";
import type { SqlEditor } from "./editor";
import { ResultTable } from "./result_table";
import { Sidebar } from "./sidebar";

export const schema = follow<Schema>(() =>
  file.value && page.value.view === "sql"
    ? { path: "schema", params: { file: file.value.id } }
    : null,
);

const START_SQL = `SELECT *
FROM allocations
LIMIT 100`;

function Editor({ of, hold }: { of: Schema; hold: { current: SqlEditor | null } }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const el = host.current;
    if (!el) return;
    let gone = false;
    const start = page.peek().sql || of.questions[0]?.sql || START_SQL;
    const run = () => void runSql(hold.current?.text() ?? "");
    const loaded = import("./editor").then(({ createEditor }) => {
      if (gone) return;
      hold.current = createEditor(el, start, of, run, (text) => go({ sql: text }));
      hold.current.focus();
    });
    attempt(loaded);
    return () => {
      gone = true;
      hold.current?.destroy();
      hold.current = null;
    };
  }, [of, hold]);
  return (
    <div class="editor">
      <div class="shadowhost" ref={host} />
    </div>
  );
}

/** "3 s", from the moment on when a second has passed. */
function RunningFor({ since }: { since: number }) {
  const seconds = useSignal(0);
  useEffect(() => {
    const timer = window.setInterval(() => {
      seconds.value = Math.floor((performance.now() - since) / 1000);
    }, 250);
    return () => window.clearInterval(timer);
  }, [since, seconds]);
  return <span class="num">{seconds.value > 0 ? `${integer(seconds.value)} s` : ""}</span>;
}

function Strip() {
  const answer = sqlAnswer.value;
  const since = sqlRunning.value;
  if (since !== null) {
    return (
      <div class="strip">
        <span role="status">Running…</span>
        <RunningFor since={since} />
        <span class="spacer" />
        <button type="button" class="btn" onClick={stopSql}>
          Cancel
        </button>
      </div>
    );
  }
  if (sqlStopped.value) {
    return (
      <div class="strip" role="status">
        The query was cancelled.
      </div>
    );
  }
  if (!answer || answer.file !== file.value?.id) {
    return <div class="strip">Ctrl+Enter runs the query, Esc leaves the editor.</div>;
  }
  const { result } = answer;
  const limit = result.truncated ? `; limited to ${integer(ROW_LIMIT)} rows, more exist` : "";
  return (
    <div class="strip" role="status">
      <b class="strong">{counted(result.rows.length, "row")}</b>
      <span>
        {result.elapsed_ms < 10 ? result.elapsed_ms.toFixed(1) : integer(result.elapsed_ms)} ms
        {limit}
        {sqlIsOlder.value && "; the recording has grown since, run the query again"}
      </span>
      <span class="spacer" />
      <span class="opt">
        {result.mark === null
          ? "Select a column id or allocation_id to mark the rows in the timeline"
          : `${counted(result.marked, "allocation")} can be marked in the timeline`}
      </span>
    </div>
  );
}

/** Shown below the strip: rows, that there are none, or why not. Old rows fade. */
function Outcome({ answer }: { answer: SqlAnswer | null }) {
  if (sqlError.value && sqlRunning.value === null) {
    return (
      <div class="pad14">
        <ErrorNotice error={sqlError.value} />
      </div>
    );
  }
  if (!answer) return null;
  if (answer.result.rows.length > 0) {
    return <ResultTable result={answer.result} stale={sqlRunning.value !== null} />;
  }
  return (
    <div class="pad14">
      <Notice icon="sql" title="No row matches">
        <p>The query ran and found nothing.</p>
      </Notice>
    </div>
  );
}

function limits(): string {
  const seconds = session.value?.time_limit_s;
  const time = seconds === undefined ? "" : `${integer(seconds)} s and `;
  return `Read only, SQLite, at most ${time}${integer(ROW_LIMIT)} rows`;
}

export function SqlView() {
  const editor = useRef<SqlEditor | null>(null);
  useSignalEffect(() => {
    if (schema.value.data) pictured.value = true;
  });
  const { data, error } = schema.value;
  const answer = sqlAnswer.value;
  const mine = answer && answer.file === file.value?.id ? answer : null;
  // while a query runs, the buttons have no result to use
  const usable = sqlRunning.value === null ? mine : null;

  // a link to another query, while this view is open
  useSignalEffect(() => {
    void linkRead.value;
    const wanted = page.peek().sql;
    const now = editor.current;
    if (now && wanted !== "" && wanted !== now.text()) now.setText(wanted);
  });

  const ask = (sql: string) => {
    editor.current?.setText(sql);
    void runSql(sql);
  };
  const show = () => go({ view: "timeline", mark: "sql", x: null, y: null }, true);

  return (
    <section class="view on" aria-label="SQL">
      <header class="viewhead">
        <h1>SQL</h1>
        <span class="sub cut">{limits()}</span>
        <button
          type="button"
          class="btn"
          disabled={!usable}
          onClick={() => usable && saveCsv(usable.result, `${file.value?.name ?? "rows"}.csv`)}
        >
          <Icon name="out" />
          CSV
        </button>
        <button
          type="button"
          class="btn"
          disabled={!usable || usable.result.mark === null || usable.result.marked === 0}
          onClick={show}
        >
          Show in timeline
        </button>
        <button
          type="button"
          class="btn primary"
          onClick={() => void runSql(editor.current?.text() ?? "")}
        >
          <Icon name="play" />
          Run <span class="kbdin">Ctrl ↵</span>
        </button>
      </header>
      {error && (
        <div class="center">
          <ErrorNotice error={error} />
        </div>
      )}
      {data && (
        <div class="sqlwrap">
          <Sidebar schema={data} onAsk={ask} onInsert={(text) => editor.current?.insert(text)} />
          <div class="sqlmain">
            <Editor of={data} hold={editor} />
            <Strip />
            <Outcome answer={mine} />
          </div>
        </div>
      )}
    </section>
  );
}
