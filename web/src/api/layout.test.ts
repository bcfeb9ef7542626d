import { describe, expect, it } from "vitest";
import { type LayoutSegment, type Parts, partAt, partBegins } from "./layout";

const PARTS = {
  segment: [0, 0, 2],
  offset: [0, 100, 0],
  bytes: [100, 50, 30],
} as Parts;
const SEGMENTS = [{}, {}, {}] as LayoutSegment[];

describe("the parts of a layout", () => {
  it("belong to segments, of which some may have none", () => {
    expect(partBegins({ segments: SEGMENTS, parts: PARTS })).toEqual([0, 2, 2, 3]);
    expect(partBegins({ segments: [], parts: { ...PARTS, segment: [] } })).toEqual([0]);
  });
  it("are found by their offset", () => {
    expect(partAt(PARTS, 0, 2, 99)).toBe(0);
    expect(partAt(PARTS, 0, 2, 100)).toBe(1);
    expect(partAt(PARTS, 0, 2, 150)).toBe(-1);
    expect(partAt(PARTS, 2, 3, 0)).toBe(2);
  });
});
