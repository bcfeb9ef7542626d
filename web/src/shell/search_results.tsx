// The list under the search box: what matches, with its letters marked, and how much it is.
import type { SearchResult } from "../api/query_contract";
import { hitIndex, search } from "../state/answers/marks";
import { device, go } from "../state/page/store";
import { behindLabel, tellingCallers } from "../text/callers";
import { counted, integer } from "../text/units";
import { splitAtBytes, visible } from "../text/visible";
import { Bytes, Name } from "../ui/text";

const SHOWN = 12;
const SHOWN_PHASES = 5;

export type Row =
  | { kind: "stack"; key: string; at: SearchResult["stacks"][number] }
  | { kind: "phase"; key: string; at: SearchResult["annotations"][number] };

export function rowsOf(data: SearchResult | null): Row[] {
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

export function goTo(row: Row): void {
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

/** "Frames, the first 12 of 57", where not all are shown. */
function firstOf(what: string, shown: number, total: number): string {
  return shown < total ? `${what}, the first ${shown} of ${integer(total)}` : what;
}

function Marked({ text, match }: { text: string; match: [number, number] }) {
  const [before, hit, after] = splitAtBytes(text, match);
  return (
    <bdi>
      {visible(before)}
      {hit !== "" && <mark>{visible(hit)}</mark>}
      {visible(after)}
    </bdi>
  );
}

interface ResultRowProps {
  row: Row;
  /** what is shown of the caller */
  telling: string;
  chosen: boolean;
  onChoose: () => void;
}

function ResultRow({ row, telling, chosen, onChoose }: ResultRowProps) {
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
          <span class="fn framepair" title={visible(row.at.label + behindLabel(row.at.caller))}>
            <span class="cut own">
              <Marked text={row.at.label} match={row.at.match} />
            </span>
            {telling !== "" && (
              <span class="fi">
                <Name text={behindLabel(telling)} />
              </span>
            )}
          </span>
          <span class="num">{integer(row.at.count)}</span>
          <Bytes value={row.at.bytes} />
        </>
      ) : (
        <>
          <span class="cut">
            <Name text={row.at.name} />
          </span>
          <span />
          <span class="num faint">step {integer(row.at.begin_step)}</span>
        </>
      )}
    </li>
  );
}

export function Results({
  q,
  chosen,
  onChoose,
}: {
  q: string;
  chosen: number;
  onChoose: (row: Row) => void;
}) {
  const { data, error, loading } = search.value;
  if (!device.value) return <p class="hh">This file contains no device memory to search.</p>;
  if (error) return <p class="hh">{visible(error.what)}</p>;
  if (!data) return loading ? <p class="hh">Searching…</p> : null;
  if (data.count === 0 && data.annotations.length === 0) {
    return (
      <p class="hh">
        <span>
          <b class="strong">
            No allocation matches “<Name text={q} />
            ”.
          </b>{" "}
          {counted(device.value?.allocations ?? 0, "allocation")} searched in frames, categories,
          metadata and addresses. Sizes are searched as &gt;512MiB or &lt;1KiB.
        </span>
      </p>
    );
  }
  const rows = rowsOf(data);
  const phases = rows.filter((row) => row.kind === "phase");
  const callers = tellingCallers(data.stacks);
  const row = (one: Row) => (
    <ResultRow
      key={one.key}
      row={one}
      telling={one.kind === "stack" ? (callers[data.stacks.indexOf(one.at)] ?? "") : ""}
      chosen={rows.indexOf(one) === chosen}
      onChoose={() => onChoose(one)}
    />
  );
  return (
    <>
      <div class="hh">
        <span>
          <b class="strong">{counted(data.count, "allocation")}</b> in{" "}
          {counted(data.stacks_total, "stack")}, <Bytes value={data.bytes} />
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
            {firstOf("Frames", rows.length - phases.length, data.stacks_total)}
          </li>
        )}
        {rows.filter((one) => one.kind === "stack").map(row)}
        {phases.length > 0 && (
          <li role="presentation" class="hgroup">
            {firstOf("Phases", phases.length, data.annotations_total)}
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
          <kbd>↵</kbd> open
        </span>
        <span>
          <kbd>Ctrl ↵</kbd> show only these
        </span>
      </div>
    </>
  );
}
