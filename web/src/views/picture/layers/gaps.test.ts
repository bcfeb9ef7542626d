import { expect, test } from "vitest";
import type { DeviceInfo } from "../../../api/contract";
import { gapPositions } from "./gaps";

const of = {
  gaps: [
    { step: 80, time_us: 1_000_500 },
    { step: 120, time_us: null },
  ],
} as unknown as DeviceInfo;

test("a gap stands at its step", () => {
  expect(gapPositions(of, { axis: "step", base: 0, end: 200, room: 207, least: 20 })).toEqual([
    80, 120,
  ]);
});

test("on a time axis, a gap without a time is left out", () => {
  expect(
    gapPositions(of, { axis: "time", base: 1_000_000, end: 900, room: 932, least: 20 }),
  ).toEqual([500]);
});
