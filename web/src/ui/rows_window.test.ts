import { describe, expect, it } from "vitest";
import { rowsWindow, scrollTo } from "./rows_window";

describe("rows of a long table", () => {
  it("exist only round what is seen", () => {
    const part = rowsWindow(1000, 26, 2600, 520);
    expect(part.first).toBe(92);
    expect(part.last).toBe(128);
    expect(part.offset).toBe(92 * 26);
    expect(part.height).toBe(26_000);
  });
  it("can all be reached, also where pixels end", () => {
    const count = 100_000_000;
    const top = rowsWindow(count, 26, 0, 520);
    const end = rowsWindow(count, 26, top.height - 520, 520);
    expect(top.first).toBe(0);
    expect(end.last).toBe(count);
    expect(top.height).toBeLessThan(30_000_000);
  });
  it("do not exist in an empty table", () => {
    expect(rowsWindow(0, 26, 0, 520)).toMatchObject({ first: 0, last: 0, offset: 0, height: 0 });
  });
  it("can be asked to show a row, however many there are", () => {
    for (const count of [50, 10_000, 12_000_000]) {
      for (const row of [0, 17, Math.floor(count / 2), count - 1]) {
        const part = rowsWindow(count, 24, scrollTo(row, count, 24, 600), 600);
        expect(row).toBeGreaterThanOrEqual(part.first);
        expect(row).toBeLessThan(part.last);
      }
    }
  });
  it("move as little as needed to show a row, and not at all for one that is seen", () => {
    expect(scrollTo(7, 1000, 20, 200, 100)).toBe(100);
    expect(scrollTo(2, 1000, 20, 200, 100)).toBe(40);
    expect(scrollTo(15, 1000, 20, 200, 100)).toBe(120);
    expect(scrollTo(999, 1000, 20, 200, 0)).toBe(19_800);
    const count = 12_000_000;
    const far = scrollTo(6_000_000, count, 20, 200, 0);
    const part = rowsWindow(count, 20, far, 200);
    expect(part.first).toBeLessThanOrEqual(6_000_000);
    expect(part.last).toBeGreaterThan(6_000_000);
    expect(scrollTo(6_000_000, count, 20, 200, far)).toBe(far);
  });
});
