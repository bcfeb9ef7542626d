// The result as text that spreadsheets read: exact numbers, lines end as in src/base/csv.h.
import type { Cell, SqlResult } from "../../api/query_contract";

function field(cell: Cell): string {
  if (cell === null) return "";
  const text = String(cell);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csvOf(result: SqlResult): string {
  const rows = [result.columns.map((column) => column.name), ...result.rows];
  return `${rows.map((row) => row.map(field).join(",")).join("\n")}\n`;
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
