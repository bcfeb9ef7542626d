import { describe, expect, it } from "vitest";
import { addressAt, axisLabels, breaks, placeOf, rangeAt, shortAddress } from "./axis";

const AXIS = {
  bytes: 0x3000,
  cut: false,
  ranges: [
    { address: "0x7f0000000000", bytes: 0x2000, y: 0 },
    { address: "0x7f9000000000", bytes: 0x1000, y: 0x2000 },
  ],
};

describe("the axis of addresses", () => {
  it("goes from places to addresses and back", () => {
    expect(addressAt(AXIS, 0x10)).toBe("0x7f0000000010");
    expect(addressAt(AXIS, 0x2001)).toBe("0x7f9000000001");
    expect(addressAt(AXIS, 0x3000)).toBeNull();
    expect(addressAt(AXIS, -1)).toBeNull();
    expect(placeOf(AXIS, "0x7f9000000001")).toBe(0x2001);
    expect(placeOf(AXIS, "0x7f8000000000")).toBeNull();
    expect(placeOf(AXIS, "0x1")).toBeNull();
    expect(rangeAt(AXIS, 0x2000)?.address).toBe("0x7f9000000000");
  });
  it("is exact for addresses that a number would round", () => {
    const far = { ...AXIS, ranges: [{ address: "0xffffffffffff0000", bytes: 0x10000, y: 0 }] };
    expect(addressAt(far, 1)).toBe("0xffffffffffff0001");
    expect(placeOf(far, "0xffffffffffff0001")).toBe(1);
  });
  it("labels the largest ranges and marks the breaks", () => {
    const toY = (place: number) => 300 - (place / 0x3000) * 300;
    expect(axisLabels(AXIS, toY, 0, 300, 30).map((one) => one.text)).toEqual([
      "7f00000…",
      "7f90000…",
    ]);
    expect(axisLabels(AXIS, toY, 0, 300, 200)).toHaveLength(1);
    expect(breaks(AXIS, toY, 0, 300)).toEqual([100]);
    expect(shortAddress("0x1234")).toBe("1234");
  });
});
