// Filters, categories and tables: the third part of docs/formats/page-api.md.

export interface FilterAnswer {
  count: number;
  bytes: number;
  total_count: number;
  total_bytes: number;
  peak_step: number;
  live_at_peak_bytes: number;
  first_id: number | null;
}

export interface CategoryRow {
  slot: number;
  /** as a filter has it */
  name: string;
  /** as people read it */
  label: string;
  bytes: number;
  blocks: number;
}

export interface Categories {
  step: number;
  total_bytes: number;
  unknown_share: number;
  rows: CategoryRow[];
}

export type CellKind =
  | "id"
  | "count"
  | "bytes"
  | "signed_bytes"
  | "step"
  | "time"
  | "duration"
  | "rate"
  | "bytes_per_s"
  | "address"
  | "text";
export type TableCell = number | string | null;

export interface TableAnswer {
  name: string;
  sort: string;
  order: "asc" | "desc";
  total: number;
  /** that pass the filter */
  shown: number;
  offset: number;
  columns: { name: string; kind: CellKind }[];
  rows: TableCell[][];
}
