import { describe, expect, it } from "vitest";
import type { TableAnswer } from "../../api/views_contract";
import { addressText, cellOf, shownColumns, sortOf } from "./columns";

const ANSWER: TableAnswer = {
  name: "allocations",
  sort: "block_bytes",
  order: "desc",
  total: 1,
  shown: 1,
  offset: 0,
  columns: [
    { name: "id", kind: "id" },
    { name: "address", kind: "address" },
    { name: "version", kind: "count" },
    { name: "block_bytes", kind: "bytes" },
    { name: "label", kind: "text" },
    { name: "brand_new", kind: "step" },
  ],
  rows: [[7, "0x7f00", 2, 512, "loss.py:30 forward", 3]],
};

describe("columns of a table", () => {
  it("begin with the name, leave out parts of others, and keep what is new", () => {
    expect(shownColumns(ANSWER).map((column) => column.head)).toEqual([
      "Allocated by",
      "Id",
      "Address",
      "Block",
      "brand_new",
    ]);
  });

  it("are found by name in a row", () => {
    const row = ANSWER.rows[0] ?? [];
    expect(cellOf(ANSWER, row, "block_bytes")).toBe(512);
    expect(cellOf(ANSWER, row, "nothing")).toBeNull();
  });

  it("sort as the table likes it until somebody says otherwise", () => {
    expect(sortOf("stacks", null)).toEqual({ column: "peak_bytes", down: true });
    expect(sortOf("stacks", { column: "count", down: false }).column).toBe("count");
  });

  it("write addresses of blocks as PyTorch does", () => {
    expect(addressText("allocations", "0x7f00", 2)).toBe("b7f00_2");
    expect(addressText("segments", "0x7f00", null)).toBe("0x7f00");
  });
});
