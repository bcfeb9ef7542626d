// Search and SQL: the second half of docs/formats/page-api.md.
import type { Allocation } from "./contract";

export interface SearchStack {
  stack_id: number;
  label: string;
  caller: string;
  /** in bytes of UTF-8 */
  match: [number, number];
  count: number;
  bytes: number;
  first_id: number;
}

export interface SearchResult {
  mark: number;
  count: number;
  bytes: number;
  stacks_total: number;
  stacks: SearchStack[];
  annotations_total: number;
  annotations: { id: number; name: string; begin_step: number; end_step: number }[];
}

export interface Hit {
  index: number;
  count: number;
  allocation: Allocation;
}

export type ColumnKind = "integer" | "real" | "text" | "bytes" | "step" | "time";
/** integers beyond 2^53 are text, so that no digit is lost */
export type Cell = number | string | null;

export interface Column {
  name: string;
  kind: ColumnKind;
}

export interface SqlResult {
  columns: Column[];
  rows: Cell[][];
  truncated: boolean;
  elapsed_ms: number;
  mark: number | null;
  marked: number;
}

export interface SchemaTable {
  name: string;
  rows: number;
  doc: string;
  columns: { name: string; type: string; doc: string }[];
}

export interface Schema {
  tables: SchemaTable[];
  functions: { name: string; doc: string }[];
  questions: { title: string; sql: string }[];
}
