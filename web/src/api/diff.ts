// Two places compared, as the server answers: docs/formats/json-diff.md.
import type { FlameFrame, TreeColumns } from "./flame";

export type DiffChange = "same" | "grew" | "shrank" | "new" | "gone";

export interface DiffSide {
  name: string;
  /** "the peak", "step 3,101", … */
  at: string;
  devices: {
    device: number;
    label: string;
    events: number;
    step: number | null;
    time_us: number | null;
  }[];
  requested_bytes: number;
  active_bytes: number;
  reserved_bytes: number;
  blocks: number;
}

export interface DiffRow {
  label: string;
  change: DiffChange;
  change_bytes: number;
  a_bytes: number;
  b_bytes: number;
  a_blocks: number;
  b_blocks: number;
  /** not by stack */
  key?: string;
  /** by stack only, as all below */
  caller?: string;
  match?: "exact" | "path" | "moved" | "user" | null;
  a_line?: number | null;
  b_line?: number | null;
  a_stack_ids?: number[];
  b_stack_ids?: number[];
}

export interface DiffAnswer {
  a: DiffSide;
  b: DiffSide;
  alike: boolean;
  verdict: string;
  particulars: string[];
  by: string;
  total: {
    a_bytes: number;
    b_bytes: number;
    change_bytes: number;
    more_bytes: number;
    less_bytes: number;
    adds_up: boolean;
    rows: Record<DiffChange, number>;
  };
  rows: DiffRow[];
  rows_total: number;
}

export interface DiffFlameAnswer {
  width: string;
  stacks: number;
  tree: TreeColumns;
  frames: FlameFrame[];
}
