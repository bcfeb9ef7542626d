// Rows of a list that read the same although they are different stacks: how they are distinguished.
//
//   model.py:8 forward ‹ train.py:114           short where that is enough
//   model.py:8 forward ‹ train.py:114 main      the whole caller where the short ones are equal
//   model.py:8 forward › linear.py:114 forward  what it called, where callers are equal
//   model.py:8 forward ‹ stack 12               the stack's number where nothing else differs
import { integer } from "./units";

export interface Called {
  label: string;
  caller: string;
  stack_id?: number | null;
}

/** "train.py:63 main" → "train.py:63", where the line says it all; another name stays whole. */
export function shortCaller(caller: string): string {
  return /^\S+:\d+(?= \S+$)/.exec(caller)?.[0] ?? caller;
}

/** Behind a label: " ‹ who called it", or " › what it called", which brings its own sign. */
export function behindLabel(caller: string): string {
  if (caller === "") return "";
  return caller.startsWith("› ") ? ` ${caller}` : ` ‹ ${caller}`;
}

/** What distinguishes each row from the others. */
export function tellingCallers(rows: readonly Called[]): string[] {
  const count = new Map<string, number>();
  const key = (row: Called, caller: string) => `${row.label}\n${caller}`;
  for (const row of rows) {
    for (const name of new Set([row.caller, shortCaller(row.caller)])) {
      count.set(key(row, name), (count.get(key(row, name)) ?? 0) + 1);
    }
  }
  const unique = (row: Called, caller: string) => (count.get(key(row, caller)) ?? 0) < 2;
  return rows.map((row) => {
    const short = shortCaller(row.caller);
    if (unique(row, short)) return short;
    if (unique(row, row.caller) || row.stack_id == null) return row.caller;
    return `stack ${row.stack_id}`;
  });
}

/**
 * What rows of one label hold together, at the first of them: one line may be reached in several
 * ways. Null: no other row reads so, or it stands further up.
 */
export function sumsOfAlike<T extends { label: string; bytes: number }>(
  rows: readonly T[],
): ({ bytes: number; rows: number } | null)[] {
  const sums = new Map<string, { bytes: number; rows: number }>();
  const first = rows.map(({ label, bytes }) => {
    const known = sums.get(label);
    const sum = known ?? { bytes: 0, rows: 0 };
    sum.bytes += bytes;
    sum.rows += 1;
    sums.set(label, sum);
    return known ? null : sum;
  });
  return first.map((sum) => (sum && sum.rows > 1 ? sum : null));
}

/** How all lists rank stacks by the free bytes that they pin: src/analysis/layout/pinned.h. */
export const PIN_ORDER =
  "Stacks that pin at least a tenth come first, by pinned bytes per live byte; then the others, by pinned bytes";

/** Pinned bytes per live byte: "0.6", "31", "4,000". */
export function perLiveByte(pins: number, live: number): string {
  if (live === 0) return "–";
  const value = pins / live;
  return value < 10 ? value.toFixed(1) : integer(value);
}
