import { expect, it } from "vitest";
import type { VerdictSum } from "../../api/oom";
import { sumBar } from "./sum";

const MIB = 2 ** 20;

function sum(live: number, free: number, driver: number | null, other: number | null): VerdictSum {
  return {
    live_bytes: live * MIB,
    free_bytes: free * MIB,
    driver_bytes: driver === null ? null : driver * MIB,
    other_bytes: other === null ? null : other * MIB,
    reserved_bytes: (live + free) * MIB,
    ceiling_bytes: driver === null ? null : (live + free + driver) * MIB,
    total_bytes: null,
    least_total_bytes: 0,
    outside_bytes: 0,
    difference_bytes: 0,
  };
}

const ends = (bar: ReturnType<typeof sumBar>) =>
  bar.parts.reduce((total, part) => total + part.share, 0);

it("cuts off most of what is live, and says where", () => {
  const bar = sumBar(sum(34549, 807, 3842, null), 4008 * MIB);
  expect(bar.low).toBeGreaterThan(30000 * MIB);
  expect(bar.low).toBeLessThan(34549 * MIB);
  expect(bar.parts.map((part) => part.key)).toEqual(["live", "free", "driver"]);
  const request = bar.request;
  expect(request?.begin).toBeCloseTo((bar.parts[0]?.share ?? 0) + (bar.parts[1]?.share ?? 0));
  // 166 MiB over the ceiling, and the bar ends there
  expect((request?.over ?? 0) / (request?.inside ?? 1)).toBeCloseTo(166 / 3842);
  expect((request?.begin ?? 0) + (request?.inside ?? 0) + (request?.over ?? 0)).toBeCloseTo(1);
});

it("shows the whole where the whole can be seen", () => {
  const bar = sumBar(sum(40, 60, 30, 894), 45 * MIB);
  expect(bar.low).toBe(0);
  expect(ends(bar)).toBeCloseTo(1);
  expect(bar.parts[3]?.label).toBe("used elsewhere on the device");
});

it("claims nothing over a ceiling that nobody knows", () => {
  expect(sumBar(sum(40, 60, null, null), 45 * MIB).request?.over).toBe(0);
  expect(sumBar(sum(40, 60, 30, null), null).request).toBeNull();
  expect(sumBar(sum(0, 0, 0, null), 0).parts).toEqual([]);
});

it("a limit refused what the driver had: nothing is over", () => {
  const bar = sumBar(sum(1854, 106, 79960, null), 128 * MIB);
  expect(bar.request?.over).toBe(0);
});
