// A file of measurements of `wss`: `api/working_set`, see docs/formats/page-api.md.

export interface WorkingSetInfo {
  id: number;
  name: string;
}

export type Course = "single" | "cumulative" | "snapshots" | "profile" | "rolling";

export interface CurvePoint {
  window_s: number;
  bytes: number;
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
  /** half of the interval that holds it with 95 %; 0: exact; null: not known */
  ci95: number | null;
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
  cold: number;
  huge: number;
}

export interface WorkingSet {
  pid: number;
  process: string;
  backend: string;
  how: string;
  limits: string[];
  cgroup: string;
  course: Course;
  asked_s: number;
  /** the last line of the file has no end, and was left out */
  is_cut: boolean;
  /** of what was written, not of what was touched */
  tells_writes: boolean;
  /** that memory was short meanwhile; "": it was not */
  shortage: string;
  /** what the curve says; "": it has less than two windows */
  verdict: string;
  marks: SizeMark[];
  samples: number;
  curve: CurvePoint[];
  /** index into the curve: a longer window adds little */
  knee: number | null;
  windows: MeasuredWindow[];
  heat: HeatPicture | null;
  mappings: MappingRow[];
  mappings_total: number;
  fit: string;
  limit: { samples: number; bytes: number | null; text: string } | null;
}
