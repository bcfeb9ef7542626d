import { describe, expect, it } from "vitest";
import type { DeviceInfo } from "../../api/contract";
import { laneLayout, laneOrder, median, referenceBytes, referenceFor } from "./lane_order";
import { clocksOverlap, inLane, type Lane, shareAxis } from "./lanes";

const PEAK = { bytes: 0, step: 0 };
const TOTALS = { requested_bytes: 0, active_bytes: 0, allocated_bytes: 0, reserved_bytes: 0 };

function lane(file: number, events: number, first: number | null, last: number | null): Lane {
  const device: DeviceInfo = {
    ordinal: 0,
    kind: "gpu",
    label: "cuda:0",
    events,
    allocations: 0,
    segments: 0,
    first_time_us: first,
    last_time_us: last,
    peak: { requested: PEAK, active: PEAK, reserved: PEAK },
    initial: TOTALS,
    final: TOTALS,
    ceiling_bytes: null,
    oom_count: 0,
    gaps: [],
    ooms: [],
  };
  return { key: `${file}/0`, file, name: `rank${file}`, device };
}

const EPOCH = 1_766_124_544_000_000;
const RANKS = [
  lane(0, 1000, EPOCH, EPOCH + 900),
  lane(1, 1200, EPOCH + 100, EPOCH + 1199),
  lane(2, 0, null, null),
];

describe("the axis that lanes share", () => {
  it("counts steps from each one's first", () => {
    const { domain, lanes } = shareAxis(RANKS, "step", null, "0/0");
    expect(domain.end).toBe(1200);
    expect(lanes.map((one) => one.offset)).toEqual([0, 0, 0]);
    expect(lanes[2]?.domain).toBeNull();
    expect(lanes[2]?.because).toMatch(/^no events, only/);
  });
  it("is the clock where the recordings overlap", () => {
    const { align, domain, lanes } = shareAxis(RANKS, "time", null, "1/0");
    expect(align).toBe("clock");
    expect([domain.base, domain.end]).toEqual([EPOCH, 1200]);
    expect(lanes.map((one) => one.offset)).toEqual([0, 100, 0]);
  });
  it("begins with the first events where they do not, or where that is asked for", () => {
    const later = lane(1, 50, EPOCH + 1_000_000, EPOCH + 1_000_500);
    const apart = shareAxis([lane(0, 50, EPOCH, EPOCH + 900), later], "time", null, "1/0");
    expect(apart.align).toBe("first");
    expect(apart.domain.base).toBe(EPOCH + 1_000_000);
    expect(apart.domain.end).toBe(901);
    expect(apart.lanes.map((one) => one.offset)).toEqual([0, 0]);
    expect(shareAxis(RANKS, "time", "first", "0/0").align).toBe("first");
    expect(shareAxis([later], "time", "clock", "9/9").align).toBe("clock");
  });
  it("is there even if nothing can stand on it", () => {
    const none = shareAxis([lane(0, 3, null, null)], "time", null, "0/0");
    expect(none.domain.end).toBe(1);
    expect(none.lanes[0]?.because).toMatch(/no usable times/);
    expect(shareAxis([], "time", "clock", "").domain.base).toBe(0);
  });
  it("knows where a lane has something", () => {
    const [, second] = shareAxis(RANKS, "time", null, "0/0").lanes;
    if (!second) throw new Error("no lane");
    expect(inLane(second, 99)).toBeNull();
    expect(inLane(second, 100)).toBe(0);
    expect(inLane(second, 1199)).toBe(1099);
    expect(inLane(second, 1200)).toBeNull();
  });
  it("compares clocks only of recordings without a gap between them", () => {
    const domain = (base: number, end: number) =>
      ({ axis: "time", base, end, room: end, least: 1 }) as const;
    expect(clocksOverlap([domain(0, 10), domain(10, 5), domain(3, 2)])).toBe(true);
    expect(clocksOverlap([domain(20, 10), domain(0, 10)])).toBe(false);
    expect(clocksOverlap([])).toBe(true);
  });
});

const facts = (...list: [number, number | null][]) =>
  list.map(([peakBytes, cursorBytes]) => ({ peakBytes, cursorBytes }));

describe("lanes sorted and compared", () => {
  const four = facts([10, 5], [30, 7], [30, null], [20, 5]);
  it("are in the order of the files, or the largest first", () => {
    expect(laneOrder(four, "file", null)).toEqual([0, 1, 2, 3]);
    expect(laneOrder(four, "peak", null)).toEqual([1, 2, 3, 0]);
    expect(laneOrder(four, "cursor", null)).toEqual([1, 0, 3, 2]);
  });
  it("show first what differs most, whether more or less", () => {
    expect(laneOrder(facts([0, 10], [0, 11], [0, 4]), "difference", 10)).toEqual([2, 1, 0]);
  });
  it("are compared with the median, or with the first of two", () => {
    expect(referenceFor(null, 2)).toBe("first");
    expect(referenceFor(null, 3)).toBe("median");
    expect(referenceFor("first", 8)).toBe("first");
    expect(referenceBytes(four, "median")).toBe(5);
    expect(referenceBytes(four, "first")).toBe(5);
    expect(referenceBytes(facts([0, null]), "median")).toBeNull();
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });
});

describe("lanes in sight", () => {
  it("share the height while they can be read", () => {
    expect(laneLayout(2, 700, 0)).toEqual({ height: 350, total: 700, first: 0, last: 2 });
    expect(laneLayout(8, 700, 0).height).toBe(87);
  });
  it("scroll when there are many, and only some are in sight", () => {
    const { height, total, first, last } = laneLayout(64, 700, 1000);
    expect([height, total]).toEqual([78, 4992]);
    expect([first, last]).toEqual([12, 22]);
    expect(laneLayout(64, 700, 1e9).last).toBe(64);
    expect(laneLayout(0, 700, 0)).toMatchObject({ first: 0, last: 0 });
  });
});
