import { describe, expect, it } from "vitest";
import { shortCaller, sumsOfAlike, tellingCallers } from "./callers";

const row = (label: string, caller: string, stack_id: number | null = null) => ({
  label,
  caller,
  stack_id,
});

describe("callers", () => {
  it("are short: the line says it all", () => {
    expect(shortCaller("train.py:63 main")).toBe("train.py:63");
    expect(shortCaller("at::native::empty")).toBe("at::native::empty");
    expect(shortCaller("train.py:63 main (stack 4)")).toBe("train.py:63 main (stack 4)");
    expect(shortCaller("")).toBe("");
    expect(tellingCallers([row("a.py:1 f", "b.py:2 g"), row("a.py:1 f", "b.py:3 g")])).toEqual([
      "b.py:2",
      "b.py:3",
    ]);
  });
  it("are whole where two rows would read the same", () => {
    expect(tellingCallers([row("a.py:1 f", "b.py:2 g"), row("a.py:1 f", "b.py:2 h")])).toEqual([
      "b.py:2 g",
      "b.py:2 h",
    ]);
  });
  it("give the number of the stack where nothing else differs", () => {
    const rows = [
      row("f", "b.py:2 g", 7),
      row("f", "b.py:2 g", 9),
      row("f", "", 3),
      row("f", "", 4),
    ];
    expect(tellingCallers(rows)).toEqual(["stack 7", "stack 9", "stack 3", "stack 4"]);
  });
});

describe("rows of one label", () => {
  it("have their sum at the first of them", () => {
    const rows = ["a", "b", "a", "c", "a"].map((label, i) => ({ label, bytes: 10 ** i }));
    expect(sumsOfAlike(rows)).toEqual([{ bytes: 10101, rows: 3 }, null, null, null, null]);
    expect(sumsOfAlike([])).toEqual([]);
  });
});
