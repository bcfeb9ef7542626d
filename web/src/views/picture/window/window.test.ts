import { describe, expect, it } from "vitest";
import type { DeviceInfo } from "../../../api/contract";
import { type Domain, domainOf, noTimeBecause } from "../../../state/recording/domain";
import { drawable } from "../layers/bands";
import { gripAt, minimapPosition } from "../layers/minimap";
import { highest, highestWithin, sampleAt, samples } from "../tiles/line_sampler";
import {
  absolute,
  clampRange,
  everything,
  fittedBytes,
  isEverything,
  panBy,
  relative,
  reveal,
  zoomAt,
  zoomBytes,
} from "./window";

const DOMAIN: Domain = { axis: "step", base: 0, end: 1000, room: 1036, least: 8 };
const PEAK = { bytes: 0, step: 0 };
const TOTALS = { requested_bytes: 0, active_bytes: 0, allocated_bytes: 0, reserved_bytes: 0 };

function deviceWith(first: number | null, last: number | null): DeviceInfo {
  return {
    ordinal: 0,
    kind: "gpu",
    label: "cuda:0",
    events: 1000,
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
}

describe("the window", () => {
  it("keeps the point under the pointer when it zooms", () => {
    const [low, high] = zoomAt([100, 300], 150, 0.5, DOMAIN);
    expect((150 - low) / (high - low)).toBeCloseTo(0.25);
    expect(high - low).toBeCloseTo(100);
  });
  it("does not zoom below its least span", () => {
    const [low, high] = zoomAt([100, 110], 105, 0.01, DOMAIN);
    expect(high - low).toBe(8);
    expect(low).toBeCloseTo(101);
  });
  it("does not leave the recording", () => {
    expect(clampRange([-50, 20], DOMAIN)).toEqual([0, 70]);
    expect(clampRange([1000, 1100], DOMAIN)).toEqual([936, 1036]);
    expect(clampRange([-1e9, 1e9], DOMAIN)).toEqual([0, 1036]);
    expect(panBy([0, 100], -30, DOMAIN)).toEqual([0, 100]);
    expect(panBy([900, 1000], 500, DOMAIN)).toEqual([936, 1036]);
  });
  it("knows when it shows everything", () => {
    expect(isEverything(everything(DOMAIN), DOMAIN)).toBe(true);
    expect(isEverything([0, 900], DOMAIN)).toBe(false);
  });
  it("reveals a place and stays where it can", () => {
    expect(reveal([100, 200], 150, DOMAIN)).toEqual([100, 200]);
    expect(reveal([100, 200], 500, DOMAIN)).toEqual([450, 550]);
  });
  it("falls back to steps where times are missing or all the same", () => {
    expect(domainOf(deviceWith(null, null), "time").axis).toBe("step");
    expect(domainOf(deviceWith(5, 5), "time").axis).toBe("step");
    expect(domainOf(deviceWith(5, 105), "time")).toMatchObject({ axis: "time", base: 5, end: 101 });
  });
  it("turns into the URL's absolute positions and back", () => {
    const time = domainOf(deviceWith(1e15, 1e15 + 999), "time");
    expect(absolute([10, 20.5], time)).toEqual([1e15 + 10, 1e15 + 20.5]);
    expect(relative([1e15 + 10, 1e15 + 20], time)).toEqual([10, 20]);
    expect(absolute(everything(time), time)).toBeNull();
    expect(relative([10, 20], time)).toBeNull();
  });
  it("has no time where times are missing, equal or too large to be exact, and says why", () => {
    expect(noTimeBecause(deviceWith(1e15, 1e15 + 999))).toBeNull();
    expect(noTimeBecause(deviceWith(-5, 5))).toBeNull();
    expect(noTimeBecause(deviceWith(null, null))).toMatch(/no usable times/);
    expect(noTimeBecause(deviceWith(1e15, 1e15))).toMatch(/same time/);
    expect(noTimeBecause(deviceWith(1e15, 2 ** 63))).toMatch(/exact/);
    expect(noTimeBecause(deviceWith(2 ** 63, 2 ** 63))).toMatch(/exact/);
    expect(domainOf(deviceWith(1e15, 2 ** 63), "time").axis).toBe("step");
  });
  it("zooms bytes within what there is", () => {
    expect(zoomBytes([0, 100_000], 50_000, 2, 120_000)).toEqual([0, 120_000]);
    const [low, high] = zoomBytes([0, 100_000], 0, 0.5, 120_000);
    expect([low, high]).toEqual([0, 50_000]);
    expect(zoomBytes([0, 5000], 0, 0.0001, 120_000)[1]).toBe(4096);
  });
});

describe("samples of the lines", () => {
  const lines = {
    columns: 4,
    x0: 0,
    x1: 4,
    activeMin: Float64Array.of(1, 2, 3, Number.NaN),
    activeMax: Float64Array.of(2, 4, 8, Number.NaN),
    reservedMin: Float64Array.of(5, 5, 5, Number.NaN),
    reservedMax: Float64Array.of(5, 9, 5, Number.NaN),
    requestedMax: Float64Array.of(1, 1, 1, Number.NaN),
    step: Uint32Array.of(0, 25, 40, 0xffffffff),
  };
  const tile = { lines, x0: 100, column: 20, from: 100, to: 180 };
  it("come from the columns that are seen, and end where the recording ends", () => {
    const list = samples([tile], 110, 300);
    expect(list.map((one) => one.x0)).toEqual([100, 120, 140]);
    expect(highest(list)).toBe(9);
    expect(samples([tile], 121, 139)).toHaveLength(1);
  });
  it("say how high a part of them reaches", () => {
    const list = samples([tile], 100, 300);
    expect(highestWithin(list, 100, 300)).toBe(highest(list));
    expect(highestWithin(list, 300, 400)).toBe(0);
  });
  it("are found by position", () => {
    const list = samples([tile], 100, 180);
    expect(sampleAt(list, 139)?.step).toBe(25);
    expect(sampleAt(list, 140)?.step).toBe(40);
    expect(sampleAt(list, 170)).toBeNull();
    expect(sampleAt(list, 99)).toBeNull();
    expect(sampleAt([], 5)).toBeNull();
  });
  it("fit the height, with a request that stands on them if it is not absurd", () => {
    const list = samples([tile], 100, 180);
    const mark = (requested_bytes: number, reserved_bytes: number) => ({
      position: 130,
      oom: { step: 25, time_us: null, requested_bytes, device_free_bytes: 1, reserved_bytes },
    });
    const big = list.map((one) => ({ ...one, reservedMax: one.reservedMax * 1e6 }));
    const near = mark(5e6, 9e6);
    expect(fittedBytes(big, [near], [100, 180], null, 1)[1]).toBeCloseTo(14e6 * 1.055);
    const absurd = mark(1e15, 9e6);
    expect(fittedBytes(big, [absurd], [100, 180], null, 1)[1]).toBeCloseTo(9e6 * 1.055);
    expect(fittedBytes(big, [near], [140, 180], null, 1)[1]).toBeCloseTo(9e6 * 1.055);
    expect(fittedBytes([], [], [0, 1], null, 8192)[1]).toBeCloseTo(8192 * 1.055);
  });
});

describe("bands", () => {
  it("are sorted once, and only those of lanes that are drawn are kept", () => {
    const one = (id: number, begin_step: number, begin_us: number, depth: number) => ({
      id,
      name: "",
      begin_step,
      end_step: 9,
      begin_us,
      end_us: null,
      depth,
    });
    const list = [one(0, 5, 50, 1), one(1, 5, 49, 0), one(2, 0, 1, 2), one(3, 0, 1, 3)];
    expect(drawable(list).map(({ id }) => id)).toEqual([2, 1, 0]);
  });
});

describe("the minimap", () => {
  it("is taken by its handles, its brush, or drawn anew", () => {
    const width = 62 + 1036;
    expect(gripAt(62 + 205, width, [200, 600], DOMAIN)).toBe("from");
    expect(gripAt(62 + 590, width, [200, 600], DOMAIN)).toBe("to");
    expect(gripAt(62 + 400, width, [200, 600], DOMAIN)).toBe("brush");
    expect(gripAt(62 + 900, width, [200, 600], DOMAIN)).toBe("new");
    expect(minimapPosition(62 + 518, width, DOMAIN)).toBeCloseTo(518);
  });
});
