// The rows behind the pictures. Sorting and filtering run in the engine; the page asks for the rows
// that are on the screen.

import { useEffect } from "preact/hooks";
import type { FigureName } from "../../api/incomplete";
import { TABLES, type TableName } from "../../state/link/url";
import { onKey } from "../../state/page/keys";
import { device, file, go, page } from "../../state/page/store";
import { counted, integer } from "../../text/units";
import { Icon } from "../../ui/icons";
import { IncompleteTag, OF_COPIES, OF_HOLDERS, OF_LAUNCHES, OF_MEMORY } from "../../ui/incomplete";
import { ErrorNotice, Notice } from "../../ui/notice";
import { Switch } from "../../ui/switch";
import { Name } from "../../ui/text";
import { csvUrl, rowActions } from "./actions";
import { chosen, copied, copyChosen } from "./chosen";
import { isOfProcess } from "./columns";
import { Grid } from "./grid";
import { held, rowAt, waiting } from "./pages";

const NAMES: Record<TableName, string> = {
  allocations: "Allocations",
  segments: "Segments",
  stacks: "Stacks",
  phases: "Phases",
  streams: "Streams",
  kernels: "Kernels",
  copies: "Copies",
  tensors: "Tensors",
};

/** Which figures the rows hold, where that is not memory and its holders. */
const FIGURES: Partial<Record<TableName, readonly FigureName[]>> = {
  kernels: OF_LAUNCHES,
  copies: OF_COPIES,
  phases: OF_MEMORY,
};

const NOUNS: Record<TableName, string> = {
  allocations: "allocation",
  segments: "segment",
  stacks: "stack",
  phases: "phase",
  streams: "stream",
  kernels: "kernel",
  copies: "kind of copy",
  tensors: "named tensor",
};

/** Where that is not the noun with an s. */
const PLURALS: Partial<Record<TableName, string>> = { copies: "kinds of copy" };

/** "1,523 of 4,102 allocations" */
function Count() {
  const { first } = held.value;
  if (!first) return null;
  const table = first.name as TableName;
  const noun = NOUNS[table] ?? "row";
  return (
    <span class="sub cut" role="status">
      {first.shown < first.total && (
        <>
          <b class="strong">{integer(first.shown)}</b> of{" "}
        </>
      )}
      {counted(first.total, noun, PLURALS[table])} of{" "}
      {isOfProcess(table) ? <Name text={file.value?.name ?? ""} /> : (device.value?.label ?? "")}
    </span>
  );
}

function Actions() {
  const { first } = held.value;
  const table = page.value.table;
  const at = chosen.value?.at ?? null;
  const row = at === null ? null : rowAt(held.value, at);
  const several = chosen.value !== null && chosen.value.anchor !== chosen.value.at;
  return (
    <div class="strip">
      {first && row ? (
        <>
          <span class="cut">
            {several
              ? `${integer(Math.abs(chosen.value ? chosen.value.at - chosen.value.anchor : 0) + 1)} rows`
              : `Row ${integer((at ?? 0) + 1)}`}
          </span>
          {rowActions(first, row).map((action) => (
            <a class="btn" key={action.name} href={action.href} title={action.title}>
              {action.name}
            </a>
          ))}
        </>
      ) : (
        <span class="faint cut">Select a row to open it in other views</span>
      )}
      <span class="spacer" />
      <IncompleteTag rows={file.value?.incomplete} figures={FIGURES[table] ?? OF_HOLDERS} />
      <button
        type="button"
        class="btn"
        title={chosen.value ? "Copy the selected rows  Ctrl C" : "Copy the first 1,000 rows"}
        onClick={() => void copyChosen()}
      >
        <Icon name="copy" />
        {copied.value === "" ? "Copy" : copied.value}
      </button>
      <a
        class="btn"
        href={csvUrl()}
        download={`${page.value.table}.csv`}
        title="All rows that pass the filter, up to a million"
      >
        <Icon name="out" />
        CSV
      </a>
    </div>
  );
}

/** How a program makes rows that are missing. */
const TO_RECORD: Partial<Record<TableName, { text: string; code: string }>> = {
  phases: {
    text: "Phases are annotations of the program. To record them:",
    code: 'with torch.profiler.record_function("forward"):\n    …',
  },
  tensors: {
    text: "Names come from the program. To keep them with the snapshot:",
    code: "tidegauge.torch.names(model, optimizer)",
  },
};

/** Launches and copies are seen by the recorder only. */
function NoWork({ table }: { table: TableName }) {
  const recorded = file.value?.recording != null || /^recording/.test(file.value?.format ?? "");
  const what = table === "kernels" ? "kernel launch" : "copy";
  return (
    <Notice
      icon="tables"
      title={
        recorded
          ? `No ${what} was recorded`
          : `A snapshot contains no ${NAMES[table].toLowerCase()}`
      }
      {...(recorded
        ? {}
        : { code: "tidegauge record -o run.sqlite -- python train.py\ntidegauge view run.sqlite" })}
    >
      <p>
        {recorded
          ? "This process made none while it was watched, or used functions that are not watched. Inside a CUDA graph they are not counted one by one."
          : "The recorder counts them while the program runs:"}
      </p>
    </Notice>
  );
}

function Nothing() {
  const { first } = held.value;
  const table = page.value.table;
  if (first && first.total > 0) {
    return (
      <Notice
        icon="tables"
        title={`No ${NOUNS[table]} passes the filter`}
        actions={
          <button type="button" class="btn" onClick={() => go({ filter: "" })}>
            Clear the filter
          </button>
        }
      >
        <p>{counted(first.total, NOUNS[table])} were searched.</p>
      </Notice>
    );
  }
  if (isOfProcess(table)) return <NoWork table={table} />;
  const how = TO_RECORD[table];
  return (
    <Notice
      icon="tables"
      title={`${device.value?.label ?? "This device"} has no ${NOUNS[table]}s`}
      {...(how ? { code: how.code } : {})}
    >
      <p>{how?.text ?? "No rows of this type were recorded."}</p>
    </Notice>
  );
}

export function TablesView() {
  useEffect(
    () =>
      onKey((event) => {
        if (event.key !== "m" && event.key !== "M") return false;
        const by = event.key === "m" ? 1 : TABLES.length - 1;
        const next = TABLES[(TABLES.indexOf(page.peek().table) + by) % TABLES.length];
        if (next) go({ table: next, sort: null });
        return true;
      }),
    [],
  );
  const { first, error } = held.value;
  const table = page.value.table;
  const mine = first?.name === table ? first : null;
  return (
    <section class="view on" aria-label="Tables">
      <header class="viewhead">
        <h1>Tables</h1>
        <Count />
        <Switch
          label="Table"
          options={TABLES.map((name) => ({ key: name, text: NAMES[name], title: "Next table  m" }))}
          chosen={table}
          onChoose={(name) => go({ table: name, sort: null })}
        />
      </header>
      <Actions />
      {error && (
        <div class="pad14">
          <ErrorNotice
            error={error}
            retry={() => go({ sort: null, filter: "" })}
            retryLabel="Reset order and filter"
          />
        </div>
      )}
      {!error && mine && mine.shown > 0 && (
        <div class={`gridbox${waiting.value ? " stale" : ""}`} aria-busy={waiting.value}>
          <Grid answer={mine} />
        </div>
      )}
      {!error && mine && mine.shown === 0 && (
        <div class="body">
          <div class="center">
            <Nothing />
          </div>
        </div>
      )}
      {!error && !mine && (
        <div class="body">
          <div class="center">
            <div class="progress" role="progressbar" aria-label="Reading the rows" />
          </div>
        </div>
      )}
    </section>
  );
}
