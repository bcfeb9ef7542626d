import { describe, expect, it } from "vitest";
import type { LiveAnswer, LiveProcess } from "../../api/live";
import {
  ageText,
  devicesText,
  deviceText,
  endTitle,
  headText,
  lifeText,
  ratesText,
  rateText,
  sorted,
} from "./words";

function row(of: Partial<LiveProcess>): LiveProcess {
  return {
    process: 0,
    pid: 1,
    ended_us: null,
    began_us: 0,
    live_bytes: 0,
    at_least: false,
    peak_bytes: 0,
    unfreed_bytes: 0,
    average: false,
    launches_per_second: 0,
    ...of,
  } as LiveProcess;
}

const ANSWER = {
  state: "recording",
  now_us: 65e6,
  first_us: 0,
  calls: 1204,
  rate_seconds: 5,
  devices: [{ device: 0 }, { device: null }],
  processes: [row({}), row({ process: 1, ended_us: 5e6, average: true })],
  more_processes: 0,
  losses: [],
  incomplete_figures: [],
  unwatched: { rows: [], more: 0 },
} as unknown as LiveAnswer;

describe("words of the Live view", () => {
  it("rates have as many digits as they are worth", () => {
    expect([18400.4, 99.96, 99.9, 0.44, 0.04, 0].map(rateText)).toEqual([
      "18,400",
      "100",
      "99.9",
      "0.4",
      "< 0.1",
      "0",
    ]);
  });

  it("ages", () => {
    const second = 1e6;
    const day = 86_400 * second;
    expect([-1, 8 * second, 192 * second, 11_520 * second, 6.2 * day].map(ageText)).toEqual([
      "0 s",
      "8 s",
      "3 m 12 s",
      "3 h 12 m",
      "6 d 4 h",
    ]);
  });

  it("says what is known of devices, and that one is not", () => {
    const on = (...devices: (number | null)[]) =>
      devicesText(devices.map((device) => ({ device, live_bytes: 1, peak_bytes: 1 })));
    expect([on(), on(0), on(0, 1), on(null), on(0, null)]).toEqual([
      "–",
      "cuda:0",
      "cuda:0, 1",
      "?",
      "cuda:0, ?",
    ]);
    expect([deviceText(2), deviceText(null)]).toEqual(["cuda:2", "unknown device"]);
  });

  it("the head counts what runs, and does not count the unknown device", () => {
    expect(headText(ANSWER)).toBe(
      "2 processes, 1 running on 1 device · being written for 1 m 5 s · 1,204 memory calls · 0 events lost",
    );
    const killed = { ...ANSWER, state: "abandoned", losses: [{ count: 3 }] } as LiveAnswer;
    expect(headText(killed)).toBe(
      "2 processes on 1 device · not finished, 1 m 5 s long · 1,204 memory calls · 3 events lost",
    );
  });

  it("says of which time rates are", () => {
    expect(ratesText(ANSWER)).toMatch(/last 5 s; for ended processes/);
    expect(ratesText({ ...ANSWER, state: "finished" })).toMatch(
      /averages over the life of each process/,
    );
    expect(ratesText({ ...ANSWER, processes: [row({})] })).toBe("rates over the last 5 s");
  });

  it("sorts what runs before what has ended, largest first, pids from the smallest", () => {
    const rows = [
      row({ process: 0, pid: 9, live_bytes: 5, ended_us: 1 }),
      row({ process: 1, pid: 8, live_bytes: 1, launches_per_second: 7 }),
      row({ process: 2, pid: 7, live_bytes: 3, launches_per_second: 2 }),
    ];
    const order = (by: Parameters<typeof sorted>[1]) => sorted(rows, by).map((one) => one.process);
    expect(order("live")).toEqual([2, 1, 0]);
    expect(order("launches")).toEqual([1, 2, 0]);
    expect(order("pid")).toEqual([2, 1, 0]);
  });

  it("an end says what was not freed", () => {
    const ended = row({ ended_us: 12e6, unfreed_bytes: 3 << 20 });
    expect(lifeText(ended, 99e6)).toBe("ended, 12 s");
    expect(endTitle(ended)).toMatch(/3\.0 MiB/);
    expect(lifeText(row({ began_us: 4e6 }), 9e6)).toBe("5 s");
  });
});
