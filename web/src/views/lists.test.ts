import { describe, expect, it } from "vitest";
import type { Frame, SqlResult } from "../api/contract";
import { foldNoise } from "./inspector/fold";
import { csvOf } from "./sql/csv";

function frame(name: string, noise: boolean): Frame {
  return { function: name, file: "", line: 0, kind: "", noise, user: !noise, repeat: 1, note: "" };
}

describe("stacks", () => {
  it("fold runs of the framework, but not a single frame", () => {
    const groups = foldNoise([
      frame("a", true),
      frame("mine", false),
      frame("b", true),
      frame("c", true),
      frame("main", false),
    ]);
    expect(groups.map((one) => [one.start, one.folded, one.frames.length])).toEqual([
      [0, false, 1],
      [1, false, 1],
      [2, true, 2],
      [4, false, 1],
    ]);
    expect(foldNoise([])).toEqual([]);
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
    expect(csvOf(result)).toBe(
      '"a,b",bytes\r\n"say ""hi""",4202692608\r\n,0.1\r\n"two\nlines",-1\r\n',
    );
  });
});
