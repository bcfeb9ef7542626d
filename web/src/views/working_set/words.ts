// Windows and notes of the Working set view in words.
import type { WorkingSet } from "../../api/working_set";
import { counted } from "../../text/units";

/** "10 ms", "0.25 s", "60 s". */
export function windowText(seconds: number): string {
  if (seconds < 0.1) return `${Number((seconds * 1000).toPrecision(2))} ms`;
  return `${Number(seconds.toPrecision(3))} s`;
}

const COURSES = {
  single: "one window",
  cumulative: "growing windows",
  snapshots: "consecutive windows",
  profile: "a profile",
  rolling: "rolling windows",
} as const;

export function headText(of: WorkingSet): string {
  const who = of.cgroup === "" ? `${of.process} · pid ${of.pid}` : of.cgroup;
  const writes = of.tells_writes ? "writes" : "";
  const parts = [who, writes, COURSES[of.course], counted(of.samples, "row"), `by ${of.backend}`];
  return parts.filter((part) => part !== "").join(" · ");
}

/** "Touched", or what stands in its place. */
export function touchedWord(of: WorkingSet): string {
  return of.tells_writes ? "Written" : "Touched";
}

/** What the picture shows, for screen readers. */
export function curveText(of: WorkingSet, bytes: (value: number) => string): string {
  const last = of.curve.at(-1);
  if (!last) return "No profile";
  const end = `${last.at_least ? "At least " : ""}${bytes(last.bytes)} ${touchedWord(of).toLowerCase()} in ${windowText(last.window_s)}.`;
  return of.verdict === "" ? end : `${end} ${of.verdict}`;
}
