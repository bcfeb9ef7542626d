// The table of the What-if view: what each setting would have made of the recording, best first,
// with the recording's own settings among them at their rank.
import type { Replayed, WhatIf, WhatIfProgress } from "../../api/what_if";
import { counted, formatBytes, integer, type Quantity } from "../../text/units";

export interface Row {
  /** the settings; "own": the recording's */
  key: string;
  rank: string;
  settings: string;
  isOwn: boolean;
  of: Replayed;
  outcome: string;
  fails: boolean;
  change: Quantity | null;
  /** shares of the widest bar */
  live: number;
  unused: number;
}

export const OWN = "own";

/** While the answer is awaited. */
export function replayingText(progress: WhatIfProgress | null): string {
  if (progress === null) return "Replaying…";
  if (progress.of === 0) return "Replaying the recorded settings…";
  return `Replaying… ${integer(progress.done)} of ${counted(progress.of, "setting")}`;
}

export function settingsText(settings: string): string {
  return settings === "" ? "no settings" : settings;
}

/**
 * "as recorded" only if the replay had the recorded outcome: with another capacity, or an unknown
 * limit, it is a different run.
 */
export function ownText(data: WhatIf): string {
  return data.recorded.own_is_as_recorded ? "as recorded" : "own settings";
}

function outcomeOf({ ooms, ooms_range: range, stopped_at_step: end }: Replayed): string {
  if (end !== null) return `unknown from step ${integer(end)}`;
  if (range && range.least !== range.most)
    return `${integer(range.least)} to ${counted(range.most, "failure")}`;
  return ooms === 0 ? "no failure" : counted(ooms, "failure");
}

/** However the driver places what it gives, as the engine ranks them. */
const mostOoms = (of: Replayed) => of.ooms_range?.most ?? of.ooms;
const mostReserved = (of: Replayed) => of.peak_reserved_range_bytes?.most ?? of.peak_reserved_bytes;

function isBetter(a: Replayed, b: Replayed): boolean {
  const [x, y] = [a, b].map((of) => [
    mostOoms(of),
    mostReserved(of),
    of.driver_allocs + of.driver_frees,
  ]) as [number[], number[]];
  for (let at = 0; at < x.length; at++) {
    if (x[at] !== y[at]) return (x[at] ?? 0) < (y[at] ?? 0);
  }
  return false;
}

function changeOf(bytes: number, from: number): Quantity | null {
  if (bytes === from) return null;
  const { number, unit } = formatBytes(Math.abs(bytes - from));
  return { number: `${bytes < from ? "−" : "+"}${number}`, unit };
}

export function rowsOf(data: WhatIf): Row[] {
  const all = [data.own, ...data.candidates];
  const most = Math.max(1, data.capacity_bytes ?? 0, ...all.map((of) => of.peak_reserved_bytes));
  const row = (of: Replayed, rank: string, isOwn: boolean): Row => ({
    key: isOwn ? OWN : of.settings,
    rank,
    settings: settingsText(of.settings),
    isOwn,
    of,
    outcome: outcomeOf(of),
    fails: mostOoms(of) > 0 || of.stopped_at_step !== null,
    change: changeOf(of.peak_reserved_bytes, data.own.peak_reserved_bytes),
    live: of.peak_active_bytes / most,
    unused: of.unused_at_peak_bytes / most,
  });
  const rows = data.candidates.map((of, at) => row(of, String(at + 1), false));
  const at = data.candidates.findIndex((of) => isBetter(data.own, of));
  rows.splice(at < 0 ? rows.length : at, 0, row(data.own, "", true));
  return rows;
}

/** The row that a link names, else the best one. */
export function chosenRow(rows: readonly Row[], key: string): Row | undefined {
  return rows.find((row) => row.key === key) ?? rows[0];
}

/** Reserved and in no block, over the steps. */
export function unusedLine(of: Replayed): number[] {
  return of.reserved_line.map((bytes, at) => Math.max(0, bytes - (of.active_line[at] ?? 0)));
}

/** How far the replay is proven, for a badge. */
export function proofOf(data: WhatIf): { text: string; whole: boolean; title: string } {
  const { events_checked: checked, events_exact: exact, first_divergence: first } = data.verify;
  const whole = checked > 0 && exact === checked;
  const text = whole
    ? `${integer(exact)} events proven`
    : `${integer(exact)} of ${integer(checked)} events proven`;
  const title = first
    ? `First difference at step ${integer(first.step)}: ${first.cause}`
    : "The replay under the recording's own settings matches every event, including addresses";
  return { text, whole, title };
}
