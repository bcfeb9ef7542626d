import { describe, expect, it } from "vitest";
import { GROUP_HEAD, groupRows, heightOf, ROW, seenSegments, topOf, windowFor } from "./rows";

const GROUPS = [
  { first: 0, count: 10 },
  { first: 10, count: 0 },
  { first: 10, count: 300 },
];

describe("the rows of the segments", () => {
  it("stand under the heads of their groups", () => {
    const rows = groupRows(GROUPS, true);
    expect(heightOf(rows)).toBe(3 * GROUP_HEAD + 310 * ROW);
    expect(topOf(rows, 0, true)).toBe(GROUP_HEAD);
    expect(topOf(rows, 10, true)).toBe(3 * GROUP_HEAD + 10 * ROW);
    expect(topOf(rows, 310, true)).toBeNull();
    expect(heightOf(groupRows(GROUPS, false))).toBe(310 * ROW);
    expect(heightOf([])).toBe(0);
  });
  it("are found by what is seen", () => {
    const rows = groupRows(GROUPS, true);
    expect(seenSegments(rows, 0, 100, true)).toEqual([0, 3]);
    const top = topOf(rows, 100, true) ?? 0;
    expect(seenSegments(rows, top, top + 48, true)).toEqual([100, 102]);
    expect(seenSegments(rows, 0, heightOf(rows), true)).toEqual([0, 310]);
    expect(seenSegments([], 0, 100, true)).toEqual([0, 0]);
  });
  it("are asked for in pages", () => {
    expect(windowFor([0, 3])).toEqual({ offset: 0, limit: 60 });
    expect(windowFor([100, 130])).toEqual({ offset: 80, limit: 80 });
    expect(windowFor([0, 100_000]).limit).toBe(500);
  });
  it("end where a browser cannot scroll any further", () => {
    const rows = groupRows(
      [
        { first: 0, count: 5 },
        { first: 5, count: 9_000_000 },
      ],
      true,
    );
    expect(rows).toHaveLength(1);
  });
});
