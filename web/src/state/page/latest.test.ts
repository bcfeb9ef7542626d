import { signal } from "@preact/signals";
import { describe, expect, it, vi } from "vitest";
import { latest, resting } from "./latest";
import type { Question } from "./store";

const settle = () => new Promise<void>((next) => setTimeout(next, 0));

function bench() {
  const step = signal<number | null>(1);
  const flights: {
    step: number;
    land: (text: string) => Promise<void>;
    fail: () => Promise<void>;
  }[] = [];
  const answer = latest<string>(
    () => (step.value === null ? null : { path: "state", params: { step: step.value } }),
    (of: Question) =>
      new Promise((resolve, reject) => {
        flights.push({
          step: Number(of.params.step),
          land: (text) => {
            resolve(text);
            return settle();
          },
          fail: () => {
            reject(new Error("no"));
            return settle();
          },
        });
      }),
  );
  return { step, flights, answer };
}

describe("a question that changes fast", () => {
  it("is asked once at a time, and every answer that lands is shown", async () => {
    const { step, flights, answer } = bench();
    step.value = 2;
    step.value = 3;
    expect(flights.map((one) => one.step)).toEqual([1]);
    await flights[0]?.land("one");
    expect(answer.value.data).toBe("one");
    expect(answer.value.loading).toBe(true);
    expect(flights.map((one) => one.step)).toEqual([1, 3]);
    await flights[1]?.land("three");
    expect(answer.value).toEqual({ data: "three", error: null, loading: false });
    expect(flights).toHaveLength(2);
  });
  it("says what failed, and continues", async () => {
    const { step, flights, answer } = bench();
    await flights[0]?.fail();
    expect(answer.value.error?.what).toContain("does not answer");
    step.value = 5;
    await flights[1]?.land("five");
    expect(answer.value).toEqual({ data: "five", error: null, loading: false });
  });
  it("shows nothing when nothing is asked any more", async () => {
    const { step, flights, answer } = bench();
    step.value = null;
    await flights[0]?.land("late");
    expect(answer.value.data).toBeNull();
  });
});

describe("a resting value", () => {
  it("follows when the other one has not changed for a while", () => {
    vi.useFakeTimers();
    const step = signal(1);
    const rested = resting(() => step.value, 90);
    expect(rested.value).toBe(1);
    for (const next of [2, 3, 4]) {
      step.value = next;
      vi.advanceTimersByTime(60);
      expect(rested.value).toBe(1);
    }
    vi.advanceTimersByTime(30);
    expect(rested.value).toBe(4);
    vi.useRealTimers();
  });
});
