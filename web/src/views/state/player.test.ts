import { describe, expect, it, vi } from "vitest";
import { strideOf } from "./player";

// the page's state reads the theme and the address
vi.hoisted(() => {
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("document", { getElementById: () => null, documentElement: { dataset: {} } });
});

describe("playing", () => {
  it("takes as long for any recording, and never less than a step at a time", () => {
    expect(strideOf(10)).toBe(1);
    expect(strideOf(10_000_000)).toBe(50_000);
  });
});
