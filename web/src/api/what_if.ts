// The allocator replayed under other settings: `api/what_if`, see docs/formats/page-api.md.

export interface Replayed {
  /** the whole of PYTORCH_CUDA_ALLOC_CONF; "": nothing is set */
  settings: string;
  peak_reserved_bytes: number;
  /** over ways to place segments; null: they do not matter */
  peak_reserved_range_bytes: { least: number; most: number } | null;
  peak_active_bytes: number;
  /** reserved and in no block, when most was in blocks */
  unused_at_peak_bytes: number;
  retries: number;
  ooms: number;
  ooms_range: { least: number; most: number } | null;
  driver_allocs: number;
  driver_frees: number;
  /** requests that failed when they were recorded, and fit here */
  rescued: number;
  forecast_from_step: number | null;
  /** the replay ended here: too many free blocks to search */
  stopped_at_step: number | null;
  failures: { step: number; request_bytes: number; was_recorded: boolean }[];
  /** the highest of each of 400 equal parts of the steps */
  reserved_line: number[];
  active_line: number[];
}

/** `api/what_if_progress`: candidates of the running answer; 0 of 0 while the recording is verified */
export interface WhatIfProgress {
  running: boolean;
  done: number;
  of: number;
}

export interface WhatIf {
  device: number;
  verify: {
    events_checked: number;
    events_exact: number;
    divergences: number;
    first_divergence: { step: number; cause: string } | null;
    policy: { tie_break: "segment" | "address"; tie_break_shows: boolean };
  };
  capacity_bytes: number | null;
  capacity_source: "given" | "out_of_memory" | "refused" | null;
  /** did the replay under its own settings meet what the recording did? */
  recorded: { peak_reserved_bytes: number; ooms: number; own_is_as_recorded: boolean };
  own: Replayed;
  /** best first */
  candidates: Replayed[];
  /** the best that helps; null: none does */
  best: string | null;
  sentences: string[];
}
