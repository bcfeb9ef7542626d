// Cells of an answer as they are shown and compared. Numbers beyond 2^53 arrive as text.
import type { Cell, SqlResult } from "../../api/query_contract";

/** Columns that hold addresses: they are read as everywhere else, in hex. */
export function isAddress(column: string): boolean {
  return /(^|_)address$/i.test(column);
}

const WHOLE = /^-?\d{1,20}$/;

/** "0x7f0586000000"; the database keeps the upper half of 64 bits as negative numbers. */
export function hexOf(cell: number | string): string | null {
  const whole = typeof cell === "number" ? Number.isSafeInteger(cell) : WHOLE.test(cell);
  return whole ? `0x${BigInt.asUintN(64, BigInt(cell)).toString(16)}` : null;
}

/** "−9,223,372,036,854,775,807"; other texts stay as they are. */
export function longInteger(text: string): string {
  if (!WHOLE.test(text)) return text;
  return BigInt(text).toLocaleString("en-US").replace("-", "−");
}

/** Numbers before texts, as SQLite has them; nothing comes last either way. */
export function compareCells(a: Cell, b: Cell, down: boolean): number {
  if (a === b) return 0;
  if (a === null) return 1;
  if (b === null) return -1;
  return order(a, b) * (down ? -1 : 1);
}

function order(a: number | string, b: number | string): number {
  const [x, y] = [numeric(a), numeric(b)];
  if (x !== null && y !== null) return x < y ? -1 : x > y ? 1 : 0;
  if (x !== null || y !== null) return x !== null ? -1 : 1;
  return a < b ? -1 : 1;
}

function numeric(cell: number | string): number | bigint | null {
  if (typeof cell === "number") return cell;
  return cell.length > 15 && WHOLE.test(cell) ? BigInt(cell) : null;
}

/** Exact numbers; lines end as in src/base/csv.h. */
function csvField(cell: Cell): string {
  if (cell === null) return "";
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(result: SqlResult): string {
  const rows = [result.columns.map((column) => column.name), ...result.rows];
  return `${rows.map((row) => row.map(csvField).join(",")).join("\n")}\n`;
}

/** Saves as a file; a blob needs no server. */
export function saveCsv(result: SqlResult, name: string): void {
  const url = URL.createObjectURL(new Blob([csvOf(result)], { type: "text/csv;charset=utf-8" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  window.setTimeout(() => URL.revokeObjectURL(url), 1000);
}
