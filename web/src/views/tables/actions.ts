// From a row to the pictures, and out of the page.
import { apiUrl } from "../../api/client";
import type { TableAnswer, TableCell } from "../../api/views_contract";
import { withTerm } from "../../state/link/filter_terms";
import { formatHash, type PageState } from "../../state/link/url";
import { isView, page } from "../../state/page/store";
import { cellOf } from "./columns";
import { question } from "./pages";

interface RowAction {
  name: string;
  title: string;
  href: string;
}

type Row = readonly TableCell[];

function numberIn(answer: TableAnswer, row: Row, column: string): number | null {
  const cell = cellOf(answer, row as TableCell[], column);
  return typeof cell === "number" ? cell : null;
}

/** The term that lets only this row's allocations pass. */
function filterTerm(answer: TableAnswer, row: Row): [string, string] | null {
  const of = (key: string, column: string): [string, string] | null => {
    const value = numberIn(answer, row, column);
    return value === null ? null : [key, String(value)];
  };
  switch (answer.name) {
    case "segments":
      return of("segment", "id");
    case "stacks":
      return of("stack_id", "stack_id");
    case "streams":
      return of("stream", "id");
    default:
      return null;
  }
}

/** What a row selects: its allocation, or the first allocation of its stack. */
export function selects(answer: TableAnswer, row: Row): number | null {
  if (answer.name === "allocations") return numberIn(answer, row, "id");
  if (answer.name === "tensors") return numberIn(answer, row, "allocation");
  return answer.name === "stacks" ? numberIn(answer, row, "first_id") : null;
}

function inTimeline(answer: TableAnswer, row: Row, from: PageState): Partial<PageState> | null {
  const step = (column: string) => numberIn(answer, row, column);
  const filter = filterTerm(answer, row);
  const filtered = filter ? withTerm(from.filter, ...filter) : from.filter;
  if (answer.name === "phases") {
    const [begin, end] = [step("begin_step"), step("end_step")];
    if (begin === null || end === null) return null;
    return { axis: "step", x: [begin, Math.max(begin + 1, end)], y: null, at: step("peak_step") };
  }
  if (answer.name === "streams") return { filter: filtered };
  // a name whose block is not known is nowhere in the picture
  if (answer.name === "tensors" && selects(answer, row) === null) return null;
  if (answer.name === "kernels" || answer.name === "copies") return null;
  const at = step("first_step") ?? step("peak_step");
  return { at, sel: selects(answer, row), filter: filtered };
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** What asks for the counts that a row of kernels or copies adds up; null: other tables. */
function sqlOf(answer: TableAnswer, row: Row): string | null {
  const text = (column: string) => String(cellOf(answer, row as TableCell[], column) ?? "");
  if (answer.name === "kernels") {
    const name = text("name");
    // a kernel without a name is known by its handle
    const which = /^0x[0-9a-f]+$/.test(name)
      ? `k.name IS NULL AND hex_address(k.handle) = ${quoted(name)}`
      : `k.name = ${quoted(name)}`;
    return `SELECT l.*, f.name AS function\nFROM launches AS l JOIN kernels AS k USING (kernel_id)\n  LEFT JOIN functions AS f USING (function_id)\nWHERE ${which}\nORDER BY l.begin_ns`;
  }
  if (answer.name !== "copies") return null;
  return `SELECT c.*, f.name AS function\nFROM copies AS c LEFT JOIN functions AS f USING (function_id)\nWHERE c.direction = ${quoted(text("direction"))} AND f.name = ${quoted(text("function"))}\nORDER BY c.begin_ns`;
}

/** Where a row can be seen, for links. */
export function rowActions(answer: TableAnswer, row: Row): RowAction[] {
  const from = page.value;
  const actions: RowAction[] = [];
  const add = (name: string, title: string, patch: Partial<PageState>) => {
    const view = patch.view ?? from.view;
    if (isView(view)) actions.push({ name, title, href: formatHash({ ...from, ...patch }) });
  };
  const timeline = inTimeline(answer, row, from);
  if (timeline)
    add("Timeline", "Show it in the timeline  Enter", { ...timeline, view: "timeline" });
  const step = numberIn(answer, row, "first_step") ?? numberIn(answer, row, "peak_step");
  if (step !== null) {
    const seg = answer.name === "segments" ? numberIn(answer, row, "id") : null;
    const sel = selects(answer, row);
    add("State", "Show the segments after this step", { view: "state", at: step, sel, seg });
  }
  if (answer.name === "phases") {
    const [begin, end] = [numberIn(answer, row, "begin_step"), numberIn(answer, row, "end_step")];
    if (begin !== null && end !== null) {
      const span: [number, number] = [begin, Math.max(begin + 1, end - 1)];
      add("Flame", "Show what grew in this phase", { view: "flame", flame: "growth", span });
    }
  }
  const sql = sqlOf(answer, row);
  if (sql !== null) add("SQL", "The counts that this row adds up", { view: "sql", sql });
  const term = filterTerm(answer, row);
  if (term) {
    const filter = withTerm(from.filter, ...term);
    add("Flame", "Show the stacks that allocated there", { view: "flame", filter });
    add("Filter", "Show only its allocations, in every view", { filter });
    add("Its allocations", "As a table", { table: "allocations", sort: null, filter });
  }
  return actions;
}

/** All rows that pass, in the order of the screen. */
export function csvUrl(): string {
  return apiUrl("table", { ...(question.value ?? {}), format: "csv" });
}
