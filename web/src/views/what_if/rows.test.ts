import { describe, expect, it } from "vitest";
import type { Replayed, WhatIf } from "../../api/what_if";
import { chosenRow, OWN, ownText, proofOf, replayingText, rowsOf, unusedLine } from "./rows";

const MIB = 2 ** 20;

function replayed(settings: string, reserved: number, ooms = 0): Replayed {
  return {
    settings,
    peak_reserved_bytes: reserved * MIB,
    peak_reserved_range_bytes: null,
    peak_active_bytes: 50 * MIB,
    unused_at_peak_bytes: 10 * MIB,
    retries: 0,
    ooms,
    ooms_range: null,
    driver_allocs: 3,
    driver_frees: 2,
    rescued: 0,
    forecast_from_step: null,
    stopped_at_step: null,
    failures: [],
    reserved_line: [0, 20, 60],
    active_line: [0, 15, 70],
  };
}

function whatIf(own: Replayed, ...candidates: Replayed[]): WhatIf {
  return {
    device: 0,
    verify: {
      events_checked: 10,
      events_exact: 10,
      divergences: 0,
      first_divergence: null,
      policy: { tie_break: "segment", tie_break_shows: false },
    },
    capacity_bytes: null,
    capacity_source: null,
    recorded: {
      peak_reserved_bytes: own.peak_reserved_bytes,
      ooms: own.ooms,
      own_is_as_recorded: true,
    },
    own,
    candidates,
    best: null,
    sentences: [],
  };
}

describe("the rows of a what-if", () => {
  it("has the recording's own settings at their rank", () => {
    const rows = rowsOf(
      whatIf(replayed("", 100, 1), replayed("a:1", 120), replayed("b:1", 130, 1)),
    );
    expect(rows.map(({ key, rank }) => [key, rank])).toEqual([
      ["a:1", "1"],
      [OWN, ""],
      ["b:1", "2"],
    ]);
    expect(rowsOf(whatIf(replayed("", 100), replayed("a:1", 90))).at(-1)?.key).toBe(OWN);
    expect(rowsOf(whatIf(replayed("", 100), replayed("a:1", 110)))[0]?.key).toBe(OWN);
  });
  it("ranks by the most over ways to place, and shows that range", () => {
    const spread = { ...replayed("a:1", 90), ooms_range: { least: 0, most: 2 } };
    const rows = rowsOf(whatIf(replayed("", 100, 1), spread));
    expect(rows.map(({ key }) => key)).toEqual([OWN, "a:1"]);
    expect(rows[1]).toMatchObject({ outcome: "0 to 2 failures", fails: true });
  });
  it("says what its own settings are with another capacity", () => {
    const data = whatIf(replayed("", 100));
    expect(ownText(data)).toBe("as recorded");
    expect(ownText({ ...data, recorded: { ...data.recorded, own_is_as_recorded: false } })).toBe(
      "own settings",
    );
  });
  it("says how each differs, and draws all in one scale", () => {
    const [own, more] = rowsOf(whatIf(replayed("", 100), replayed("", 125)));
    expect(own?.change).toBeNull();
    expect(more?.change).toEqual({ number: "+25.0", unit: "MiB" });
    expect(more?.settings).toBe("no settings");
    expect(more?.live).toBeCloseTo(50 / 125);
    expect(own?.unused).toBeCloseTo(0.08);
  });
  it("takes the best where the link names none that is there", () => {
    const rows = rowsOf(whatIf(replayed("", 100), replayed("a:1", 90)));
    expect(chosenRow(rows, "gone")?.key).toBe("a:1");
    expect(chosenRow(rows, OWN)?.isOwn).toBe(true);
    expect(chosenRow([], "a:1")).toBeUndefined();
  });
  it("never shows less than nothing as unused", () => {
    expect(unusedLine(replayed("", 100))).toEqual([0, 5, 0]);
  });
  it("says how many settings are replayed", () => {
    expect(replayingText(null)).toBe("Replaying…");
    expect(replayingText({ running: true, done: 0, of: 0 })).toContain("the recorded settings");
    expect(replayingText({ running: true, done: 4, of: 12 })).toBe("Replaying… 4 of 12 settings");
  });
  it("says how far it is proven", () => {
    const data = whatIf(replayed("", 100));
    expect(proofOf(data)).toMatchObject({ text: "10 events proven", whole: true });
    data.verify.events_exact = 9;
    data.verify.first_divergence = { step: 4, cause: "another free block was taken" };
    expect(proofOf(data)).toMatchObject({ text: "9 of 10 events proven", whole: false });
    expect(proofOf(data).title).toContain("step 4: another");
    data.verify = { ...data.verify, events_checked: 0, events_exact: 0, first_divergence: null };
    expect(proofOf(data).whole).toBe(false);
  });
});
