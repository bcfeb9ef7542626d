import { describe, expect, it } from "vitest";
import type { DeviceInfo } from "../../api/contract";
import type { Lane } from "../recording/lanes";
import { likelyB, oddOne } from "./diff_choice";

const GIB = 2 ** 30;
const TOTALS = { requested_bytes: 0, active_bytes: 0, allocated_bytes: 0, reserved_bytes: 0 };
const OOM = {
  step: 9,
  time_us: null,
  requested_bytes: 1,
  device_free_bytes: 0,
  reserved_bytes: 1,
};

function lane(file: number, ordinal: number, bytes = GIB, failed = false): Lane {
  const peak = { bytes, step: 1 };
  const device: DeviceInfo = {
    ordinal,
    kind: "gpu",
    label: `cuda:${ordinal}`,
    events: 100,
    allocations: 1,
    segments: 1,
    first_time_us: null,
    last_time_us: null,
    peak: { requested: peak, active: peak, reserved: peak },
    initial: TOTALS,
    final: TOTALS,
    ceiling_bytes: null,
    oom_count: 0,
    gaps: [],
    ooms: failed ? [OOM] : [],
  };
  return { key: `${file}/${ordinal}`, file, name: `f${file}`, device };
}

const choice = (all: Lane[], a = 0) => {
  const found = likelyB(all, all[a] as Lane);
  return found && [found.lane.key, found.because];
};

describe("what a recording is compared with", () => {
  it("is the only other one, and then needs no reason", () => {
    expect(choice([lane(0, 0)])).toBeNull();
    expect(choice([lane(0, 0), lane(1, 3)])).toEqual(["1/3", ""]);
    expect(choice([lane(0, 0), lane(1, 0)], 1)).toEqual(["0/0", ""]);
    expect(choice([lane(0, 0), lane(0, 1)])).toEqual(["0/1", ""]);
    expect(choice([lane(0, 0), lane(0, 1), lane(1, 0), lane(1, 1)], 1)).toEqual(["1/1", ""]);
  });

  it("is the first other file, whichever has the same device, of ranks that are alike", () => {
    const ranks = [0, 1, 2, 3, 4].map((rank) => lane(rank, rank === 3 ? 0 : rank));
    expect(choice(ranks)).toEqual(["1/1", "the first other file"]);
    expect(choice(ranks, 2)).toEqual(["0/0", "the first other file"]);
    const devices = [lane(0, 0), lane(0, 1), lane(1, 0), lane(1, 1), lane(2, 0)];
    expect(choice(devices, 1)).toEqual(["1/1", "the first other file"]);
    expect(choice([lane(0, 0), lane(0, 1), lane(0, 2)], 1)).toEqual(["0/0", "the next device"]);
  });

  it("is the odd one out where there is one", () => {
    const failed = [0, 1, 2, 3, 4].map((rank) => lane(rank, 0, GIB, rank === 3));
    expect(choice(failed)).toEqual(["3/0", "the only one out of memory"]);
    expect(choice(failed, 3)).toEqual(["0/0", "the first other file"]);
    const larger = [0, 1, 2, 3, 4].map((rank) => lane(rank, 0, rank === 4 ? 2 * GIB : GIB + rank));
    expect(choice(larger)).toEqual(["4/0", "its peak differs most from the others"]);
  });

  it("has no odd one among two, nor where all differ a bit", () => {
    expect(oddOne([lane(0, 0), lane(1, 0, 9 * GIB)])).toBeNull();
    expect(oddOne([1, 2, 3, 4, 5].map((by) => lane(by, 0, by * GIB)))).toBeNull();
    expect(oddOne([0, 0, 0, 0, 5].map((by, i) => lane(i, 0, GIB + by)))).toBeNull();
  });
});
