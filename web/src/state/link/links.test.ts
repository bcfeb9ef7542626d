import { describe, expect, it } from "vitest";
import { hrefOf, targetOf } from "./links";
import { START } from "./url";

describe("links of sentences", () => {
  it("lead to a range and a selection", () => {
    const link = {
      view: "timeline",
      label: "Timeline",
      params: { x0: 10, x1: 20, sel: 3, device: 1 },
    };
    const state = targetOf(link, { ...START, colour: "size", y: [1, 2] });
    expect(state).toMatchObject({ view: "timeline", x: [10, 20], sel: 3, device: 1, y: null });
    expect(state.colour).toBe("size");
  });
  it("mark what they search", () => {
    expect(hrefOf({ view: "timeline", label: "", params: { q: "loss" } }, START)).toBe(
      "#timeline?q=loss&mark=search",
    );
  });
  it("ignore an empty range", () => {
    expect(targetOf({ view: "timeline", label: "", params: { x0: 5, x1: 5 } }, START).x).toBeNull();
  });
});
