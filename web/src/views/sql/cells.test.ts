import { describe, expect, it } from "vitest";
import type { SqlResult } from "../../api/query_contract";
import { compareCells, csvOf, hexOf, isAddress, longInteger } from "./cells";

describe("cells", () => {
  it("show addresses in hex, also those of the upper half", () => {
    expect(isAddress("address")).toBe(true);
    expect(isAddress("segment_address")).toBe(true);
    expect(isAddress("addresses")).toBe(false);
    expect(hexOf(139_662_155_481_088)).toBe(`0x${(139_662_155_481_088).toString(16)}`);
    expect(hexOf("-9223372036854775808")).toBe("0x8000000000000000");
    expect(hexOf("b7f_1")).toBeNull();
    expect(hexOf(1.5)).toBeNull();
  });
  it("keep every digit of a long number", () => {
    expect(longInteger("-9223372036854775807")).toBe("−9,223,372,036,854,775,807");
    expect(longInteger("12a")).toBe("12a");
  });
  it("sort by value, long numbers too, and leave nothing at the end", () => {
    const list = [null, "b", 3, "9223372036854775807", -1, "a", "9223372036854775806"];
    const sorted = (down: boolean) => [...list].sort((a, b) => compareCells(a, b, down));
    expect(sorted(false)).toEqual([
      -1,
      3,
      "9223372036854775806",
      "9223372036854775807",
      "a",
      "b",
      null,
    ]);
    expect(sorted(true).at(-1)).toBeNull();
    expect(sorted(true)[0]).toBe("b");
  });
});

describe("CSV", () => {
  it("quotes what needs it and keeps numbers exact", () => {
    const result: SqlResult = {
      columns: [
        { name: "a,b", kind: "text" },
        { name: "bytes", kind: "bytes" },
      ],
      rows: [
        ['say "hi"', 4202692608],
        [null, 0.1],
        ["two\nlines", -1],
      ],
      truncated: false,
      elapsed_ms: 0,
      mark: null,
      marked: 0,
    };
    expect(csvOf(result)).toBe('"a,b",bytes\n"say ""hi""",4202692608\n,0.1\n"two\nlines",-1\n');
  });
});
