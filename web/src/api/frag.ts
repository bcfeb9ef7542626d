// Fragmentation: `api/frag`, `api/forecast`, `api/frag_at` and `api/fit` of
// docs/formats/page-api.md.

export const ARENAS = ["reserved", "address"] as const;
/** blocks inside segments, or what the driver handed out */
export type Arena = (typeof ARENAS)[number];

export interface FragColumns {
  step: number[];
  time_us: (number | null)[];
  reserved_bytes: number[];
  active_bytes: number[];
  free_bytes: number[];
  pinned_bytes: number[];
  largest_hole_bytes: number[];
  stranded_bytes: number[];
  waste_bytes: number[];
  /** null: no allocator cuts this memory up, so there is no score at any sample */
  reserved_score: (number | null)[];
  address_score: (number | null)[];
}

export interface ModelForecast {
  model: "window" | "ridge" | "drift" | "persistence";
  predicted: number[];
  mean_error: number;
  errors: (number | null)[];
  skill: (number | null)[];
}

/**
 * Made from what was recorded up to a step. `now` to `models` are null where that is not enough.
 */
export interface Forecast {
  enough: boolean;
  history: number;
  least: number;
  now: number | null;
  best: ModelForecast["model"] | null;
  beats_no_change: boolean | null;
  /** of the published model: otherwise its warnings are not shown */
  published_beats_no_change: boolean | null;
  confidence: number | null;
  slope: number | null;
  risk: string | null;
  warnings: { worse: boolean; jump: boolean; trend: boolean } | null;
  models: ModelForecast[] | null;
  /** moments of the past by which the models were judged */
  checked: number;
  /** the step of the last sample that was used, and the predicted steps */
  from_step: number;
  steps: number[];
  /** what the recording had there; null: it had ended */
  came: (number | null)[];
}

export interface PoolName {
  id: [number, number];
  name: string;
}

export interface Frag {
  /** the 95th percentile of the recording's requests; 0 without allocations */
  request_bytes: number;
  /** whose shape the scores are */
  pool: PoolName;
  columns: FragColumns;
}

export interface FragScore {
  score: number;
  band: string;
  external: number;
  unusable: number;
  small: number;
  variation: number;
  large_gaps: number;
  utilisation: number;
}

export interface FragSums {
  segments_bytes: number;
  covered_bytes: number;
  blocks: number;
  waste_bytes: number;
  free_bytes: number;
  holes: number;
  largest_hole_bytes: number;
  scattered_bytes: number;
  external: number;
  external_by_segment: number;
  pinned_bytes: number;
  pinned_segments: number;
  releasable_bytes: number;
  held_in_pools_bytes: number;
  stranded_bytes: number;
  /** null: no allocator */
  reserved: FragScore | null;
  address: FragScore | null;
}

export interface FragPool extends FragSums {
  pool: PoolName;
  segments: number;
}

export interface StackPin {
  stack_id: number | null;
  label: string;
  caller: string;
  slot: number;
  pins_bytes: number;
  alone_bytes: number;
  shared_bytes: number;
  blocks: number;
  block_bytes: number;
  segments: number;
  oldest_allocation_id: number;
  /** null: before the recording */
  oldest_step: number | null;
}

export interface FragAt {
  now: FragSums & { step: number; reserved_bytes: number; outside_blocks: number };
  pools: FragPool[];
  pools_total: number;
  size_classes: {
    from_bytes: number;
    blocks: number;
    block_bytes: number;
    requested_bytes: number;
    waste_bytes: number;
  }[];
  stranded: { request_bytes: number; stranded_bytes: number }[];
  pins: {
    pinned_bytes: number;
    shared_bytes: number;
    by_nobody_bytes: number;
    segments: number;
    stacks: number;
    rows: StackPin[];
  };
}

export interface FitList {
  small: boolean;
  pool: PoolName;
  stream: number | null;
  free_bytes: number;
  largest_request_bytes: number;
  fits: boolean;
  block_bytes: number | null;
  address: string | null;
  times: number;
  /** free in the list, but of no use to requests of that size */
  stranded_bytes: number;
  driver_bytes: number;
}

export interface Fit {
  step: number;
  request_bytes: number;
  /** true only of "caching"; else there are no lists */
  rules_known: boolean;
  allocator: "caching" | "pinned_host" | "driver";
  /** of "driver": the free bytes that were last reported; null: unknown */
  driver_free: { free_bytes: number; total_bytes: number } | null;
  /** of all holes, as the curve; what counts is in the lists */
  free_bytes: number;
  stranded_bytes: number;
  lists: FitList[];
}
