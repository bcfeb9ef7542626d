import { describe, expect, it } from "vitest";
import { splitAtBytes, visible, visibleLines } from "./visible";

describe("text of a file", () => {
  it("shows what would turn the text round or hide in it", () => {
    expect(visible("model\u202eyp.tnrap")).toBe("model\\u{202e}yp.tnrap");
    expect(visible("\u2066a\u2069 \u200b\ufeff\u061c")).toBe(
      "\\u{2066}a\\u{2069} \\u{200b}\\u{feff}\\u{61c}",
    );
    expect(visible("\x1b[31m\x00\x7f\u009b")).toBe("\\u{1b}[31m\\u{0}\\u{7f}\\u{9b}");
    expect(visible("a\nb\r\tc\u2028")).toBe("a\\nb\\r\\tc\\u{2028}");
    expect(visible("half \ud800 and tag \u{e0041}")).toBe("half \\u{d800} and tag \\u{e0041}");
  });
  it("leaves every script alone", () => {
    for (const text of ["für ‹ läuft ›", "מודל.py:3", "模型.py:30 前向", "😀 × 3", ""]) {
      expect(visible(text)).toBe(text);
    }
  });
  it("ends endless names, and says how much is left out", () => {
    const long = visible("x".repeat(1_000_000));
    expect(long.length).toBeLessThan(2100);
    expect(long).toMatch(/… \(998,000 characters more\)$/);
    const pair = visible(`${"x".repeat(1999)}😀${"y".repeat(10)}`);
    expect(pair).toMatch(/^x{1999}… \(12 characters more\)$/);
  });
  it("keeps the lines of a stack apart in a tooltip, within reason", () => {
    expect(visibleLines("a.py:1 f\nb\u202e.py:2 g")).toBe("a.py:1 f\nb\\u{202e}.py:2 g");
    const many = visibleLines("x\n".repeat(5000)).split("\n");
    expect(many.length).toBe(61);
    expect(many.at(-1)).toBe("…");
  });
});

describe("a match in bytes", () => {
  it("is the same letters in a text of any script", () => {
    expect(splitAtBytes("für forward", [5, 12])).toEqual(["für ", "forward", ""]);
    expect(splitAtBytes("a😀b模型", [5, 9])).toEqual(["a😀", "b模", "型"]);
    expect(splitAtBytes("plain", [0, 0])).toEqual(["", "", "plain"]);
    expect(splitAtBytes("plain", [3, 1])).toEqual(["pla", "", "in"]);
  });
});
