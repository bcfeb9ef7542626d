// A file of measurements of `wss`: `api/working_set`, see docs/formats/page-api.md.

export interface WorkingSetInfo {
  id: number;
  name: string;
}

export type Course = "single" | "cumulative" | "snapshots" | "profile" | "rolling";

export interface CurvePoint {
  window_s: number;
  bytes: number;
  /** `bytes` is a lower bound */
  at_least: boolean;
}

/** A size of the machine that a working set may or may not fit. */
export interface SizeMark {
  name: string;
  bytes: number;
  words: string;
}

export interface MeasuredWindow {
  time_s: number;
  window_s: number;
  rss: number;
  referenced: number;
  /** `referenced` is a lower bound */
  at_least: boolean;
  /** half of the 95 % confidence interval; 0: exact; null: unknown */
  ci95: number | null;
  /** whether memory was short in the window; null: unknown */
  shortage: "none" | "near" | "short" | null;
}

export interface HeatPicture {
  /** lowest addresses first */
  rows: { begin: string; end: string; name: string }[];
  /** of each column, since the beginning */
  ends_s: number[];
  /** of each row each column: 0 … 100; -1: no memory there */
  percent: number[][];
  row_bytes: number;
}

export interface MappingRow {
  name: string;
  kind: string;
  start: string;
  rss: number;
  referenced: number;
  /** resident, and not touched; null: unknown, because `referenced` is a lower bound */
  cold: number | null;
  /** null: unknown */
  huge: number | null;
}

export interface WorkingSet {
  pid: number;
  process: string;
  backend: string;
  how: string;
  /** sentences: what the figures leave out, take in or do not know */
  careful: string[];
  cgroup: string;
  course: Course;
  asked_s: number;
  /** the touched bytes are bytes that were written */
  tells_writes: boolean;
  marks: SizeMark[];
  samples: number;
  curve: CurvePoint[];
  /** index into the curve: a longer window adds little */
  knee: number | null;
  /** what the curve says, a sentence; "": nothing */
  verdict: string;
  windows: MeasuredWindow[];
  heat: HeatPicture | null;
  mappings: MappingRow[];
  mappings_total: number;
  fit: string;
  limit: { samples: number; bytes: number | null; text: string } | null;
}
