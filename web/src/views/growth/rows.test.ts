import { describe, expect, it } from "vitest";
import type { GrowthAnswer } from "../../api/growth";
import { actionsOf, shownOf } from "./rows";

const stack = { stack_id: 7, label: "app.py:1 step", caller: "", slot: 2 };
const answer: GrowthAnswer = {
  growth: {
    basis: "steps",
    name: "step",
    program_steps: 20,
    points: 20,
    growing: 1,
    clean_up_step: null,
    verdict: "told",
    sentences: [],
    rows_sql: "",
    rows: [
      {
        ...stack,
        per_step_bytes: 1 << 20,
        least_per_step_bytes: 1 << 20,
        most_per_step_bytes: 1 << 20,
        grown_bytes: 16 << 20,
        retained_bytes: 20 << 20,
        blocks: 20,
        since_step: 5,
        p: 0.001,
        rises: 1,
        kind: "accumulates",
        given_back_bytes: 0,
        example_allocation_id: 99,
        outstanding_bytes: [0, 10, 20],
      },
    ],
  },
  never_freed: {
    bytes: 8,
    blocks: 1,
    stacks: 1,
    sentences: [],
    rows_sql: "",
    rows: [
      {
        ...stack,
        stack_id: null,
        bytes: 512,
        blocks: 1,
        older_bytes: 512,
        quarter1_bytes: 0,
        quarter2_bytes: 0,
        quarter3_bytes: 0,
        quarter4_bytes: 0,
        oldest_step: null,
        newest_step: null,
        largest_allocation_id: 3,
      },
    ],
  },
  churn: { per_step_bytes: 0, stacks: 0, sentences: [], rows_sql: "", rows: [] },
  wall: { sentences: [] },
};

describe("growth rows", () => {
  it("name the unit of the slope", () => {
    expect(shownOf(answer, "growing").heads[0]?.text).toBe("Per step");
    const events = { ...answer, growth: { ...answer.growth, basis: "events" as const } };
    expect(shownOf(events, "growing").heads[0]?.text).toBe("Per 1,000 events");
  });

  it("have as many cells as heads", () => {
    for (const list of ["growing", "never_freed", "churn"] as const) {
      const shown = shownOf(answer, list);
      for (const row of shown.rows) expect(row.cells.length).toBe(shown.heads.length);
    }
  });

  it("lead to the blocks that stayed, also without a stack", () => {
    const [row] = shownOf(answer, "never_freed").rows;
    if (!row) throw new Error("no row");
    const timeline = actionsOf(row, "never_freed", 100)[0];
    expect(timeline?.patch.sql).toContain("stack_id IS NULL AND free_requested_step IS NULL");
    expect(timeline?.patch.sel).toBe(3);
    expect(actionsOf(row, "churn", 0).map((action) => action.name)).toEqual(["Timeline", "SQL"]);
  });

  it("grow since their step in the flame graph", () => {
    const [row] = shownOf(answer, "growing").rows;
    if (!row) throw new Error("no row");
    expect(actionsOf(row, "growing", 100)[1]?.patch).toMatchObject({
      flame: "growth",
      span: [5, 100],
    });
  });

  it("lead to what was held before the last clean-up of a program that ended", () => {
    const [row] = shownOf(answer, "growing").rows;
    if (!row) throw new Error("no row");
    const sql = actionsOf(row, "growing", 80, true).at(-1)?.patch.sql;
    expect(sql).toContain("stack_id = 7 AND last_step > 80");
    const growth = { ...answer.growth, clean_up_step: 81 };
    expect(shownOf({ ...answer, growth }, "growing").heads[1]?.title).toContain("at step 81");
  });
});
