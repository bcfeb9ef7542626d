import { describe, expect, it } from "vitest";
import type { SqlResult } from "../../api/query_contract";
import { csvOf } from "./csv";

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
