// Rows of one table: only those on the screen exist. Arrows move, Shift chooses several.
import { useEffect } from "preact/hooks";
import type { TableAnswer, TableCell } from "../../api/views_contract";
import { device, go, page } from "../../state/page/store";
import { bytesText, integer, seconds } from "../../text/units";
import { visible } from "../../text/visible";
import { Bytes, FrameLabel, Name } from "../../ui/text";
import { RowsBody, SortHead, useRows } from "../../ui/use_rows";
import { rowActions, selects } from "./actions";
import { chosen, copyChosen } from "./chosen";
import {
  addressText,
  categorySlot,
  categoryTitle,
  cellOf,
  isNumber,
  type ShownColumn,
  shownColumns,
  sortOf,
} from "./columns";
import { held, lastingKey, rowAt, wantRows } from "./pages";

const ROW = 26;
const HEAD = 28;

interface CellProps {
  answer: TableAnswer;
  row: readonly TableCell[];
  column: ShownColumn;
}

function Text({ text, column }: { text: string; column: ShownColumn }) {
  if (text === "") return <span class="faint">–</span>;
  // names of the program stay as they are; "before_recording" is a word of Tidegauge
  const words =
    column.name === "provenance" || column.name === "kind" ? text.replaceAll("_", " ") : text;
  return (
    <span title={visible(text)}>
      <Name text={words} />
    </span>
  );
}

function Value({ answer, row, column }: CellProps) {
  const cell = row[column.at] ?? null;
  if (cell === null) {
    const words = column.name === "bytes_per_s" ? "not timed" : "–";
    return <span class="faint">{words}</span>;
  }
  if (column.kind === "address") {
    const version = cellOf(answer, row as TableCell[], "version");
    const shown = addressText(answer.name, String(cell), version as number | null);
    return <span class="mono">{shown}</span>;
  }
  if (typeof cell === "string" && column.name === "category") {
    return (
      <>
        <i class={`sw cat${categorySlot(cell)}`} />
        {categoryTitle(cell)}
      </>
    );
  }
  if (typeof cell === "string" && column.name === "label" && cell !== "") {
    return (
      <FrameLabel
        label={cell}
        caller={String(cellOf(answer, row as TableCell[], "caller") ?? "")}
      />
    );
  }
  if (typeof cell === "string") return <Text text={cell} column={column} />;
  switch (column.kind) {
    case "bytes":
      return (
        <span title={`${integer(cell)} B`} class={cell === 0 ? "faint" : ""}>
          {cell === 0 ? "0" : <Bytes value={cell} />}
        </span>
      );
    case "signed_bytes":
      return (
        <span title={`${integer(cell)} B`} class={cell === 0 ? "faint" : ""}>
          {cell === 0 ? "0" : `${cell > 0 ? "+" : ""}${bytesText(cell)}`}
        </span>
      );
    case "time": {
      const start = device.value?.first_time_us ?? null;
      return <>{start === null ? integer(cell) : seconds(cell - start)}</>;
    }
    case "duration":
      return <span title={`${integer(cell)} ns`}>{seconds(cell / 1000)}</span>;
    case "rate":
      return <span title={`${cell} per second`}>{rateText(cell)}</span>;
    case "bytes_per_s":
      return <span title={`${integer(cell)} B/s`}>{bytesText(cell)}/s</span>;
    case "id":
      return <>{cell}</>;
    default:
      return <>{integer(cell)}</>;
  }
}

/** Three digits: "0.25", "12.5", "4,096" */
function rateText(perSecond: number): string {
  if (perSecond >= 100 || perSecond === 0) return integer(Math.round(perSecond));
  return String(Number(perSecond.toPrecision(3)));
}

/** The colour that the row has in the pictures. */
function Swatch({ answer, row }: { answer: TableAnswer; row: readonly TableCell[] }) {
  const slot = cellOf(answer, row as TableCell[], "slot");
  return typeof slot === "number" ? <i class={`sw cat${slot}`} /> : null;
}

export function Grid({ answer }: { answer: TableAnswer }) {
  const columns = shownColumns(answer);
  const sort = sortOf(page.value.table, page.value.sort);
  const count = answer.shown;
  // a recording that has grown keeps its rows where they are
  const key = lastingKey(held.value.key);
  const { box, onScroll, part, whole, toTop, reveal } = useRows<HTMLDivElement>(count, ROW, HEAD);

  useEffect(() => {
    void key;
    toTop();
  }, [key]);
  useEffect(() => wantRows(part.first, part.last), [part.first, part.last, held.value]);

  const choose = (index: number, more: boolean) => {
    const at = Math.max(0, Math.min(count - 1, index));
    const anchor = more && chosen.value ? chosen.value.anchor : at;
    chosen.value = { anchor, at };
    const row = rowAt(held.peek(), at);
    const id = row && selects(answer, row);
    if (id !== null && id !== undefined) go({ sel: id });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "c") {
      // words that were marked with the mouse are copied as they are
      if (window.getSelection()?.isCollapsed === false) return;
      void copyChosen();
      event.preventDefault();
      return;
    }
    const rows = Math.max(1, whole - 1);
    const at = chosen.value?.at ?? -1;
    const to = {
      ArrowDown: at + 1,
      ArrowUp: at - 1,
      PageDown: at + rows,
      PageUp: at - rows,
      Home: 0,
      End: count - 1,
    }[event.key];
    if (to !== undefined && (event.target as HTMLElement).tagName !== "BUTTON") {
      choose(to, event.shiftKey);
      reveal(chosen.value?.at ?? 0);
    } else if (event.key === "Enter" && event.target === box.current) {
      const row = rowAt(held.peek(), at);
      const first = row && rowActions(answer, row)[0];
      if (first) location.hash = first.href;
    } else if (event.key === "Escape" && chosen.value) {
      chosen.value = null;
      go({ sel: null });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const [low, high] = chosen.value
    ? [
        Math.min(chosen.value.anchor, chosen.value.at),
        Math.max(chosen.value.anchor, chosen.value.at),
      ]
    : [-1, -2];
  const indices = Array.from({ length: part.last - part.first }, (_, i) => part.first + i);
  const width = (column: ShownColumn) =>
    `${isNumber(column.kind) ? "r fit" : ""}${column.extra ? " hide-s" : ""}`;
  return (
    <div
      class="body results grid"
      ref={box}
      tabIndex={0}
      role="region"
      aria-label={`Rows of ${answer.name}. Arrow keys select, Enter shows the row in the timeline.`}
      onScroll={onScroll}
      onKeyDown={onKeyDown}
    >
      <table class="table" aria-rowcount={count + 1}>
        <thead>
          <tr aria-rowindex={1}>
            {columns.map((column) => (
              <SortHead
                key={column.name}
                class={width(column)}
                title={column.title}
                down={sort.column === column.name ? sort.down : null}
                onSort={() => sortBy(column)}
              >
                {column.head}
              </SortHead>
            ))}
          </tr>
        </thead>
        <RowsBody part={part} rowPixels={ROW}>
          {indices.map((index) => {
            const row = rowAt(held.value, index);
            return (
              <tr
                key={index}
                aria-rowindex={index + 2}
                aria-selected={index >= low && index <= high}
                class="picks"
                onClick={(event) => choose(index, event.shiftKey)}
                onDblClick={() => {
                  const first = row && rowActions(answer, row)[0];
                  if (first) location.hash = first.href;
                }}
              >
                {columns.map((column, c) => (
                  <td
                    key={column.name}
                    class={`${isNumber(column.kind) ? "r num" : c === 0 ? "wide" : "text"}${column.extra ? " hide-s" : ""}`}
                  >
                    {row === null ? (
                      <span class="skeleton" />
                    ) : (
                      <>
                        {c === 0 && <Swatch answer={answer} row={row} />}
                        <Value answer={answer} row={row} column={column} />
                      </>
                    )}
                  </td>
                ))}
              </tr>
            );
          })}
        </RowsBody>
      </table>
    </div>
  );

  function sortBy(column: ShownColumn): void {
    const down = sort.column === column.name ? !sort.down : isNumber(column.kind);
    go({ sort: { column: column.name, down } });
  }
}
