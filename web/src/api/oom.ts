// api/oom: why one allocation failed. docs/formats/page-api.md and docs/formats/json.md.
import type { Advice, Overview, Sentence } from "./contract";

export const VERDICTS = [
  "fragmentation",
  "other_pool",
  "capacity",
  "internal_waste",
  "others",
  "cap",
  "flaw",
  "held_in_pool",
  "no_flush",
  "never_fits",
] as const;
export type VerdictName = (typeof VERDICTS)[number];

export interface VerdictSum {
  live_bytes: number;
  free_bytes: number;
  driver_bytes: number | null;
  other_bytes: number | null;
  reserved_bytes: number;
  ceiling_bytes: number | null;
  total_bytes: number | null;
  least_total_bytes: number;
  outside_bytes: number;
  difference_bytes: number;
}

/** Where the allocator would look: one list of free blocks. */
export interface FreeListName {
  size_class: "small" | "large";
  pool: string;
  stream: string | null;
}

export interface Servable extends FreeListName {
  own: boolean;
  /** By the allocator's rules, its pool and stream aside. */
  fits: boolean;
  segments: number;
  reserved_bytes: number;
  live_bytes: number;
  free_bytes: number;
  pieces: number;
  largest_piece_bytes: number;
  largest_request_bytes: number;
}

export interface FreePiece extends FreeListName {
  own: boolean;
  segment_id: number;
  address: string;
  size_bytes: number;
  whole_segment: boolean;
}

export interface StackPins {
  stack_id: number | null;
  label: string;
  caller: string;
  slot: number;
  alone_bytes: number;
  shared_bytes: number;
  blocks: number;
  block_bytes: number;
  smallest_bytes: number;
  largest_bytes: number;
  segments: number;
  oldest_allocation_id: number;
  oldest_step: number | null;
  smallest_allocation_id: number;
}

export interface Verdict {
  rows: { verdict: VerdictName; bytes: number; certain: boolean; text: string }[];
  sum: VerdictSum;
  wanted_bytes: number | null;
  missing_bytes: number | null;
  lacking_bytes: number;
  /** null: no allocator, the driver was asked; then `servable` is empty */
  from: FreeListName | null;
  pool_recorded: boolean;
  before_step: number | null;
  reserved_before_bytes: number;
  active_before_bytes: number;
  free_before_bytes: number;
  uncertain_bytes: number;
  rounding_bytes: number;
  pinned: {
    pinned_bytes: number;
    releasable_bytes: number;
    held_in_pools_bytes: number;
    shared_bytes: number;
    by_nobody_bytes: number;
    segments: number;
    stacks: number;
    rows: StackPins[];
  };
  servable: Servable[];
  last_phase: {
    name: string;
    begin_step: number;
    live_bytes: number;
    blocks: number;
    label: string;
    stack_bytes: number;
  } | null;
}

export interface OomStory {
  step: number;
  requested_bytes: number | null;
  device_free_bytes: number | null;
  given_back_bytes: number;
  given_back_segments: number;
  mapped_in_vain_bytes: number;
  waited_for: number;
  label: string;
  caller: string;
  phases: string[];
  sentences: Sentence[];
  sum_sentence: Sentence;
  verdict: Verdict;
  pieces: { total: number; largest_bytes: number; rows: FreePiece[] };
  advice: Advice[];
  holders: Overview["holders"];
}
