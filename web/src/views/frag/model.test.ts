import { describe, expect, it } from "vitest";
import type { Fit, FitList, Forecast, FragColumns } from "../../api/frag";
import {
  bytesOfPower,
  cameText,
  forecastText,
  mostPower,
  scoresOf,
  scoreText,
  verdictOf,
  warningText,
} from "./model";

const MIB = 1024 * 1024;

function list(of: Partial<FitList>): FitList {
  return {
    small: false,
    pool: { id: [0, 0], name: "default pool" },
    stream: 0,
    free_bytes: 100 * MIB,
    largest_request_bytes: 50 * MIB,
    fits: false,
    block_bytes: null,
    address: null,
    times: 0,
    stranded_bytes: 100 * MIB,
    driver_bytes: 64 * MIB,
    ...of,
  };
}

const MAIN = { id: [0, 0] as [number, number], name: "default pool" };

function answer(lists: FitList[]): Fit {
  return {
    step: 0,
    request_bytes: 64 * MIB,
    rules_known: true,
    allocator: "caching",
    driver_free: null,
    free_bytes: 500 * MIB,
    stranded_bytes: 3 * MIB,
    lists,
  };
}

describe("the layout score", () => {
  it("is none where no allocator cuts memory up", () => {
    expect(scoreText(null)).toBe("none: no allocator divides this memory");
    expect(scoreText(undefined)).toBe("");
    const columns = { reserved_score: [null, null], address_score: [1, 2] } as FragColumns;
    expect(scoresOf(columns, "reserved")).toEqual([]);
    expect(scoresOf(columns, "address")).toEqual([1, 2]);
  });
});

describe("the fit test", () => {
  it("says where a request fits and how often", () => {
    const served = verdictOf(
      answer([list({}), list({ fits: true, times: 2, stream: 7, stranded_bytes: 20 * MIB })]),
      MAIN,
    );
    expect(served.fits).toBe(true);
    expect(served.text).toBe("fits 2 times without new driver memory (default pool, stream 7).");
    expect(served.rest).toBe("20.0 MiB of 100 MiB free there cannot serve this size.");
    expect(verdictOf(answer([list({ fits: true, times: 1 })]), MAIN).text).toContain("fits once ");
  });

  it("says why one does not", () => {
    const refused = verdictOf(answer([list({})]), MAIN);
    expect(refused.fits).toBe(false);
    expect(refused.text).toBe(
      "does not fit (default pool, default stream): the largest that fits is 50.0 MiB; 64.0 MiB would be requested from the driver.",
    );
    expect(refused.rest).toBe("None of 100 MiB free there can serve this size.");
    expect(verdictOf(answer([list({ largest_request_bytes: 0 })]), MAIN).text).toContain(
      "no request fits",
    );
    const none = verdictOf(answer([]), MAIN);
    expect(none.text).toContain("default pool has no free list of its size class");
    expect(none.rest).toBe("");
    expect(verdictOf(answer([list({ free_bytes: 0, stranded_bytes: 0 })]), MAIN).rest).toBe(
      "Its segments have no free memory.",
    );
  });

  it("is of the main pool: nobody else may use a graph's", () => {
    const graph = list({ fits: true, times: 3, pool: { id: [1, 0], name: "graph pool 1" } });
    expect(verdictOf(answer([graph, list({})]), MAIN).fits).toBe(false);
    expect(verdictOf(answer([graph]), MAIN).text).toContain("no free list of its size class");
  });

  it("is unknown where the allocator's rules are unknown", () => {
    const host = verdictOf({ ...answer([]), rules_known: false, allocator: "pinned_host" }, MAIN);
    expect(host).toEqual({
      fits: false,
      text: "cannot be checked: the rules of this allocator are unknown.",
      rest: "",
    });
  });

  it("says what the driver had where no allocator is between", () => {
    const none = { ...answer([]), rules_known: false, allocator: "driver" as const };
    expect(verdictOf(none, MAIN)).toEqual({
      fits: false,
      text: "would go to the driver: no allocator keeps free memory here.",
      rest: "What the driver had free is not recorded.",
    });
    const known = { ...none, driver_free: { free_bytes: 30 * MIB, total_bytes: 80 * MIB } };
    expect(verdictOf(known, MAIN).rest).toBe("30.0 MiB of 80.0 MiB were free when last reported.");
  });

  it("has a slider in whole blocks up to the largest size that matters", () => {
    expect(bytesOfPower(9)).toBe(512);
    expect(bytesOfPower(9.3) % 512).toBe(0);
    expect(bytesOfPower(26)).toBe(64 * MIB);
    expect(mostPower(0, null)).toBe(10);
    expect(mostPower(100 * MIB, 4008 * MIB)).toBe(32);
    expect(mostPower(2 ** 60)).toBe(53);
  });
});

const NOTHING: Forecast = {
  enough: false,
  history: 4,
  least: 10,
  now: null,
  best: null,
  beats_no_change: null,
  published_beats_no_change: null,
  confidence: null,
  slope: null,
  risk: null,
  warnings: null,
  models: null,
  checked: 0,
  from_step: 83,
  steps: [100, 117, 133],
  came: [41, 44.25, null],
};

const DRIFT: Forecast = {
  ...NOTHING,
  enough: true,
  history: 50,
  checked: 42,
  now: 40,
  best: "drift",
  beats_no_change: true,
  published_beats_no_change: true,
  confidence: 0.9,
  slope: -0.5,
  risk: "low",
  warnings: { worse: true, jump: false, trend: true },
  models: [
    {
      model: "drift",
      predicted: [40.5, 41, 41.5],
      mean_error: 0.25,
      errors: [0.1, 0.2, 0.45],
      skill: [0.5, 0.5, null],
    },
  ],
};

describe("the forecast", () => {
  it("says what it cannot", () => {
    expect(forecastText(NOTHING)).toBe(
      "No forecast from step 83: it has 4 of the 10 samples that it needs",
    );
    expect(warningText(NOTHING)).toBe("");
    const same: Forecast = { ...DRIFT, best: "persistence", beats_no_change: false };
    expect(forecastText(same)).toBe("Forecast from step 83: no better than assuming no change");
  });

  it("names the best model and how far it was off", () => {
    expect(forecastText(DRIFT)).toBe(
      "Forecast from step 83: 40.5, 41.0, 41.5 (drift), mean error so far 0.3",
    );
    expect(warningText(DRIFT)).toBe(
      "The published model warns: getting clearly worse, trend down; confidence 0.90",
    );
    expect(warningText({ ...DRIFT, published_beats_no_change: false })).toBe("");
  });

  it("says when few moments judge it", () => {
    expect(forecastText({ ...DRIFT, checked: 2 })).toMatch(
      /mean error so far 0\.3; checked at 2 earlier steps only$/,
    );
    expect(
      forecastText({ ...DRIFT, checked: 1, best: "persistence", beats_no_change: false }),
    ).toMatch(/no change; checked at 1 earlier step only$/);
  });

  it("says what came", () => {
    expect(cameText(DRIFT)).toBe("Actual scores: 41.0, 44.3");
    expect(cameText({ ...DRIFT, came: [null, null, null] })).toBe("");
  });
});
