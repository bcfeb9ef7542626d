import { describe, expect, it } from "vitest";
import type { WorkingSet } from "../../api/working_set";
import { highOf, logScale, marksWithin } from "./curve";
import { edgesOf, runsOf, shadeOf } from "./heat";
import { curveText, headText, windowText } from "./words";

const SET: WorkingSet = {
  pid: 4711,
  process: "mysqld",
  backend: "pte",
  how: "",
  careful: [],
  cgroup: "",
  course: "profile",
  asked_s: 0.1,
  tells_writes: false,
  marks: [
    { name: "L2", bytes: 10, words: "" },
    { name: "memory", bytes: 1000, words: "" },
  ],
  samples: 3,
  curve: [
    { window_s: 0.1, bytes: 20, at_least: false },
    { window_s: 0.2, bytes: 99, at_least: false },
    { window_s: 0.4, bytes: 100, at_least: false },
  ],
  knee: 1,
  verdict: "After 0.2 s little is added.",
  windows: [],
  heat: null,
  mappings: [],
  mappings_total: 0,
  fit: "",
  limit: null,
};

describe("curve", () => {
  it("gives each doubling the same way", () => {
    const toX = logScale(SET.curve, 0, 100);
    expect([0.1, 0.2, 0.4].map(toX)).toEqual([0, 50, 100].map((x) => expect.closeTo(x)));
  });
  it("stands one window in its place", () => {
    expect(logScale([{ window_s: 1, bytes: 1, at_least: false }], 7, 100)(1)).toBe(7);
  });
  it("draws the sizes that are near, and has room for them", () => {
    expect(marksWithin(SET.marks, 100).map(({ name }) => name)).toEqual(["L2"]);
    expect(highOf(SET)).toBeCloseTo(112);
    expect(highOf({ ...SET, marks: [{ name: "L3", bytes: 150, words: "" }] })).toBeCloseTo(168);
  });
});

describe("heat", () => {
  it("draws columns as wide as they took", () => {
    expect(edgesOf([1, 3, 4])).toEqual([0, 0.25, 0.75, 1]);
    expect(edgesOf([0, 0])).toEqual([0, 0.5, 1]);
    expect(edgesOf([])).toEqual([0]);
  });

  it("distinguishes untouched from absent, and a little from nothing", () => {
    expect([-1, 0, 1, 16, 17, 100].map(shadeOf)).toEqual([-1, 0, 1, 1, 2, 6]);
  });
  it("names neighbours of one mapping once", () => {
    expect(runsOf(["heap", "heap", "", "heap"])).toEqual([
      { name: "heap", begin: 0, end: 2 },
      { name: "", begin: 2, end: 3 },
      { name: "heap", begin: 3, end: 4 },
    ]);
  });
});

describe("words", () => {
  it("says windows as people do", () => {
    expect([0.01, 0.0846, 0.1, 1.29, 60].map(windowText)).toEqual([
      "10 ms",
      "85 ms",
      "0.1 s",
      "1.29 s",
      "60 s",
    ]);
  });
  it("says of the curve what the engine says, and nothing of its own", () => {
    const bytes = (value: number) => `${value} B`;
    expect(curveText(SET, bytes)).toBe("100 B touched in 0.4 s. After 0.2 s little is added.");
    expect(
      curveText({ ...SET, knee: null, verdict: "It freed memory between windows." }, bytes),
    ).toBe("100 B touched in 0.4 s. It freed memory between windows.");
    expect(curveText({ ...SET, knee: null, verdict: "", tells_writes: true }, bytes)).toBe(
      "100 B written in 0.4 s.",
    );
    expect(curveText({ ...SET, curve: [] }, bytes)).toBe("No profile");
    const least = SET.curve.map((point) => ({ ...point, at_least: true }));
    expect(curveText({ ...SET, curve: least, verdict: "" }, bytes)).toBe(
      "At least 100 B touched in 0.4 s.",
    );
  });
  it("names who was measured", () => {
    expect(headText(SET)).toBe("mysqld · pid 4711 · a profile · 3 rows · by pte");
    expect(headText({ ...SET, tells_writes: true })).toBe(
      "mysqld · pid 4711 · writes · a profile · 3 rows · by pte",
    );
    expect(headText({ ...SET, cgroup: "/db", samples: 1 })).toMatch(/^\/db · a profile · 1 row ·/);
  });
});
