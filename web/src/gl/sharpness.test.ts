import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Sharpness } from "./sharpness";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("is coarse while it moves, until it rests", () => {
  const onRest = vi.fn();
  const sharpness = new Sharpness(onRest);
  const after = (ms: number, end: number) => {
    vi.advanceTimersByTime(ms);
    return sharpness.of([0, end], true);
  };
  expect([after(0, 10), after(0, 10), after(50, 8), after(50, 7)]).toEqual([1, 1, 0.5, 0.5]);
  expect([after(50, 7), onRest.mock.calls.length]).toEqual([0.5, 0]);
  vi.advanceTimersByTime(160);
  expect([onRest.mock.calls.length, sharpness.of([0, 7], true)]).toEqual([1, 1]);
});

it("stays sharp where a recording grows", () => {
  const sharpness = new Sharpness(vi.fn());
  for (let end = 10; end < 20; end += 1) {
    expect(sharpness.of([0, end], true)).toBe(1);
    sharpness.anew();
  }
});

it("is always sharp with a GPU, and asks for nothing once it is disposed of", () => {
  const onRest = vi.fn();
  const sharpness = new Sharpness(onRest);
  for (let end = 0; end < 9; end += 1) expect(sharpness.of([end], false)).toBe(1);
  sharpness.of([9], true);
  expect(sharpness.of([8], true)).toBe(0.5);
  sharpness.dispose();
  vi.advanceTimersByTime(1000);
  expect(onRest).not.toHaveBeenCalled();
});
