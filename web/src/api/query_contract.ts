// Search and SQL: the second half of docs/formats/page-api.md.
import type { Allocation } from "./contract";

export interface SearchStack {
  stack_id: number;
  label: string;
  caller: string;
  match: [number, number];
  count: number;
  bytes: number;
  first_id: number;
}

export interface SearchResult {
  mark: number;
  count: number;
  bytes: number;
  stacks: SearchStack[];
  annotations: { id: number; name: string; begin_step: number; end_step: number }[];
}

export interface Hit {
  index: number;
  count: number;
  allocation: Allocation;
}

export type ColumnKind = "integer" | "real" | "text" | "bytes" | "step" | "time";
export type Cell = number | string | null;

export interface SqlResult {
  columns: { name: string; kind: ColumnKind }[];
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
