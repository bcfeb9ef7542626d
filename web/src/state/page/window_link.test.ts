import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Range } from "../link/url";

// the page's state lives in the address bar
beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("location", { hash: "", pathname: "/", search: "" });
  vi.stubGlobal("history", { replaceState: vi.fn(), pushState: vi.fn(), state: null });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

async function linkTo(current: () => { x: Range; y: null } | null, written = () => {}) {
  vi.stubGlobal("addEventListener", () => {});
  const { WindowLink } = await import("./window_link");
  const { page } = await import("./store");
  return { link: new WindowLink<"x" | "y">(current, written), page };
}

test("a window moved by hand is written once, when the hand rests", async () => {
  let x: Range = [1, 2];
  const written = vi.fn();
  const { link, page } = await linkTo(() => ({ x, y: null }), written);
  link.moved();
  x = [3, 4];
  link.moved();
  vi.advanceTimersByTime(100);
  expect(written).not.toHaveBeenCalled();
  vi.advanceTimersByTime(100);
  expect(written).toHaveBeenCalledTimes(1);
  expect(page.value.x).toEqual([3, 4]);
  expect(link.isNews({ x: page.value.x, y: null })).toBe(false);
  link.dispose();
});

test("a window from elsewhere is news, once", async () => {
  const { link } = await linkTo(() => null);
  link.show({ x: [1, 2], y: null });
  expect(link.isNews({ x: [1, 2], y: null })).toBe(false);
  expect(link.isNews({ x: [5, 6], y: null })).toBe(true);
  expect(link.isNews({ x: [5, 6], y: null })).toBe(false);
});

test("nothing is written after the view is gone", async () => {
  const written = vi.fn();
  const { link } = await linkTo(() => ({ x: [1, 2], y: null }), written);
  link.moved();
  link.dispose();
  vi.advanceTimersByTime(1000);
  expect(written).not.toHaveBeenCalled();
});
