import { describe, expect, it } from "vitest";
import type { Missing } from "../api/incomplete";
import { markText, touchedBy, whyText } from "./incomplete";

const ROWS: Missing[] = [
  { figures: ["memory", "blocks"], reason: "lost: 3 × memory ring full", at_least: false },
  { figures: ["launches"], reason: "lost: 1 × no room for a launch", at_least: false },
];

describe("marks of incomplete figures", () => {
  it("are on what a loss touches only", () => {
    expect(touchedBy(ROWS, ["memory"])).toEqual(["memory"]);
    expect(touchedBy(ROWS, ["copies"])).toEqual([]);
    expect(touchedBy([], ["memory"])).toEqual([]);
  });

  it("say at least only of what can only be too low", () => {
    expect(markText(["launches"])).toBe("at least");
    expect(markText(["launches", "kernel names"])).toBe("incomplete");
    expect(markText(["memory"])).toBe("incomplete");
  });

  it("say at least where only what was there before is missing", () => {
    const older: Missing = { figures: ["memory"], reason: "it ran before", at_least: true };
    expect(markText(["memory"], [older])).toBe("at least");
    expect(markText(["memory"], [older, ...ROWS])).toBe("incomplete");
    expect(markText(["memory", "blocks"], [older])).toBe("at least");
  });

  it("state the first few reasons", () => {
    expect(whyText(ROWS, ["launches"])).toBe("lost: 1 × no room for a launch");
    const many: Missing[] = [1, 2, 3, 4, 5, 6].map((i) => ({
      figures: ["copies"],
      reason: `reason ${i}`,
      at_least: false,
    }));
    expect(whyText(many, ["copies"]).split("\n")).toEqual([
      "reason 1",
      "reason 2",
      "reason 3",
      "reason 4",
      "and 2 more",
    ]);
  });
});
