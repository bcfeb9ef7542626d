import { describe, expect, it } from "vitest";
import type { Frame } from "../api/contract";
import type { SqlResult } from "../api/query_contract";
import { foldNoise } from "./inspector/fold";
import { csvOf } from "./sql/csv";

function frame(name: string, kind: "user" | "library" | "native" | "noise"): Frame {
  return {
    function: name,
    file: "",
    line: 0,
    kind: kind === "user" || kind === "library" ? "python" : "cpp",
    noise: kind === "noise",
    user: kind === "user",
    repeat: 1,
    note: "",
  };
}

const names = (of: ReturnType<typeof foldNoise>) => of.shown.map((one) => one.frame.function);

describe("stacks", () => {
  it("fold the framework into one line, where its first frame stood", () => {
    const folded = foldNoise([
      frame("linear", "library"),
      frame("at::linear", "native"),
      frame("mine", "user"),
      frame("_PyEval", "noise"),
      frame("main", "user"),
    ]);
    expect(names(folded)).toEqual(["linear", "mine", "main"]);
    expect(folded).toMatchObject({ hidden: 2, before: 1 });
  });
  it("keep native frames where there is no Python", () => {
    const folded = foldNoise([frame("unwind", "noise"), frame("x", "noise"), frame("a", "native")]);
    expect(names(folded)).toEqual(["a"]);
  });
  it("stay as they are when there is little to fold or nothing else", () => {
    expect(foldNoise([frame("a", "noise"), frame("b", "user")]).hidden).toBe(0);
    expect(names(foldNoise([frame("a", "noise"), frame("b", "noise")]))).toEqual(["a", "b"]);
    expect(foldNoise([])).toEqual({ shown: [], hidden: 0, before: 0 });
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
