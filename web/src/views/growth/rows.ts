// The three lists as rows of one shape: numbers with heads, a spark line, and where to see them.
import type { ChurnRow, GrowingRow, GrowthAnswer, NeverFreedRow } from "../../api/growth";
import type { GrowthList, PageState } from "../../state/link/page_state";
import { bytesText, integer } from "../../text/units";

export interface Head {
  text: string;
  title: string;
  /** not on narrow pages */
  hide?: boolean;
}

export interface Row {
  key: string;
  label: string;
  caller: string;
  slot: number;
  stack: number | null;
  /** id of an example allocation */
  example: number;
  cells: { text: string; exact: string }[];
  spark: readonly number[];
  sparkText: string;
  since: number | null;
}

export interface Shown {
  heads: Head[];
  spark: string;
  rows: Row[];
}

const size = (bytes: number) => ({ text: bytesText(bytes), exact: `${integer(bytes)} B` });
const count = (number: number) => ({ text: integer(number), exact: "" });

function per(answer: GrowthAnswer): string {
  return answer.growth.basis === "steps" ? "Per step" : "Per 1,000 events";
}

function growing(of: GrowingRow): Row {
  return {
    key: `${of.stack_id}`,
    label: of.label,
    caller: of.caller,
    slot: of.slot,
    stack: of.stack_id,
    example: of.example_allocation_id,
    cells: [
      size(of.per_step_bytes),
      size(of.retained_bytes),
      count(of.blocks),
      count(of.since_step),
    ],
    spark: of.outstanding_bytes,
    sparkText: `Held memory, from ${bytesText(of.outstanding_bytes[0] ?? 0)} to ${bytesText(of.outstanding_bytes.at(-1) ?? 0)}`,
    since: of.since_step,
  };
}

function neverFreed(of: NeverFreedRow): Row {
  const quarters = [of.quarter1_bytes, of.quarter2_bytes, of.quarter3_bytes, of.quarter4_bytes];
  return {
    key: `${of.stack_id}`,
    label: of.label,
    caller: of.caller,
    slot: of.slot,
    stack: of.stack_id,
    example: of.largest_allocation_id,
    cells: [size(of.bytes), count(of.blocks), size(of.older_bytes)],
    spark: [of.older_bytes, ...quarters],
    sparkText: `Older than the recording ${bytesText(of.older_bytes)}; by quarter ${quarters.map(bytesText).join(", ")}`,
    since: of.oldest_step,
  };
}

function churn(of: ChurnRow): Row {
  return {
    key: `${of.stack_id}`,
    label: of.label,
    caller: of.caller,
    slot: of.slot,
    stack: of.stack_id,
    example: of.largest_allocation_id,
    cells: [
      size(of.within_100_bytes),
      count(of.blocks_1),
      count(of.blocks_10),
      count(of.blocks_100),
      size(of.peak_bytes),
    ],
    spark: of.slice_bytes,
    sparkText: "Allocated over the recording",
    since: null,
  };
}

export function shownOf(answer: GrowthAnswer, list: GrowthList): Shown {
  if (list === "growing") {
    const whenHeld =
      answer.growth.clean_up_step === null
        ? "Held when the recording ended"
        : `Held at step ${integer(answer.growth.clean_up_step)}, before the program's last clean-up`;
    return {
      heads: [
        { text: per(answer), title: "Theil–Sen slope of the memory that stays" },
        { text: "At the end", title: whenHeld },
        { text: "Blocks", title: whenHeld, hide: true },
        { text: "Since step", title: "The step since which it grows", hide: true },
      ],
      spark: "Held",
      rows: answer.growth.rows.map(growing),
    };
  }
  if (list === "never_freed") {
    return {
      heads: [
        { text: "Bytes", title: "Block bytes" },
        { text: "Blocks", title: "Number of blocks" },
        { text: "Older", title: "Bytes older than the recording", hide: true },
      ],
      spark: "By age",
      rows: answer.never_freed.rows.map(neverFreed),
    };
  }
  return {
    heads: [
      { text: "Freed soon", title: "Bytes freed within 100 later allocations" },
      { text: "1", title: "Blocks freed within 1 later allocation", hide: true },
      { text: "10", title: "Blocks freed within 10 later allocations", hide: true },
      { text: "100", title: "Blocks freed within 100 later allocations" },
      { text: "At the peak", title: "Bytes that were live at the peak of active memory" },
    ],
    spark: "Allocated",
    rows: answer.churn.rows.map(churn),
  };
}

/** Whether the recording is long enough to detect growth. */
export function isKnown(answer: GrowthAnswer): boolean {
  const { verdict } = answer.growth;
  return verdict !== "too_few_points" && verdict !== "too_little_turnover";
}

export interface Action {
  name: string;
  title: string;
  patch: Partial<PageState>;
}

/** Where a row can be seen. `last`: the last step that was looked at; `cleaned`: the program's last
 *  clean-up comes after it. */
export function actionsOf(row: Row, list: GrowthList, last: number, cleaned = false): Action[] {
  const which = row.stack === null ? "IS NULL" : `= ${row.stack}`;
  const held = cleaned ? ` AND last_step > ${last}` : " AND free_requested_step IS NULL";
  const left = list === "churn" ? "" : held;
  const sql = `SELECT id\nFROM allocations\nWHERE stack_id ${which}${left}`;
  const actions: Action[] = [
    {
      name: "Timeline",
      title: "Show its blocks",
      patch: { view: "timeline", sel: row.example, sql, mark: "sql", x: null, y: null },
    },
  ];
  if (last > 0) {
    const from = Math.min(row.since ?? 0, last - 1);
    const flame = list === "churn" ? "churn" : "growth";
    const title = list === "churn" ? "Memory that is freed again" : "What else grew since then";
    actions.push({ name: "Flame", title, patch: { view: "flame", flame, span: [from, last] } });
  }
  actions.push({ name: "SQL", title: "Its allocations", patch: { view: "sql", sql } });
  return actions;
}
