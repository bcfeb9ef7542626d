// What grows, what was never freed, what churns: `api/growth`, see docs/formats/page-api.md.

export interface GrowthSentence {
  text: string;
  sql: string | null;
  view: string | null;
}

interface StackRow {
  stack_id: number | null;
  label: string;
  caller: string;
  slot: number;
}

export interface GrowingRow extends StackRow {
  per_step_bytes: number;
  least_per_step_bytes: number;
  most_per_step_bytes: number;
  grown_bytes: number;
  retained_bytes: number;
  blocks: number;
  since_step: number;
  p: number;
  rises: number;
  kind: "accumulates" | "replaced";
  /** of retained_bytes: in the clean-up at the program's end */
  given_back_bytes: number;
  example_allocation_id: number;
  /** at each of the points */
  outstanding_bytes: number[];
}

export interface NeverFreedRow extends StackRow {
  bytes: number;
  blocks: number;
  older_bytes: number;
  quarter1_bytes: number;
  quarter2_bytes: number;
  quarter3_bytes: number;
  quarter4_bytes: number;
  oldest_step: number | null;
  newest_step: number | null;
  largest_allocation_id: number;
}

export interface ChurnRow extends StackRow {
  blocks_1: number;
  blocks_10: number;
  blocks_100: number;
  within_1_bytes: number;
  within_10_bytes: number;
  within_100_bytes: number;
  peak_bytes: number;
  largest_allocation_id: number;
  /** allocated in equal slices of the recording's events */
  slice_bytes: number[];
}

interface Part<Row> {
  sentences: GrowthSentence[];
  rows: Row[];
  rows_sql: string;
}

export interface GrowthAnswer {
  growth: Part<GrowingRow> & {
    basis: "steps" | "events";
    name: string | null;
    program_steps: number;
    points: number;
    growing: number;
    /** from this step on, the program only freed memory; null: it did not end so */
    clean_up_step: number | null;
    verdict: "told" | "too_few_points" | "too_little_turnover";
  };
  never_freed: Part<NeverFreedRow> & { bytes: number; blocks: number; stacks: number };
  churn: Part<ChurnRow> & { per_step_bytes: number; stacks: number };
  wall: { sentences: GrowthSentence[] };
}
