import { describe, expect, it } from "vitest";
import { sparkPath } from "./spark";

describe("spark lines", () => {
  it("start at 0 and fill their box", () => {
    expect(sparkPath([0, 5, 10], 90, 20)).toBe("M0.0,20.0L45.0,10.0L90.0,0.0");
  });
  it("are flat for one value, and for none there is none", () => {
    expect(sparkPath([4], 90, 20)).toBe("M0.0,0.0L90,0.0");
    expect(sparkPath([], 90, 20)).toBe("");
    expect(sparkPath([0, 0], 90, 20)).toBe("M0.0,20.0L90.0,20.0");
  });
});
