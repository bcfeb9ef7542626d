import { describe, expect, it } from "vitest";
import SIZES from "../../../tests/fixtures/sizes.json";
import { baseName, bytesIn, bytesText, counted, duration, percent, sharedUnit } from "./units";

const KIB = 1024;
const MIB = 1024 * KIB;
const GIB = 1024 * MIB;

describe("sizes", () => {
  it("follow the guide: B whole, KiB and MiB one decimal below 100, GiB two", () => {
    expect(bytesText(0)).toBe("0 B");
    expect(bytesText(1023)).toBe("1,023 B");
    expect(bytesText(1536)).toBe("1.5 KiB");
    expect(bytesText(99.94 * MIB)).toBe("99.9 MiB");
    expect(bytesText(112 * MIB)).toBe("112 MiB");
    expect(bytesText(36_230_463_488)).toBe("33.74 GiB");
    expect(bytesText(3 * 1024 * GIB)).toBe("3.00 TiB");
  });
  it("read the same in the page and in the engine", () => {
    expect(SIZES.length).toBeGreaterThan(40);
    for (const { bytes, text } of SIZES) expect(bytesText(bytes), `${bytes} B`).toBe(text);
  });
  it("use a real minus", () => {
    expect(bytesText(-2 * GIB)).toBe("−2.00 GiB");
  });
  it("that are compared share a unit", () => {
    const unit = sharedUnit(4_202_692_608, 4_028_760_064);
    expect(unit).toBe("MiB");
    expect(bytesIn(4_202_692_608, unit)).toEqual({ number: "4,008", unit: "MiB" });
    expect(sharedUnit(38 * GIB, 2 * GIB)).toBe("GiB");
    expect(sharedUnit(300, 20)).toBe("B");
  });
});

describe("other numbers", () => {
  it("count with their word", () => {
    expect(counted(1, "block")).toBe("1 block");
    expect(counted(1234, "block")).toBe("1,234 blocks");
    expect(counted(0, "category", "categories")).toBe("0 categories");
  });
  it("say durations at their scale", () => {
    expect(duration(40)).toBe("40 µs");
    expect(duration(1500)).toBe("1.5 ms");
    expect(duration(922_000)).toBe("922 ms");
    expect(duration(1_169_000)).toBe("1.169 s");
    expect(duration(3 * 60e6 + 12e6)).toBe("3 m 12 s");
    expect(duration(3 * 3600e6 + 12 * 60e6)).toBe("3 h 12 m");
  });
  it("write percent with one decimal and a thin space", () => {
    expect(percent(0.4153)).toBe("41.5 %");
  });
  it("take the last part of a path, of either kind", () => {
    expect(baseName("/a/b/model.py")).toBe("model.py");
    expect(baseName("C:\\a\\model.py")).toBe("model.py");
    expect(baseName("model.py")).toBe("model.py");
  });
});
