// Current activity: `api/live`, see docs/formats/page-api.md.
import type { FigureName } from "./incomplete";

export type LiveState = "recording" | "finished" | "abandoned" | "monitor";
export const LIVE_WINDOWS = ["minute", "ten_minutes", "whole"] as const;
export type LiveWindow = (typeof LIVE_WINDOWS)[number];

/** A recording among the open files, or a recorder at work. */
export interface LiveSourceInfo {
  id: number;
  name: string;
  monitor: boolean;
  /** ids of its traces */
  files: number[];
}

export interface LiveDevice {
  /** null: not known */
  device: number | null;
  live_bytes: number;
  peak_bytes: number;
}

/** Most live bytes in equal parts of the window; null: the process was not there. */
export type LiveLine = (number | null)[];

export interface LiveProcess {
  process: number;
  pid: number;
  name: string;
  command: string;
  began_us: number;
  ended_us: number | null;
  /** id of the open file that holds its trace */
  file: number | null;
  live_bytes: number;
  peak_bytes: number;
  host_bytes: number;
  unfreed_bytes: number;
  /** it had memory before it was watched: its bytes are lower bounds */
  at_least: boolean;
  framework_reserved_bytes: number | null;
  framework_used_bytes: number | null;
  allocations: number;
  frees: number;
  launches: number;
  failures: number;
  copies: number;
  copied_to_device_bytes: number;
  copied_to_host_bytes: number;
  allocations_per_second: number;
  launches_per_second: number;
  to_device_bytes_per_second: number;
  to_host_bytes_per_second: number;
  /** the rates are those of its whole life */
  average: boolean;
  incomplete: FigureName[];
  devices: LiveDevice[];
  spark: LiveLine;
  /** null: of the largest and the chosen one only */
  line: LiveLine | null;
}

export interface LiveStack {
  process: number;
  device: number | null;
  kind: string;
  bytes: number;
  blocks: number;
  /** the call site, as everywhere; null: no stack was recorded */
  site: string | null;
  /** innermost first; empty: none was recorded */
  frames: string[];
}

export interface LiveStacks {
  rows: LiveStack[];
  bytes: number;
  more: number;
}

export interface LiveKernel {
  process: number;
  name: string;
  launches: number;
  per_second: number;
}

export interface LiveCopies {
  direction: string;
  calls: number;
  bytes: number;
  failures: number;
  timed_bytes: number;
  timed_us: number;
  bytes_per_second: number;
}

export interface LiveFailure {
  process: number;
  function: string;
  code: number;
  words: string;
  device: number | null;
  count: number;
  last_bytes: number;
  last_us: number;
  site: string | null;
  frames: string[];
}

export interface LiveLoss {
  reason: string;
  count: number;
  meaning: string;
}

/** Something that is there and was not watched; of all processes where `process` is null. */
export interface LiveUnwatched {
  process: number | null;
  library: string;
  function: string;
  figures: FigureName[];
  reason: string;
}

export interface LiveAnswer {
  state: LiveState;
  incomplete: boolean;
  incomplete_figures: FigureName[];
  now_us: number;
  first_us: number;
  newest_us: number;
  calls: number;
  bad_rows: number;
  /** part of the file that was read so far */
  read: number;
  from_us: number;
  to_us: number;
  rate_seconds: number;
  devices: (LiveDevice & { processes: number })[];
  processes: LiveProcess[];
  more_processes: number;
  stacks: LiveStacks;
  blocks: LiveStacks;
  unfreed: LiveStacks;
  kernels: { rows: LiveKernel[]; more: number; launches: number; per_second: number };
  copies: LiveCopies[];
  failures: { rows: LiveFailure[]; more: number };
  losses: LiveLoss[];
  unwatched: { rows: LiveUnwatched[]; more: number };
}
