import { describe, expect, it } from "vitest";
import { AnswerCache, type Want } from "./answer_cache";

interface Flight {
  key: string;
  signal: AbortSignal;
  land: (value: string) => Promise<void>;
  crash: () => Promise<void>;
}

function bench(limit = 1000) {
  const flights: Flight[] = [];
  const arrived: string[] = [];
  const evicted: string[] = [];
  const errors: unknown[] = [];
  const cache = new AnswerCache<string>(
    limit,
    (value) => value.length,
    (key) => arrived.push(key),
    (value) => evicted.push(value),
    (error) => errors.push(error),
  );
  const want = (...keys: string[]): Want<string>[] =>
    keys.map((key) => ({
      key,
      load: (signal) =>
        new Promise((resolve, reject) => {
          const settle = () => new Promise<void>((next) => setTimeout(next, 0));
          flights.push({
            key,
            signal,
            land: (value) => {
              resolve(value);
              return settle();
            },
            crash: () => {
              reject(new Error(key));
              return settle();
            },
          });
        }),
    }));
  return { cache, want, flights, arrived, evicted, errors };
}

describe("questions on their way", () => {
  it("are four at most, the most urgent first", async () => {
    const { cache, want, flights } = bench();
    cache.want(want("a", "b", "c", "d", "e", "f"));
    expect(flights.map((one) => one.key)).toEqual(["a", "b", "c", "d"]);
    await flights[1]?.land("x");
    expect(flights.map((one) => one.key)).toEqual(["a", "b", "c", "d", "e"]);
    expect(cache.inFlight).toBe(4);
  });
  it("look ahead only when everything that is seen is there", async () => {
    const { cache, want, flights } = bench();
    const ahead = want("next").map((one) => ({ ...one, ahead: true }));
    cache.want([...want("a", "b"), ...ahead]);
    expect(flights.map((one) => one.key)).toEqual(["a", "b"]);
    await flights[0]?.land("x");
    expect(flights).toHaveLength(2);
    // what failed rests for a while and holds nobody up
    await flights[1]?.crash();
    expect(flights.map((one) => one.key)).toEqual(["a", "b", "next"]);
    // once on its way it stays, whatever comes into view
    cache.want([...want("c"), ...ahead]);
    expect(flights[2]?.signal.aborted).toBe(false);
  });
  it("are aborted when nobody wants them any more", async () => {
    const { cache, want, flights, arrived } = bench();
    cache.want(want("a", "b"));
    cache.want(want("b", "c"));
    expect(flights[0]?.signal.aborted).toBe(true);
    expect(flights[1]?.signal.aborted).toBe(false);
    await flights[0]?.land("late");
    expect(cache.get("a")).toBeUndefined();
    expect(arrived).toEqual([]);
  });
  it("are not asked twice", async () => {
    const { cache, want, flights } = bench();
    cache.want(want("a"));
    cache.want(want("a"));
    await flights[0]?.land("x");
    cache.want(want("a"));
    expect(flights).toHaveLength(1);
  });
  it("that failed are reported, and not asked again at once", async () => {
    const { cache, want, flights, errors } = bench();
    cache.want(want("a"));
    await flights[0]?.crash();
    cache.want(want("a"));
    expect(errors).toHaveLength(1);
    expect(flights).toHaveLength(1);
  });
});

describe("kept answers", () => {
  it("go when room is needed, the least recently used first", async () => {
    const { cache, want, flights, evicted } = bench(10);
    const fetch = async (key: string, value: string) => {
      cache.want(want(key));
      await flights.at(-1)?.land(value);
    };
    await fetch("a", "aaaa");
    await fetch("b", "bbbb");
    cache.get("a");
    await fetch("c", "cccc");
    expect(evicted).toEqual(["bbbb"]);
    expect(cache.get("a")).toBe("aaaa");
    expect(cache.bytes).toBe(8);
  });
  it("that are on the screen stay, whatever their size", async () => {
    const { cache, want, flights, evicted } = bench(6);
    cache.want(want("a", "b"));
    await flights[0]?.land("aaaa");
    await flights[1]?.land("bbbb");
    expect(evicted).toEqual([]);
    cache.clear();
    expect(evicted).toEqual(["aaaa", "bbbb"]);
    expect(cache.bytes).toBe(0);
  });
});
