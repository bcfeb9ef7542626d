// The rows that are chosen, from the anchor to where the keyboard is, and what is done with them.
import { effect, signal } from "@preact/signals";
import type { TableAnswer, TableCell } from "../../api/views_contract";
import { attempt } from "../../state/page/notes";
import { counted } from "../../text/units";
import { cellOf } from "./columns";
import {
  held,
  lastingKey,
  MAX_COPIED,
  PAGE_ROWS,
  question,
  rowAt,
  rowsBetween,
  tabbed,
} from "./pages";

export const chosen = signal<{ anchor: number; at: number } | null>(null);
/** "Copied 12 rows", for a moment */
export const copied = signal("");

// other rows: nothing is chosen of them
let asked = "";
effect(() => {
  const now = lastingKey(JSON.stringify(question.value));
  if (now !== asked) chosen.value = null;
  asked = now;
});

/** What identifies a row, wherever it is: the columns, by table. */
const IDENTITY: Partial<Record<string, readonly string[]>> = {
  stacks: ["stack_id"],
  kernels: ["name"],
  copies: ["direction", "function"],
};

function identity(answer: TableAnswer, row: readonly TableCell[] | null): string | null {
  if (row === null) return null;
  const columns = IDENTITY[answer.name] ?? ["id"];
  return JSON.stringify(columns.map((column) => cellOf(answer, row as TableCell[], column)));
}

let before = { key: "", identity: null as string | null };

// a recording that has grown: the row that was chosen may stand elsewhere
effect(() => {
  const { key, first, pages } = held.value;
  const of = chosen.value;
  if (!first || of === null) {
    before = { key, identity: null };
    return;
  }
  if (key === before.key || before.identity === null) {
    before = { key, identity: identity(first, rowAt(held.value, of.at)) ?? before.identity };
    return;
  }
  const wanted = before.identity;
  before = { key, identity: wanted };
  for (const [index, rows] of pages) {
    const at = rows.findIndex((row) => identity(first, row) === wanted);
    if (at < 0) continue;
    const now = index * PAGE_ROWS + at;
    if (now !== of.at) chosen.value = { anchor: now, at: now };
    return;
  }
  chosen.value = null;
});

async function copyNow(): Promise<void> {
  const of = chosen.peek();
  const [first, last] = of
    ? [Math.min(of.anchor, of.at), Math.max(of.anchor, of.at)]
    : [0, MAX_COPIED - 1];
  const answer = await rowsBetween(first, last);
  if (!answer) return;
  await navigator.clipboard.writeText(tabbed(answer));
  const all = of ? last - first + 1 : answer.shown;
  const more = all > answer.rows.length ? ` of ${all.toLocaleString("en-US")}` : "";
  copied.value = `Copied ${counted(answer.rows.length, "row")}${more}`;
  window.setTimeout(() => {
    copied.value = "";
  }, 1500);
}

export async function copyChosen(): Promise<void> {
  attempt(copyNow());
}
