// The shapes that the server answers with: docs/formats/page-api.md, word by word.

import type { Missing } from "./incomplete";
import type { LiveSourceInfo } from "./live";
import type { WorkingSetInfo } from "./working_set";

/** Units of bytes, as they are printed. */
export type Unit = "B" | "KiB" | "MiB" | "GiB" | "TiB";

export type DeviceKind = "gpu" | "pinned_host";

export interface Totals {
  /** null: unknown, because the file states rounded sizes (pinned host memory) */
  requested_bytes: number | null;
  active_bytes: number;
  allocated_bytes: number;
  reserved_bytes: number;
}

export interface Peak {
  bytes: number;
  /** 0 if at_start */
  step: number;
  /** the state before the first event: no step has as many bytes */
  at_start?: boolean;
  /** it may have been higher: sizes or blocks are inferred */
  at_least?: boolean;
}

export interface Oom {
  step: number;
  time_us: number | null;
  /** null: the file does not say */
  requested_bytes: number | null;
  device_free_bytes: number | null;
  reserved_bytes: number;
}

export interface DeviceInfo {
  ordinal: number;
  kind: DeviceKind;
  label: string;
  events: number;
  allocations: number;
  segments: number;
  first_time_us: number | null;
  last_time_us: number | null;
  peak: { requested: Peak; active: Peak; reserved: Peak };
  initial: Totals;
  final: Totals;
  ceiling_bytes: number | null;
  /** the ceiling is an upper bound: a MemPool may be unmapped */
  ceiling_at_most?: boolean;
  oom_count: number;
  /** steps before which events are missing; the first 1,000 */
  gaps: { step: number; time_us: number | null }[];
  /** the first 1,000 */
  ooms: Oom[];
}

export interface FileInfo {
  id: number;
  name: string;
  format: string;
  container: string;
  file_bytes: number;
  data_bytes: number;
  events: number;
  stacks: number;
  annotations: number;
  issues: number;
  devices: DeviceInfo[];
  conf: string;
  /** counts up each time a recording that grows was read again */
  gen?: number;
  /** index in Session.recordings, of what is a process of one */
  recording?: number | null;
  /** of a recording: what was lost or not watched */
  incomplete?: Missing[];
}

/** State of a recording that may still be written. */
export interface RecordingStatus {
  path: string;
  state: "recording" | "ended" | "stopped";
  events: number;
  /** since the file changed */
  changed_s: number;
  /** it has changed since it was read */
  behind: boolean;
  read_s: number;
  /** until it may be read again */
  wait_s: number;
  error: string | null;
}

/** The answer to api/follow. */
export interface Following {
  /** by file */
  gens: number[];
  recordings: RecordingStatus[];
}

/** The answer to api/moved; null: it no longer exists. */
export interface Moved {
  allocation: number | null;
  segment: number | null;
}

/** Named on the command line, and not read. */
export interface FailedFile {
  path: string;
  what: string;
  /** what to do about it; may be empty */
  hint: string;
}

/** How far reading is, before the files are open. */
export interface OpeningProgress {
  open: false;
  /** of the file that is read, number `file` of `files` */
  name: string;
  file: number;
  files: number;
  done_bytes: number;
  total_bytes: number;
  events: number;
  /** of the first device; each point stands for this many events, and is a lower bound */
  steps_per_point: number;
  at_least_bytes: number[];
}
export type Opening = { open: true } | OpeningProgress;

export interface Session {
  version: string;
  failed?: FailedFile[];
  /** how long a query may run; absent: not said */
  time_limit_s?: number;
  files: FileInfo[];
  recordings?: RecordingStatus[];
  /** absent: an exported page */
  lives?: LiveSourceInfo[];
  /** files of `wss -o`; absent: an exported page */
  working_sets?: WorkingSetInfo[];
}

export interface Part {
  text: string;
  style: "" | "strong" | "code";
}

export interface Link {
  view: string;
  label: string;
  params: Record<string, string | number>;
}

export interface Sentence {
  parts: Part[];
  link: Link | null;
}

export interface Finding extends Sentence {
  /** "lost", "out_of_memory", …: analysis/findings.h */
  kind: string;
  severity: "high" | "medium" | "low";
  bytes: number | null;
  /** of the headline, if it names the same bytes */
  unit: Unit | null;
}

/** What to try, and the numbers that it rests on. */
export interface Advice {
  kind: string;
  text: string;
  /** as PYTORCH_CUDA_ALLOC_CONF takes it */
  setting: string | null;
  step: number | null;
  /** the line to copy; null: no single line does it */
  copy: string | null;
  /** what a replay shows; null: not replayed */
  replayed: { helps: boolean } | null;
  evidence: { name: string; value: number; unit: "bytes" | "count" | "percent"; source: string }[];
}

/** `failed_request` of the overview: a request that failed, against the memory at that moment. */
export interface FailedRequest {
  requested_bytes: number;
  device_free_bytes: number;
  reserved_bytes: number;
  active_bytes: number;
  free_bytes: number;
  /** of these, in private pools, where this request could not use them */
  held_bytes: number;
  holes: number;
  largest_hole_bytes: number;
  over_bytes: number;
  ceiling_bytes: number;
  /** the ceiling is an upper bound: a MemPool may be unmapped */
  ceiling_at_most?: boolean;
}

export interface Holder {
  stack_id: number | null;
  label: string;
  caller: string;
  bytes: number;
  blocks: number;
  /** of these, older than the recording */
  older_bytes: number;
  share: number;
  slot: number;
  first_allocation_id: number | null;
  /** the named blocks among them; null: the file has no names of tensors */
  tensors?: { blocks: number; bytes: number; largest: string[] } | null;
}

export interface Phase {
  name: string;
  begin_step: number;
  end_step: number;
  peak_active_bytes: number;
  /** begin_step − 1: the state before its first event */
  peak_step: number;
  grew_bytes: number;
}

export interface Identity {
  name: string;
  holds: boolean;
  text: string;
  difference_bytes: number;
}

export interface Issue {
  kind: string;
  count: number;
  device: number | null;
  first_step: number | null;
  first_offset: number | null;
  bytes: number;
  detail: string;
  meaning: string;
}

export interface Overview {
  eyebrow: {
    kind: "oom" | "peak" | "state";
    text: string;
    step: number | null;
    at_start: boolean;
    time_us: number | null;
  };
  headline: string;
  story: Sentence[];
  findings: Finding[];
  failed_request: FailedRequest | null;
  /** step −1: before the first event */
  holders: { at: "oom" | "peak" | "end"; step: number; total_bytes: number; rows: Holder[] };
  phases: Phase[];
  phases_total: number;
  advice: Advice[];
  identities: Identity[];
  issues: Issue[];
  incomplete?: Missing[];
  settings: [string, string][];
}

export interface Annotation {
  id: number;
  name: string;
  begin_step: number;
  end_step: number;
  begin_us: number;
  end_us: number | null;
  depth: number;
}

export interface Annotations {
  total: number;
  rows: Annotation[];
}

export interface Frame {
  function: string;
  file: string;
  line: number;
  /** "python", "cpp", "other"; "forward": of the forward pass, for memory of the backward pass */
  kind: string;
  noise: boolean;
  user: boolean;
  repeat: number;
  note: string;
}

export interface Stack {
  id: number;
  frames: Frame[];
}

export interface StateAt {
  step: number;
  time_us: number | null;
  totals: Totals;
  by_provenance: { traced_bytes: number; older_bytes: number; lost_bytes: number };
  event: {
    action: string;
    /** null for an out-of-memory */
    address: string | null;
    device_free_bytes?: number | null;
    /** null: the file does not say */
    size_bytes: number | null;
    allocation_id: number | null;
    segment_id: number | null;
    stack: Stack | null;
    compile_context: string | null;
    metadata: string | null;
  } | null;
  /** the outermost; `annotations_total` says how many there are */
  annotations: string[];
  annotations_total: number;
}

export const LEGENDS = [
  "stack",
  "category",
  "stream",
  "pool",
  "size",
  "age",
  "provenance",
] as const;
export type LegendBy = (typeof LEGENDS)[number];

export interface LegendRow {
  key: string | number;
  slot: number;
  label: string;
  caller: string;
  bytes: number;
  blocks: number;
}

export interface Legend {
  step: number;
  total_bytes: number;
  rows: LegendRow[];
}

export interface NamedTensor {
  id: number;
  name: string;
  /** parameter, buffer, gradient, optimizer_state, activation or other */
  kind: string;
  /** the parameter that it belongs to */
  of: string | null;
  state: string | null;
  shape: string | null;
  dtype: string | null;
}

export interface Allocation {
  id: number;
  device: number;
  address: string;
  address_id: string;
  /** null: unknown (pinned host memory); then it is between these two */
  requested_bytes: number | null;
  requested_least_bytes: number;
  requested_most_bytes: number;
  block_bytes: number;
  block_inferred: boolean;
  block_uncertain?: boolean;
  segment: { id: number; address_id: string; total_bytes: number; kind: string } | null;
  stream: { id: number; raw: number | string };
  pool: { id: number; text: string } | null;
  provenance: string;
  alloc_step: number | null;
  free_requested_step: number | null;
  free_completed_step: number | null;
  first_step: number;
  last_step: number;
  alloc_time_us: number | null;
  free_time_us: number | null;
  live_at_end: boolean;
  category: string | null;
  stack: Stack | null;
  stack_is_of_free: boolean;
  compile_context: string | null;
  metadata: string | null;
  /** "loss.py:22 cross_entropy_loss (to_dtype)": the user's frame and the operator */
  label: string;
  slot: number;
  /** what the program named in it, the main one first; only if the file has names */
  tensors?: { count: number; rows: NamedTensor[] };
  siblings: {
    count: number;
    bytes: number;
    live_at_end_count: number;
    live_at_end_bytes: number;
  };
}
