// Search: lists what matches, counts it, jumps to it. Enter goes there, Ctrl+Enter keeps only these.
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { SearchResult } from "../api/query_contract";
import { clearMark, hitIndex, jump, search } from "../state/marks";
import { device, go, page } from "../state/store";
import { Icon } from "./icons";
import { Bytes } from "./text";
import { counted, integer } from "./units";

const DELAY_MS = 140;
const SHOWN = 12;
const SHOWN_PHASES = 5;

type Row =
  | { kind: "stack"; key: string; at: SearchResult["stacks"][number] }
  | { kind: "phase"; key: string; at: SearchResult["annotations"][number] };

function rowsOf(data: SearchResult | null): Row[] {
  if (!data) return [];
  return [
    ...data.stacks
      .slice(0, SHOWN)
      .map((at): Row => ({ kind: "stack", key: `s${at.stack_id}`, at })),
    ...data.annotations
      .slice(0, SHOWN_PHASES)
      .map((at): Row => ({ kind: "phase", key: `p${at.id}`, at })),
  ];
}

function goTo(row: Row): void {
  if (row.kind === "stack") {
    go({ view: "timeline", sel: row.at.first_id, mark: "search" }, true);
    return;
  }
  const end = Math.max(row.at.begin_step + 1, row.at.end_step);
  go(
    { view: "timeline", axis: "step", x: [row.at.begin_step, end], y: null, mark: "search" },
    true,
  );
}

function Marked({ text, match }: { text: string; match: [number, number] }) {
  const [from, to] = match;
  if (to <= from) return <>{text}</>;
  return (
    <>
      {text.slice(0, from)}
      <mark>{text.slice(from, to)}</mark>
      {text.slice(to)}
    </>
  );
}

function ResultRow({ row, chosen, onChoose }: { row: Row; chosen: boolean; onChoose: () => void }) {
  return (
    <li
      role="option"
      id={`hit-${row.key}`}
      aria-selected={chosen}
      onMouseDown={(event) => event.preventDefault()}
      onClick={onChoose}
    >
      {row.kind === "stack" ? (
        <>
          <span class="fn cut" title={`${row.at.label} ‹ ${row.at.caller}`}>
            <Marked text={row.at.label} match={row.at.match} />
            {row.at.caller !== "" && <span class="fi"> ‹ {row.at.caller.split(" ")[0]}</span>}
          </span>
          <span class="num">{integer(row.at.count)}</span>
          <Bytes value={row.at.bytes} />
        </>
      ) : (
        <>
          <span class="cut">{row.at.name}</span>
          <span />
          <span class="num faint">step {integer(row.at.begin_step)}</span>
        </>
      )}
    </li>
  );
}

function Results({
  q,
  chosen,
  onChoose,
}: {
  q: string;
  chosen: number;
  onChoose: (row: Row) => void;
}) {
  const { data, error, loading } = search.value;
  if (error) return <p class="hh">{error.what}</p>;
  if (!data) return loading ? <p class="hh">Searching…</p> : null;
  if (data.count === 0 && data.annotations.length === 0) {
    return (
      <p class="hh">
        <span>
          <b class="strong">No allocation matches “{q}”.</b>{" "}
          {counted(device.value?.allocations ?? 0, "allocation")} searched in frames, categories,
          metadata and addresses. Sizes are searched as &gt;512MiB or &lt;1KiB.
        </span>
      </p>
    );
  }
  const rows = rowsOf(data);
  const phases = rows.filter((row) => row.kind === "phase");
  const row = (one: Row) => (
    <ResultRow
      key={one.key}
      row={one}
      chosen={rows.indexOf(one) === chosen}
      onChoose={() => onChoose(one)}
    />
  );
  return (
    <>
      <div class="hh">
        <span>
          <b class="strong">{counted(data.count, "allocation")}</b> in{" "}
          {counted(data.stacks.length, "stack")}, <Bytes value={data.bytes} />
        </span>
        <span class="end">
          {hitIndex.value >= 0 && `hit ${integer(hitIndex.value + 1)} of ${integer(data.count)}`}
          <kbd>n</kbd>
          <kbd>N</kbd>
        </span>
      </div>
      <ul role="listbox" id="search-results" aria-label="Search results">
        {data.stacks.length > 0 && (
          <li role="presentation" class="hgroup">
            Frames
          </li>
        )}
        {rows.filter((one) => one.kind === "stack").map(row)}
        {phases.length > 0 && (
          <li role="presentation" class="hgroup">
            Phases
          </li>
        )}
        {phases.map(row)}
      </ul>
      <div class="hf" aria-hidden="true">
        <span>
          <kbd>↑</kbd>
          <kbd>↓</kbd> move
        </span>
        <span>
          <kbd>↵</kbd> go there
        </span>
        <span>
          <kbd>Ctrl ↵</kbd> keep only these
        </span>
      </div>
    </>
  );
}

export function SearchBox() {
  const input = useRef<HTMLInputElement>(null);
  const open = useSignal(false);
  const chosen = useSignal(0);
  const timer = useRef(0);
  const q = page.value.mark === "search" || open.value ? page.value.q : "";

  useEffect(() => {
    if (input.current && document.activeElement !== input.current) input.current.value = q;
  }, [q]);

  const type = (text: string) => {
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => {
      hitIndex.value = -1;
      chosen.value = 0;
      go({ q: text, mark: text.trim() === "" ? null : "search" });
    }, DELAY_MS);
    open.value = text.trim() !== "";
  };

  const leave = () => {
    open.value = false;
    input.current?.blur();
    document.querySelector<HTMLElement>("#timeline")?.focus();
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const rows = rowsOf(search.value.data);
    if (event.key === "Escape") {
      if (open.value || page.value.q === "") leave();
      else clearMark();
      if (page.value.q === "" && input.current) input.current.value = "";
    } else if (event.key === "ArrowDown")
      chosen.value = Math.min(rows.length - 1, chosen.value + 1);
    else if (event.key === "ArrowUp") chosen.value = Math.max(0, chosen.value - 1);
    else if (event.key === "Enter" && event.ctrlKey) {
      go({ view: "timeline", mark: "search", only: true }, true);
      leave();
    } else if (event.key === "Enter") {
      const row = rows[chosen.value];
      if (row) goTo(row);
      else void jump(1);
      leave();
    } else return;
    event.preventDefault();
  };

  const active = rowsOf(search.value.data)[chosen.value];
  return (
    <>
      <label class="search">
        <Icon name="search" />
        <input
          id="search"
          type="search"
          ref={input}
          placeholder="Search frames, addresses"
          aria-label="Search frames, addresses, sizes"
          list={undefined}
          role="combobox"
          aria-expanded={open.value}
          aria-controls="search-results"
          aria-activedescendant={open.value && active ? `hit-${active.key}` : undefined}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => type(event.currentTarget.value)}
          onFocus={() => {
            open.value = page.value.q.trim() !== "" && page.value.mark === "search";
          }}
          onBlur={() => {
            open.value = false;
          }}
          onKeyDown={onKeyDown}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
      {open.value && (
        <div class="hits">
          <Results
            q={page.value.q}
            chosen={chosen.value}
            onChoose={(row) => {
              goTo(row);
              leave();
            }}
          />
        </div>
      )}
    </>
  );
}
