// What a link carries: every choice of the page that others see as well when they open it.

import type { LegendBy } from "../../api/contract";
import type { Arena } from "../../api/frag";
import type { StateSort } from "../../api/layout";
import { LIVE_WINDOWS, type LiveWindow } from "../../api/live";
import type { Hue } from "../../api/map";

export type Axis = "step" | "time";
export type Range = readonly [number, number];
export type MarkSource = "search" | "sql";

/** What the bytes of a flame graph are. */
export const FLAMES = ["live", "peak", "allocated", "growth", "churn"] as const;
export type FlameOf = (typeof FLAMES)[number];
export const FRAME_KINDS = ["all", "python", "cpp"] as const;
export type FrameKinds = (typeof FRAME_KINDS)[number];
export const TABLES = [
  "allocations",
  "segments",
  "stacks",
  "phases",
  "streams",
  "kernels",
  "copies",
  "tensors",
] as const;
export type TableName = (typeof TABLES)[number];
/** The lists of the Growth view. */
export const GROWTH_LISTS = ["growing", "never_freed", "churn"] as const;
export type GrowthList = (typeof GROWTH_LISTS)[number];
/** How the recordings side by side are sorted, and what each is compared with. */
export const LANE_SORTS = ["file", "peak", "cursor", "difference"] as const;
export type LaneSort = (typeof LANE_SORTS)[number];
export const LANE_REFERENCES = ["median", "first"] as const;
export type LaneReference = (typeof LANE_REFERENCES)[number];
/** What lies one above the other on an axis of time: equal times of the clock, or first events. */
export const ALIGNMENTS = ["clock", "first"] as const;
export type Alignment = (typeof ALIGNMENTS)[number];
/** Diff: what its rows are by, and what the width of a frame stands for. */
export const DIFF_ROWS = ["stack", "category", "size", "segment"] as const;
export type DiffRows = (typeof DIFF_ROWS)[number];
export const DIFF_WIDTHS = ["size", "change"] as const;
export type DiffWidth = (typeof DIFF_WIDTHS)[number];
export const DIFF_PICTURES = ["flame", "lanes"] as const;
export type DiffPicture = (typeof DIFF_PICTURES)[number];
/** Live: what its processes are sorted by. */
export const LIVE_SORTS = [
  "pid",
  "live",
  "peak",
  "allocations",
  "launches",
  "to_device",
  "to_host",
  "failures",
] as const;
export type LiveSort = (typeof LIVE_SORTS)[number];
export { LIVE_WINDOWS, type LiveWindow };
export interface Sort {
  column: string;
  down: boolean;
}

export interface PageState {
  view: string;
  file: number;
  /** ordinal of the device; null: the file's busiest */
  device: number | null;
  axis: Axis;
  /** visible range of the axis; null: everything */
  x: Range | null;
  /** visible range of bytes; null: fitted to what is visible */
  y: Range | null;
  colour: LegendBy;
  /** the step of the cursor; null: the worst out-of-memory, else the peak */
  at: number | null;
  /** id of the selected allocation */
  sel: number | null;
  q: string;
  sql: string;
  /** which of the two is marked in the pictures */
  mark: MarkSource | null;
  /** show the marked ones only */
  only: boolean;
  /** State: how the segments are sorted, whether in groups, and drawn in one scale */
  order: StateSort;
  flat: boolean;
  scale: boolean;
  /** id of the selected segment */
  seg: number | null;
  /** filter over the events: a group of actions, and words */
  act: string;
  ev: string;
  /** Map: visible range of the axis of addresses; null: everything */
  ay: Range | null;
  /** Map: what the colours mean */
  hue: Hue;
  /** Map: the whole span of addresses instead of what was owned */
  whole: boolean;
  /** Map: what was live at an out-of-memory stands out */
  red: boolean;
  /** terms of a filter, as the server reads them; see filter_terms.ts */
  filter: string;
  flame: FlameOf;
  /** steps that a flame graph is about; null: what the timeline shows */
  span: Range | null;
  frames: FrameKinds;
  /** frames that only pass the call on are shown as well */
  noise: boolean;
  /** frames that a flame graph leaves out, and those that it points out */
  hide: string;
  find: string;
  /** id of the frame between its callers and its callees; null: an icicle */
  sandwich: number | null;
  /** frame ids from the outside to the node that fills the width */
  zoom: readonly number[];
  /** Fragmentation: whose shape is scored */
  arena: Arena;
  /** Fragmentation: the size of a request in bytes; null: what ran out of memory, or a usual one */
  fit: number | null;
  /**
   * What if: settings that the user wrote, the chosen row, memory of the device; null: as recorded
   */
  set: string;
  conf: string;
  cap: number | null;
  table: TableName;
  growth: GrowthList;
  /** null: as the table likes it */
  sort: Sort | null;
  /** Side by side: how sorted, and compared with what; null: as their number suggests */
  rank: LaneSort;
  against: LaneReference | null;
  /** every recording has a scale of its own */
  own: boolean;
  /** null: by the clock if the recordings overlap */
  align: Alignment | null;
  /** the time of the cursor where it is not that of `at`: other recordings have other events */
  t: number | null;
  /** Diff: "file/device" of B; empty: the next recording. A is what the page speaks of */
  vs: string;
  /** where A and B are compared, as the server reads it; B empty: as A */
  pa: string;
  pb: string;
  by: DiffRows;
  width: DiffWidth;
  pic: DiffPicture;
  /** key of the chosen row */
  row: string;
  /** frames from the outside to the one that fills the width, as the answer numbers them */
  way: readonly number[];
  /** Live: number of the chosen process in its recording; null: all of them */
  proc: number | null;
  /** how far back its lines reach */
  win: LiveWindow;
  rates: LiveSort;
}

export const START: PageState = {
  view: "overview",
  file: 0,
  device: null,
  axis: "step",
  x: null,
  y: null,
  colour: "stack",
  at: null,
  sel: null,
  q: "",
  sql: "",
  mark: null,
  only: false,
  order: "waste",
  flat: false,
  scale: false,
  seg: null,
  act: "",
  ev: "",
  ay: null,
  hue: "size",
  whole: false,
  red: false,
  filter: "",
  flame: "live",
  span: null,
  frames: "all",
  noise: false,
  hide: "",
  find: "",
  sandwich: null,
  zoom: [],
  arena: "reserved",
  fit: null,
  set: "",
  conf: "",
  cap: null,
  table: "allocations",
  growth: "growing",
  sort: null,
  rank: "file",
  against: null,
  own: false,
  align: null,
  t: null,
  vs: "",
  pa: "peak",
  pb: "",
  by: "stack",
  width: "size",
  pic: "flame",
  row: "",
  way: [],
  proc: null,
  win: "ten_minutes",
  rates: "live",
};
