// The rows of a query. Only those on the screen exist; numbers stand right, sizes carry a bar where
// a column has one scale.
import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Cell, Column, ColumnKind, SqlResult } from "../../api/query_contract";
import { device, go } from "../../state/page/store";
import { counted, integer, seconds } from "../../text/units";
import { visibleLines } from "../../text/visible";
import { Bytes, FrameText, Name } from "../../ui/text";
import { RowsBody, SortHead, useRows } from "../../ui/use_rows";
import { compareCells, hexOf, isAddress, longInteger } from "./cells";

const ROW = 26;
const HEAD = 28;

function isNumber(kind: ColumnKind): boolean {
  return kind !== "text";
}

/** A text of several lines in one row: the first, and how many there are more. */
function Text({ text }: { text: string }) {
  const end = text.indexOf("\n");
  const first = end < 0 ? text : text.slice(0, end);
  const more = end < 0 ? 0 : text.split("\n").length - 1;
  const label = /^\S+:\d+ \S/.test(first);
  return (
    <span class={label ? "fn" : ""} title={visibleLines(text)}>
      {label ? <FrameText label={first} /> : <Name text={first} />}
      {more > 0 && <span class="faint">{` + ${counted(more, "line")}`}</span>}
    </span>
  );
}

function Value({ cell, column }: { cell: Cell; column: Column }) {
  const { kind } = column;
  if (cell === null) return <span class="faint">–</span>;
  const address = kind === "integer" && isAddress(column.name) ? hexOf(cell) : null;
  if (address !== null) return <span class="mono">{address}</span>;
  if (typeof cell === "string") {
    return kind === "text" ? <Text text={cell} /> : <>{longInteger(cell)}</>;
  }
  if (kind === "bytes") {
    return (
      <span title={`${integer(cell)} B`}>
        <Bytes value={cell} />
      </span>
    );
  }
  if (kind === "time") {
    const start = device.value?.first_time_us ?? null;
    return (
      <span title={`${cell} µs`}>{start === null ? String(cell) : seconds(cell - start)}</span>
    );
  }
  if (kind === "real") {
    return <>{cell.toLocaleString("en-US", { maximumFractionDigits: 4 })}</>;
  }
  return <>{integer(cell)}</>;
}

interface Sorting {
  column: number;
  down: boolean;
}

/** The column whose values can be selected: an allocation's id. */
function idColumn(result: SqlResult): number {
  if (result.mark === null) return -1;
  const named = result.columns.findIndex((column) => column.name === "allocation_id");
  return named >= 0 ? named : result.columns.findIndex((column) => column.name === "id");
}

/** `stale`: another query is running; these rows are the old ones. */
export function ResultTable({ result, stale }: { result: SqlResult; stale: boolean }) {
  const { box, onScroll, part, toTop, reveal } = useRows<HTMLDivElement>(
    result.rows.length,
    ROW,
    HEAD,
  );
  const sorting = useSignal<Sorting | null>(null);
  const chosen = useSignal(-1);

  useEffect(() => {
    sorting.value = null;
    chosen.value = -1;
    toTop();
    void result;
  }, [result, sorting, chosen]);

  const order = sorting.value;
  const rows = useMemo(() => {
    if (!order) return result.rows;
    const { column, down } = order;
    return [...result.rows].sort((a, b) =>
      compareCells(a[column] ?? null, b[column] ?? null, down),
    );
  }, [result, order]);
  const largest = useMemo(
    () =>
      result.columns.map((column, i) =>
        column.kind === "bytes"
          ? result.rows.reduce((most, row) => Math.max(most, Number(row[i] ?? 0)), 0)
          : 0,
      ),
    [result],
  );

  const id = idColumn(result);
  const pick = (index: number) => {
    chosen.value = index;
    const value = id < 0 ? null : rows[index]?.[id];
    if (typeof value === "number") go({ sel: value });
  };
  const sortBy = (column: number) => {
    const now = sorting.value;
    const down = isNumber(result.columns[column]?.kind ?? "text");
    sorting.value = now?.column === column ? { column, down: !now.down } : { column, down };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 20, PageUp: -20 }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const next = Math.max(0, Math.min(rows.length - 1, chosen.value + by));
    pick(next);
    reveal(next);
  };

  return (
    <div
      class={`body results${stale ? " stale" : ""}`}
      aria-busy={stale}
      ref={box}
      tabIndex={0}
      role="region"
      aria-label="Result rows"
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <table class="table" aria-rowcount={rows.length + 1}>
        <thead>
          <tr aria-rowindex={1}>
            <th class="r fit">#</th>
            {result.columns.map((column, i) => {
              return (
                <SortHead
                  key={`${i} ${column.name}`}
                  class={isNumber(column.kind) ? "r fit" : ""}
                  down={order?.column === i ? order.down : null}
                  onSort={() => sortBy(i)}
                >
                  <Name text={column.name} />
                </SortHead>
              );
            })}
            {result.columns.every((column) => isNumber(column.kind)) && <td class="filler" />}
          </tr>
        </thead>
        <RowsBody part={part} rowPixels={ROW}>
          {rows.slice(part.first, part.last).map((row, i) => {
            const index = part.first + i;
            return (
              <tr
                key={index}
                aria-rowindex={index + 2}
                aria-selected={index === chosen.value}
                class={id >= 0 ? "picks" : ""}
                onClick={() => pick(index)}
              >
                <td class="r faint num">{integer(index + 1)}</td>
                {row.map((cell, c) => {
                  const column = result.columns[c] ?? { name: "", kind: "text" };
                  const most = largest[c] ?? 0;
                  return (
                    <td key={`${c}`} class={isNumber(column.kind) ? "r num" : "text"}>
                      <Value cell={cell} column={column} />
                      {most > 0 && typeof cell === "number" && (
                        <span class="minibar">
                          <i style={{ width: `${Math.max(0, (cell / most) * 100).toFixed(1)}%` }} />
                        </span>
                      )}
                    </td>
                  );
                })}
                {result.columns.every((column) => isNumber(column.kind)) && <td />}
              </tr>
            );
          })}
        </RowsBody>
      </table>
    </div>
  );
}
