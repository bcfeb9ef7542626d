import { describe, expect, it } from "vitest";
import type { LiveProcess } from "../../api/live";
import { GUTTER, lastOf, nameOf, partAt, stepText, timeStep } from "./plot";

describe("the plot of the Live view", () => {
  it("has steps that people count in", () => {
    expect(timeStep(60, 900, 90)).toBe(10);
    expect(timeStep(600, 900, 90)).toBe(60);
    expect(timeStep(3 * 3600, 900, 90)).toBe(1800);
    expect(timeStep(90 * 86400, 900, 90)).toBeGreaterThanOrEqual(9 * 86400);
  });

  it("labels them in the largest unit that fits", () => {
    expect([30, 90, 540, 10800, 172800].map(stepText)).toEqual([
      "30 s",
      "90 s",
      "9 min",
      "3 h",
      "2 d",
    ]);
  });

  it("finds the part of a line under a pixel, and none beside the plot", () => {
    const width = GUTTER + 150 + 400;
    expect(partAt(GUTTER, width, 400)).toBe(0);
    expect(partAt(GUTTER + 399.5, width, 400)).toBe(399);
    expect(partAt(GUTTER - 1, width, 400)).toBeNull();
    expect(partAt(GUTTER + 400, width, 400)).toBeNull();
  });

  it("a line ends where the process does", () => {
    expect(lastOf([null, 3, 0, null])).toBe(2);
    expect(lastOf([null, null])).toBeNull();
  });

  it("cuts long names, and shows what is hidden in one", () => {
    const of = (name: string) => nameOf({ name, pid: 41 } as LiveProcess);
    expect(of("python")).toBe("python 41");
    expect(of("a-very-long-name-of-a-process")).toBe("a-very-long-na… 41");
    expect(of("a\u202Eb")).not.toContain("\u202E");
  });
});
