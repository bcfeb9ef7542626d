import { describe, expect, it } from "vitest";
import type { DiffRow } from "../../api/diff";
import { matchText, NOTHING, rowFilter, rowKey, rowNumbers, rowUnit, signed } from "./words";

const GIB = 2 ** 30;
const MIB = 2 ** 20;
const row = (a: number, b: number, more: Partial<DiffRow> = {}): DiffRow => ({
  label: "m.py:1 f",
  change: "grew",
  change_bytes: b - a,
  a_bytes: a,
  b_bytes: b,
  a_blocks: a > 0 ? 1 : 0,
  b_blocks: b > 0 ? 1 : 0,
  ...more,
});

describe("numbers of a row", () => {
  it("share the unit that the change needs, as the program prints it", () => {
    expect(rowUnit(3.5 * GIB, 7 * GIB)).toBe("GiB");
    expect(rowUnit(34549 * MIB, 34561 * MIB)).toBe("MiB");
    expect(rowUnit(MIB, MIB - 512)).toBe("KiB");
    expect(rowUnit(GIB, GIB + 1)).toBe("B");
    expect(rowUnit(7 * GIB, 7 * GIB)).toBe("GiB");
    expect(rowUnit(0, 0)).toBe("B");
  });
  it("are signed, and absent where there is nothing", () => {
    expect(rowNumbers(row(GIB, 2 * GIB)).change).toEqual({ number: "+1.00", unit: "GiB" });
    expect(rowNumbers(row(2 * GIB, GIB)).change).toEqual({ number: "−1.00", unit: "GiB" });
    expect(rowNumbers(row(GIB, GIB)).change).toBeNull();
    expect(rowNumbers(row(0, GIB)).a).toBeNull();
    expect(rowNumbers(row(GIB, 0)).b).toBeNull();
    expect(signed(3)).toBe("+3");
    expect(signed(-1200)).toBe("−1,200");
    expect(signed(0)).toBe("0");
  });
});

describe("a row", () => {
  it("keeps its key", () => {
    expect(rowKey("stack", row(1, 2, { caller: "t.py:9 main" }))).toBe(
      "stack m.py:1 f ‹ t.py:9 main",
    );
    expect(rowKey("size", row(1, 2, { key: "512" }))).toBe("size 512");
  });
  it("says how it was matched", () => {
    expect(matchText(row(1, 2, { match: "exact" }))).toBe("");
    expect(matchText(row(1, 2, { match: null }))).toBe("");
    expect(matchText(row(1, 2, { match: "moved", a_line: 3, b_line: 9 }))).toBe("was line 3");
    expect(matchText(row(1, 2, { match: "moved", a_line: null, b_line: null }))).toBe(
      "lines moved",
    );
    expect(matchText(row(1, 2, { match: "path" }))).toBe("different path");
  });
  it("is shown by a filter where there is one", () => {
    const stack = row(1, 2, { a_stack_ids: [4, 7], b_stack_ids: [] });
    expect(rowFilter("stack", stack, "a")).toBe("stack_id:4,7");
    expect(rowFilter("stack", stack, "b")).toBe(NOTHING);
    expect(rowFilter("stack", row(1, 2, { a_stack_ids: [], b_stack_ids: [] }), "a")).toBeNull();
    expect(rowFilter("category", row(1, 2, { key: "norm" }), "a")).toBe("category:norm");
    expect(rowFilter("size", row(1, 2, { key: "1048576" }), "b")).toBe("size:1048576..2097151");
    expect(rowFilter("segment", row(1, 2, { key: "large" }), "a")).toBeNull();
  });
});
