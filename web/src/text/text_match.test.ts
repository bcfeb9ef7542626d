import { describe, expect, it } from "vitest";
import { type Match, textMatch } from "./text_match";

const matches = (pattern: string, text: string) => (textMatch(pattern) as Match)(text);

describe("a pattern of names", () => {
  it("is a text in any letter case", () => {
    expect(matches("Loss.PY:30", "loss.py:30 log_softmax")).toBe(true);
    expect(matches("a.c", "abc")).toBe(false);
  });

  it("is an expression between slashes", () => {
    expect(matches("/^loss|sdpa/", "loss.py:30")).toBe(true);
    expect(matches("/^loss$/", "loss.py:30")).toBe(false);
  });

  it("says what is wrong with it, and that there is none", () => {
    expect(textMatch("  ")).toBeNull();
    expect(textMatch("/(/")).toMatch(/^Invalid regular expression: Unterminated group\.$/);
    expect(textMatch("/a: )/")).toMatch(/^Invalid regular expression: \S.*\.$/);
    expect(textMatch("x".repeat(1001))).toMatch(/too long/);
  });
});
