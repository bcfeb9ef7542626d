// Rows of a comparison in words and numbers, by the rules of the guide: one row, one unit; a sign;
// "–" for what is absent, "0" for no change.

import type { Unit } from "../../api/contract";
import type { DiffRow } from "../../api/diff";
import { bytesIn, integer, type Quantity, UNIT_BYTES, unitFor } from "../../text/units";

const SMALLER: Record<Unit, Unit> = { TiB: "GiB", GiB: "MiB", MiB: "KiB", KiB: "B", B: "B" };

/** The unit of the larger, or as much smaller as the change needs to show: as `diff` prints it. */
export function rowUnit(a: number, b: number): Unit {
  let unit = unitFor(Math.max(a, b));
  const change = Math.abs(b - a);
  while (change > 0 && unit !== "B" && change < Math.floor(UNIT_BYTES[unit] / 10)) {
    unit = SMALLER[unit];
  }
  return unit;
}

interface RowNumbers {
  a: Quantity | null;
  b: Quantity | null;
  change: Quantity | null;
}

/** Null: absent, or no change. */
export function rowNumbers(row: DiffRow): RowNumbers {
  const unit = rowUnit(row.a_bytes, row.b_bytes);
  const by = row.b_bytes - row.a_bytes;
  const { number } = bytesIn(by, unit);
  return {
    a: row.a_blocks === 0 ? null : bytesIn(row.a_bytes, unit),
    b: row.b_blocks === 0 ? null : bytesIn(row.b_bytes, unit),
    change: by === 0 ? null : { number: by > 0 ? `+${number}` : number, unit },
  };
}

export function signed(count: number): string {
  return `${count > 0 ? "+" : ""}${integer(count)}`;
}

/** What stays the same when the rows come anew. */
export function rowKey(by: string, row: DiffRow): string {
  return `${by} ${row.key ?? `${row.label} ‹ ${row.caller ?? ""}`}`.slice(0, 400);
}

/** How the two sides of a row were found to be the same; empty: word for word. */
export function matchText(row: DiffRow): string {
  if (row.match === "path") return "different path";
  if (row.match === "user") return "same frames of your code";
  if (row.match !== "moved") return "";
  return row.a_line != null && row.b_line != null ? `was line ${row.a_line}` : "lines moved";
}

/** No block has no bytes. */
export const NOTHING = "size:0..0";

/** A filter that shows a row's blocks on one side; null: there is none that does. */
export function rowFilter(by: string, row: DiffRow, side: "a" | "b"): string | null {
  if (by === "stack") {
    const ids = (side === "a" ? row.a_stack_ids : row.b_stack_ids) ?? [];
    if (ids.length > 0) return `stack_id:${ids.join(",")}`;
    const elsewhere = (side === "a" ? row.b_stack_ids : row.a_stack_ids) ?? [];
    return elsewhere.length > 0 ? NOTHING : null;
  }
  if (by === "category" && row.key) return `category:${row.key}`;
  if (by === "size" && row.key && /^\d{1,15}$/.test(row.key)) {
    const from = Number(row.key);
    return `size:${from}..${from * 2 - 1}`;
  }
  return null;
}
