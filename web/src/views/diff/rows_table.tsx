// One row per stack, category, size or kind of segment, the largest change first.
import { useEffect, useRef } from "preact/hooks";
import type { DiffAnswer, DiffRow } from "../../api/diff";
import { page } from "../../state/page/store";
import { integer } from "../../text/units";
import { visible } from "../../text/visible";
import { Amount, FrameLabel } from "../../ui/text";
import { choose, chosen, MAX_ROWS, rows, wanted } from "./model";
import { matchText, rowKey, rowNumbers, signed } from "./words";

const HEADS: Record<string, string> = {
  stack: "Stack",
  category: "Category",
  size: "Size of block",
  segment: "Kind of segment",
};

/** Less to the left, more to the right, in the scale of the largest change. */
function Bar({ row, most }: { row: DiffRow; most: number }) {
  const share = Math.min(1, Math.abs(row.change_bytes) / Math.max(1, most)) * 50;
  const more = row.change_bytes > 0;
  return (
    <span class="divbar" aria-hidden="true">
      {row.change_bytes !== 0 && (
        <i
          class={more ? "is-more" : "is-less"}
          style={{ left: `${more ? 50 : 50 - share}%`, width: `max(1px, ${share}%)` }}
        />
      )}
    </span>
  );
}

function Row({ row, of, most }: { row: DiffRow; of: DiffAnswer; most: number }) {
  const numbers = rowNumbers(row);
  const selected = chosen.value === row;
  const match = matchText(row);
  const blocks = row.b_blocks - row.a_blocks;
  return (
    <tr
      aria-selected={selected}
      class="picks"
      data-key={rowKey(of.by, row)}
      onClick={() => choose(selected ? null : row)}
    >
      <td class="wide">
        <span class="swrow">
          <button
            type="button"
            class="rowbtn cut"
            aria-pressed={selected}
            title="Show it in both pictures"
          >
            {of.by === "stack" ? (
              <FrameLabel label={row.label} caller={row.caller ?? ""} />
            ) : (
              visible(row.label)
            )}
          </button>
          {match !== "" && <span class="rowtag faint">{match}</span>}
        </span>
      </td>
      <td class="r fit" title={`${integer(row.a_bytes)} B`}>
        {numbers.a ? <Amount quantity={numbers.a} /> : <span class="faint">–</span>}
      </td>
      <td class="r fit" title={`${integer(row.b_bytes)} B`}>
        {numbers.b ? <Amount quantity={numbers.b} /> : <span class="faint">–</span>}
      </td>
      <td class="divcell">
        <Bar row={row} most={most} />
      </td>
      <td class="r fit strong" title={`${integer(row.change_bytes)} B`}>
        {numbers.change ? <Amount quantity={numbers.change} /> : <span class="faint">0</span>}
      </td>
      <td class="r num fit hide-s">
        {blocks === 0 ? <span class="faint">0</span> : signed(blocks)}
      </td>
      <td class="dim fit hide-s">{row.change}</td>
    </tr>
  );
}

export function RowsTable({ of }: { of: DiffAnswer }) {
  const box = useRef<HTMLDivElement>(null);
  const list = rows.value;
  const shown = list.slice(0, MAX_ROWS);
  const most = Math.max(...of.rows.map((row) => Math.abs(row.change_bytes)), 0);
  const key = page.value.row;
  useEffect(() => {
    const row = box.current?.querySelector("tr[aria-selected=true]");
    if (key !== "") row?.scrollIntoView({ block: "nearest" });
  }, [key]);
  return (
    <div class="diffrows" ref={box} tabIndex={0} role="region" aria-label="Rows of the comparison">
      <table class="table">
        <thead>
          <tr>
            <th>{HEADS[of.by] ?? "Row"}</th>
            <th class="r fit">A</th>
            <th class="r fit">B</th>
            <th class="divcell">
              <span class="vh">Change as a bar</span>
            </th>
            <th class="r fit" aria-sort="descending">
              B − A
            </th>
            <th class="r fit hide-s">{of.by === "segment" ? "Segments" : "Blocks"}</th>
            <th class="fit hide-s">
              <span class="vh">Kind of change</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((row) => (
            <Row key={rowKey(of.by, row)} row={row} of={of} most={most} />
          ))}
        </tbody>
      </table>
      {list.length === 0 && wanted.value !== "" && (
        <p class="dim t12 pad14">
          None of {integer(of.rows.length)} rows matches.{" "}
          <button
            type="button"
            class="btn"
            onClick={() => {
              wanted.value = "";
            }}
          >
            Show all
          </button>
        </p>
      )}
      {list.length > shown.length && (
        <p class="dim t12 pad14">
          The first {integer(shown.length)} of {integer(of.rows_total)} rows. Find others by name,
          or run <span class="fn">tidegauge diff --csv</span> for all of them.
        </p>
      )}
    </div>
  );
}
