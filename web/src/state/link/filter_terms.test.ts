import { describe, expect, it } from "vitest";
import {
  formatTerms,
  members,
  parseTerms,
  rangeEnds,
  rangeText,
  termOf,
  termWords,
  toggleMember,
  withoutFileTerms,
  withTerm,
} from "./filter_terms";

describe("terms of a filter", () => {
  it("are words with a key, a value and maybe a minus", () => {
    expect(parseTerms('stream:1,2  size:>=1MiB -category:unknown stack:"a b"')).toEqual([
      { key: "stream", value: "1,2", not: false },
      { key: "size", value: ">=1MiB", not: false },
      { key: "category", value: "unknown", not: true },
      { key: "stack", value: "a b", not: false },
    ]);
  });

  it("keep a colon in the value, and words that are no terms", () => {
    expect(termOf("stack:loss.py:30", "stack")?.value).toBe("loss.py:30");
    expect(formatTerms(parseTerms("nonsense size:1k"))).toBe("nonsense size:1k");
  });

  it("come back as they were written", () => {
    const text = '-stack:"/a |b/" size:1MiB..2MiB';
    expect(formatTerms(parseTerms(text))).toBe('-stack:"/a |b/" size:1MiB..2MiB');
  });

  it("lose what cannot be said: a quote in a value", () => {
    expect(withTerm("", "stack", 'say "hi" now')).toBe('stack:"say hi now"');
  });

  it("are changed in their place, and taken away with an empty value", () => {
    expect(withTerm("a:1 size:1k b:2", "size", "2k", true)).toBe("a:1 -size:2k b:2");
    expect(withTerm("a:1 size:1k b:2", "size", " ")).toBe("a:1 b:2");
    expect(withTerm("a:1", "size", "1k")).toBe("a:1 size:1k");
  });

  it("list members that can be switched, also under a minus", () => {
    expect(toggleMember("", "stream", "1")).toBe("stream:1");
    expect(toggleMember("-stream:1", "stream", "2")).toBe("-stream:1,2");
    expect(toggleMember("stream:1,2", "stream", "1")).toBe("stream:2");
    expect(toggleMember("stream:2", "stream", "2")).toBe("");
    expect(members(termOf("stream:1,2", "stream"))).toEqual(["1", "2"]);
  });

  it("that count things of one file do not go to another", () => {
    expect(withoutFileTerms("frame:12 size:>1MiB segment:3 stack:loss")).toBe(
      "size:>1MiB stack:loss",
    );
  });

  it("read as words", () => {
    expect(termWords({ key: "category", value: "norm,logits", not: true })).toBe(
      "not category norm, logits",
    );
    expect(termWords({ key: "size", value: ">=1MiB", not: false })).toBe("block ≥ 1MiB");
    expect(termWords({ key: "", value: "odd", not: false })).toBe("odd");
  });
});

describe("the ends of a range", () => {
  it("come from every way to write one", () => {
    expect(rangeEnds("1MiB..2MiB")).toEqual(["1MiB", "2MiB"]);
    expect(rangeEnds(">=1MiB")).toEqual(["1MiB", ""]);
    expect(rangeEnds("<=5")).toEqual(["", "5"]);
    expect(rangeEnds("4096")).toEqual(["4096", "4096"]);
    expect(rangeEnds("")).toEqual(["", ""]);
  });

  it("make a term, and none where both are empty", () => {
    expect(rangeText("1MiB", "")).toBe(">=1MiB");
    expect(rangeText(" ", "5")).toBe("<=5");
    expect(rangeText("1", "5")).toBe("1..5");
    expect(rangeText("", "")).toBe("");
  });
});
