import { describe, expect, it } from "vitest";
import { axisLabel, axisUnit } from "../ui/plot";
import { byteTicks, decimalStep, multiples, timeTickLabel } from "./ticks";

const GIB = 2 ** 30;

describe("memory axis", () => {
  it("stands on powers of two", () => {
    for (const span of [1, 700, 5e4, 3e7, 8 * GIB, 38 * GIB, 3e14]) {
      for (const pixels of [40, 232, 680]) {
        const { major, minor } = byteTicks(span, pixels);
        expect(Math.log2(major) % 1).toBe(0);
        expect(major % minor).toBe(0);
        // labels neither crowd nor leave the axis bare
        expect((major / span) * pixels).toBeGreaterThan(span < 100 ? 0 : 60);
        expect(major).toBeLessThanOrEqual(Math.max(2, span * (160 / pixels)));
      }
    }
  });
  it("survives an empty one", () => {
    expect(byteTicks(0, 100)).toEqual({ major: 1, minor: 1 });
    expect(byteTicks(Number.NaN, 100)).toEqual({ major: 1, minor: 1 });
  });
  it("labels in one unit", () => {
    expect(axisUnit(4.13 * GIB, GIB / 2)).toBe("GiB");
    expect(axisLabel(GIB / 2, "GiB", GIB / 2)).toBe("0.5 GiB");
    expect(axisLabel(8 * GIB, "GiB", 8 * GIB)).toBe("8 GiB");
    expect(axisLabel(0, "GiB", GIB)).toBe("0");
    expect(axisUnit(1.01 * GIB, GIB / 1024)).toBe("MiB");
  });
});

describe("step axis", () => {
  it("steps by 1, 2, 5 and never by less than one", () => {
    expect(decimalStep(3394, 900, 86)).toBe(500);
    expect(decimalStep(20, 900, 86)).toBe(2);
    expect(decimalStep(4, 900, 86)).toBe(1);
    expect(decimalStep(0, 900, 86)).toBe(1);
  });
  it("gives the multiples inside, and a bounded number of them", () => {
    expect(multiples(0, 10, 5)).toEqual([0, 5, 10]);
    expect(multiples(2450, 2700, 100)).toEqual([2500, 2600, 2700]);
    expect(multiples(0, 1e12, 1)).toHaveLength(2000);
    expect(multiples(0, Number.POSITIVE_INFINITY, 1)).toEqual([]);
    expect(multiples(0, 10, 0)).toEqual([]);
  });
});

describe("time axis", () => {
  it("has as many decimals as its steps need", () => {
    expect(timeTickLabel(0, 1000)).toBe("0");
    expect(timeTickLabel(500_000, 500_000)).toBe("500 ms");
    expect(timeTickLabel(1_500_000, 500_000)).toBe("1.5 s");
    expect(timeTickLabel(2_000_000, 1_000_000)).toBe("2 s");
    expect(timeTickLabel(40, 20)).toBe("40 µs");
    expect(timeTickLabel(1_200_020, 20)).toBe("1.20002 s");
  });
});
