// Tables with their columns, worked questions, what was asked before.
import { useSignal } from "@preact/signals";
import type { Schema } from "../../api/query_contract";
import { sqlHistory } from "../../state/answers/sql";
import { integer } from "../../text/units";
import { visible, visibleLines } from "../../text/visible";
import { Icon } from "../../ui/icons";

interface SidebarProps {
  schema: Schema;
  onAsk: (sql: string) => void;
  onInsert: (text: string) => void;
}

export function Sidebar({ schema, onAsk, onInsert }: SidebarProps) {
  const open = useSignal<ReadonlySet<string>>(new Set(["allocations"]));
  const toggle = (name: string) => {
    const next = new Set(open.value);
    if (!next.delete(name)) next.add(name);
    open.value = next;
  };
  return (
    <aside class="schema" aria-label="Tables, questions, history">
      <h2>Tables</h2>
      <ul>
        {schema.tables.map((table) => (
          <li key={table.name} class="tablename">
            <button
              type="button"
              aria-expanded={open.value.has(table.name)}
              title={table.doc}
              onClick={() => toggle(table.name)}
            >
              <Icon name="go" class={open.value.has(table.name) ? "turned" : ""} />
              <span class="mono cut">{table.name}</span>
              <span class="faint num">{integer(table.rows)}</span>
            </button>
            {open.value.has(table.name) && (
              <ul>
                {table.columns.map((column) => (
                  <li key={column.name} class="col">
                    <button type="button" title={column.doc} onClick={() => onInsert(column.name)}>
                      <span class="mono cut">{column.name}</span>
                      <span class="faint">{column.type}</span>
                    </button>
                  </li>
                ))}
              </ul>
            )}
          </li>
        ))}
      </ul>
      <h2>Questions</h2>
      <ul>
        {schema.questions.map((question) => (
          <li key={question.title} class="question">
            <button type="button" title={question.sql} onClick={() => onAsk(question.sql)}>
              {question.title}
            </button>
          </li>
        ))}
      </ul>
      {schema.functions.length > 0 && (
        <>
          <h2>Functions</h2>
          <ul>
            {schema.functions.map((one) => (
              <li key={one.name} class="col">
                <button type="button" title={one.doc} onClick={() => onInsert(one.name)}>
                  <span class="mono cut">{one.name}</span>
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
      {sqlHistory.value.length > 0 && (
        <>
          <h2>History</h2>
          <ul>
            {sqlHistory.value.map((sql) => (
              <li key={sql} class="question">
                <button
                  type="button"
                  class="mono"
                  title={visibleLines(sql)}
                  onClick={() => onAsk(sql)}
                >
                  {visible(sql.replaceAll(/\s+/g, " "))}
                </button>
              </li>
            ))}
          </ul>
        </>
      )}
    </aside>
  );
}
