import { describe, expect, it } from "vitest";
import type { OpeningProgress } from "../api/contract";
import { areaPath, heightText, readingText, shareRead } from "./opening_words";

const HALF: OpeningProgress = {
  open: false,
  name: "runs/big.pickle",
  file: 1,
  files: 1,
  done_bytes: 100 * 2 ** 20,
  total_bytes: 200 * 2 ** 20,
  events: 1000,
  steps_per_point: 512,
  at_least_bytes: [2 ** 20, 3 * 2 ** 20],
};

describe("a file that is being read", () => {
  it("says how far it is", () => {
    expect(readingText(HALF)).toBe("Reading big.pickle: 100 of 200 MiB, 1,000 events");
    expect(shareRead(HALF)).toBe(0.5);
    expect(readingText({ ...HALF, file: 2, files: 3, events: 0 })).toBe(
      "Reading big.pickle (file 2 of 3): 100 of 200 MiB",
    );
  });

  it("says what comes after reading", () => {
    const read = { ...HALF, done_bytes: HALF.total_bytes };
    expect(readingText(read)).toBe("Joining 1,000 events of big.pickle into blocks");
    expect(readingText({ ...HALF, done_bytes: 0, total_bytes: 0 })).toBe("Opening big.pickle");
  });

  it("calls heights what they are: lower bounds", () => {
    expect(heightText(HALF)).toBe("at least 3.0 MiB at the highest point so far");
    expect(heightText({ ...HALF, at_least_bytes: [] })).toBe("");
  });

  it("draws the curve as far as the file is read", () => {
    const path = areaPath(HALF);
    expect(path.startsWith("M0,1L0.00000,0.66667L0.25000,0.66667")).toBe(true);
    expect(path.endsWith("L0.50000,0.00000L0.50000,1Z")).toBe(true);
    expect(areaPath({ ...HALF, at_least_bytes: [] })).toBe("");
  });
});
