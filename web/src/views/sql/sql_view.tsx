// Questions in SQL. The answer is a table; rows that are allocations can be marked in the pictures.
import { useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Schema } from "../../api/query_contract";
import { ROW_LIMIT, runSql, sqlAnswer, sqlError, sqlRunning } from "../../state/marks";
import { file, follow, go, page } from "../../state/store";
import { Icon } from "../../ui/icons";
import { ErrorNotice, Notice } from "../../ui/notice";
import { counted, integer } from "../../ui/units";
import { saveCsv } from "./csv";
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
    void import("./editor").then(({ createEditor }) => {
      if (gone) return;
      hold.current = createEditor(el, start, of, run, (text) => go({ sql: text }));
      hold.current.focus();
    });
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

function Strip() {
  const answer = sqlAnswer.value;
  if (sqlRunning.value) return <div class="strip">Running…</div>;
  if (!answer) return <div class="strip">Ctrl and Enter run the query.</div>;
  const { result } = answer;
  const limit = result.truncated
    ? `, more exist: the limit of ${integer(ROW_LIMIT)} rows was met`
    : "";
  return (
    <div class="strip" role="status">
      <b class="strong">{counted(result.rows.length, "row")}</b>
      <span>
        {result.elapsed_ms < 10 ? result.elapsed_ms.toFixed(1) : integer(result.elapsed_ms)} ms
        {limit}
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

export function SqlView() {
  const editor = useRef<SqlEditor | null>(null);
  const asked = useSignal(false);
  const { data, error } = schema.value;
  const answer = sqlAnswer.value;
  const mine = answer && answer.file === file.value?.id ? answer : null;

  // a link with a query shows its answer
  useEffect(() => {
    const text = page.peek().sql;
    if (!data || asked.value || text.trim() === "" || sqlAnswer.peek()?.sql === text) return;
    asked.value = true;
    void runSql(text);
  }, [data, asked]);

  // a link to another query, while this view is open; runs within the change of the state, so that
  // what is typed has always reached the editor before
  useSignalEffect(() => {
    const wanted = page.value.sql;
    const now = editor.current;
    if (!now || wanted === "" || wanted === now.text()) return;
    now.setText(wanted);
    void runSql(wanted);
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
        <span class="sub cut">Read only, SQLite, limits 5 s and {integer(ROW_LIMIT)} rows</span>
        <button
          type="button"
          class="btn"
          disabled={!mine}
          onClick={() => mine && saveCsv(mine.result, `${file.value?.name ?? "rows"}.csv`)}
        >
          <Icon name="out" />
          CSV
        </button>
        <button
          type="button"
          class="btn"
          disabled={!mine || mine.result.mark === null || mine.result.marked === 0}
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
            {sqlError.value && (
              <div class="pad14">
                <ErrorNotice error={sqlError.value} />
              </div>
            )}
            {!sqlError.value && mine && mine.result.rows.length > 0 && (
              <ResultTable result={mine.result} />
            )}
            {!sqlError.value && mine && mine.result.rows.length === 0 && (
              <div class="pad14">
                <Notice icon="sql" title="No row matches">
                  <p>The query ran and found nothing.</p>
                </Notice>
              </div>
            )}
          </div>
        </div>
      )}
    </section>
  );
}
