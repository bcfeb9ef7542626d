// What the page knows about the columns of the engine's tables: their heads, and which columns are
// hidden. A column that is not known here is shown as it is.
import type { CellKind, TableAnswer } from "../../api/views_contract";
import type { Sort, TableName } from "../../state/link/url";

export interface ShownColumn {
  name: string;
  head: string;
  title: string;
  kind: CellKind;
  /** index in the rows of the answer */
  at: number;
  /** hidden on narrow screens */
  extra: boolean;
}

interface Known {
  head: string;
  title?: string;
  extra?: boolean;
}

const KNOWN: Record<string, Known> = {
  id: { head: "Id" },
  address: { head: "Address" },
  block_bytes: { head: "Block", title: "Bytes of the block, rounded as the allocator does" },
  requested_bytes: { head: "Requested", title: "Bytes that the program requested", extra: true },
  first_step: { head: "From step" },
  last_step: { head: "Freed at", title: "Step; empty: live at the end" },
  life_steps: { head: "Life", title: "Steps from allocation to free" },
  stream: { head: "Stream", extra: true },
  pool: { head: "Pool", extra: true },
  segment: { head: "Segment", title: "Number of its segment", extra: true },
  provenance: { head: "Provenance", extra: true },
  category: { head: "Category" },
  label: { head: "Allocated by" },
  caller: { head: "Called by", extra: true },
  kind: { head: "Kind" },
  total_bytes: { head: "Total", title: "Total bytes" },
  blocks: { head: "Blocks", title: "Blocks that were ever in it" },
  passing_blocks: { head: "Passing", title: "Blocks that pass the filter", extra: true },
  count: { head: "Allocations" },
  largest_bytes: { head: "Largest", extra: true },
  peak_bytes: { head: "Own peak", title: "Most bytes live at once" },
  peak_step: { head: "Peak at", title: "Step of its peak", extra: true },
  at_peak_bytes: { head: "At the peak", title: "Live at the peak of the device" },
  at_end_bytes: { head: "At the end", title: "Live at the end of the recording" },
  at_end_count: { head: "Blocks at end", extra: true },
  mean_life_steps: { head: "Mean life", title: "Steps", extra: true },
  stack_id: { head: "Stack", extra: true },
  name: { head: "Phase" },
  depth: { head: "Depth", title: "0: outermost", extra: true },
  begin_step: { head: "From step" },
  end_step: { head: "Ends before", title: "The first step after it" },
  events: { head: "Events" },
  begin_us: { head: "From", title: "Time since the first event", extra: true },
  end_us: { head: "To", title: "Time since the first event", extra: true },
  peak_active_bytes: { head: "Peak", title: "Most live bytes during the phase" },
  peak_reserved_bytes: {
    head: "Reserved",
    title: "Most reserved bytes during the phase",
    extra: true,
  },
  grew_bytes: { head: "Grew", title: "Live bytes after the phase minus those before it" },
  raw: { head: "Handle", title: "Handle of the stream in the program" },
  segments: { head: "Segments" },
  reserved_at_end_bytes: { head: "Reserved at end" },
  launches: { head: "Launches" },
  per_second: { head: "Per second", title: "Average from the first launch to the last" },
  geometry: { head: "Grid of blocks", title: "Thread blocks of the most frequent launch" },
  geometries: { head: "Geometries", title: "Number of different grids", extra: true },
  function: { head: "By", title: "The function that was called" },
  process: { head: "Process", extra: true },
  first_us: { head: "First", title: "Time since the first event, to the second" },
  last_us: { head: "Last", title: "Time since the first event, to the second" },
  direction: { head: "Direction" },
  copies: { head: "Copies", title: "Calls that succeeded" },
  size_bytes: { head: "Size", title: "Total bytes" },
  host_ns: { head: "Host time", title: "Time inside the calls, added up" },
  bytes_per_s: {
    head: "Bandwidth",
    title:
      "Bytes per host time, for calls that return when the copy is done; other calls only submit it",
  },
  shape: { head: "Shape" },
  dtype: { head: "Type", title: "Type of its elements" },
  of_parameter: { head: "Of", title: "The parameter that it belongs to", extra: true },
  state: { head: "State", title: "Which part of the optimizer's state", extra: true },
  storage_bytes: { head: "Storage", title: "Bytes of its storage, which it may share" },
  allocation: { head: "Allocation", title: "Number of the allocation that holds it", extra: true },
  failures: { head: "Failures", title: "Calls that failed" },
};

/** Where a name means something else in one of the tables. */
const OWN: Partial<Record<TableName, Record<string, Known>>> = {
  kernels: { name: { head: "Kernel", title: "Mangled name" } },
  tensors: { name: { head: "Tensor", title: "As the program named it" } },
};

/** Part of others: the version belongs to the address, the caller to its label. */
const HIDDEN: Record<string, readonly string[]> = {
  allocations: ["version", "stack_id"],
  segments: ["stack_id"],
  stacks: ["slot", "first_id", "stack_id", "caller"],
};

/** Names first: the widest column is the one that says what the row is. */
const FIRST = ["label", "name", "direction"];

const START: Record<TableName, Sort> = {
  allocations: { column: "block_bytes", down: true },
  segments: { column: "total_bytes", down: true },
  stacks: { column: "peak_bytes", down: true },
  phases: { column: "begin_step", down: false },
  streams: { column: "total_bytes", down: true },
  kernels: { column: "launches", down: true },
  copies: { column: "size_bytes", down: true },
  tensors: { column: "block_bytes", down: true },
};

/** Of the process, whatever the device: a launch does not say where it runs. */
export function isOfProcess(table: TableName): boolean {
  return table === "kernels" || table === "copies";
}

export function sortOf(table: TableName, sort: Sort | null): Sort {
  return sort ?? START[table];
}

export function shownColumns(answer: TableAnswer): ShownColumn[] {
  const hidden = HIDDEN[answer.name] ?? [];
  const all = answer.columns.map((column, at): ShownColumn => {
    const known = OWN[answer.name as TableName]?.[column.name] ?? KNOWN[column.name];
    return {
      name: column.name,
      kind: column.kind,
      at,
      head: known?.head ?? column.name,
      title: known?.title ?? "",
      extra: known?.extra ?? false,
    };
  });
  const shown = all.filter((column) => !hidden.includes(column.name));
  const wide = shown.filter((column) => FIRST.includes(column.name));
  return [...wide, ...shown.filter((column) => !FIRST.includes(column.name))];
}

export function isNumber(kind: CellKind): boolean {
  return kind !== "text";
}

/** The cell of a named column; null if the table has none. */
export function cellOf(answer: TableAnswer, row: TableAnswer["rows"][number], column: string) {
  const at = answer.columns.findIndex((one) => one.name === column);
  return at < 0 ? null : (row[at] ?? null);
}

/** "0x7f0586000000" and its version 1 → "b7f0586000000_1", as PyTorch writes it. */
export function addressText(table: string, address: string, version: number | null): string {
  if (table === "allocations" && version !== null) return `b${address.slice(2)}_${version}`;
  return address;
}

/** What memory is for. The slots are fixed: a category has one colour in every view and file. */
const TITLES: Readonly<Record<string, readonly [number, string]>> = {
  other: [0, "other"],
  parameters: [1, "parameters"],
  activations: [2, "activations"],
  attention: [3, "attention"],
  norm: [4, "norm and residual"],
  logits: [5, "logits and loss"],
  communication: [6, "communication"],
  optimizer: [7, "optimizer"],
  gradients: [8, "gradients and recompute"],
  unknown: [9, "unknown or older"],
};

export function categorySlot(name: string): number {
  return TITLES[name]?.[0] ?? 0;
}

export function categoryTitle(name: string): string {
  return TITLES[name]?.[1] ?? name;
}
