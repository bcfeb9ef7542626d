import { describe, expect, it, vi } from "vitest";
import type { DeviceInfo } from "../../api/contract";
import { chosenCards } from "./device_card";
import { sentencesOf } from "./overview_view";

// the page's state reads the theme and the address
vi.hoisted(() => {
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("document", { getElementById: () => null, documentElement: { dataset: {} } });
});

function device(ordinal: number, reserved: number): DeviceInfo {
  return { ordinal, peak: { reserved: { bytes: reserved, step: 0 } } } as DeviceInfo;
}

describe("device cards", () => {
  it("of very many devices are those that reserved most, and the one that is shown", () => {
    const devices = Array.from({ length: 1024 }, (_, i) => device(i, (i * 7919) % 1024));
    const cards = chosenCards(devices, 500, 8);
    expect(cards).toHaveLength(8);
    expect(cards.map((one) => one.ordinal)).toContain(500);
    const least = Math.min(
      ...cards.filter((one) => one.ordinal !== 500).map((one) => one.peak.reserved.bytes),
    );
    expect(least).toBe(1017);
    const order = cards.map((one) => one.ordinal);
    expect(order).toEqual([...order].sort((a, b) => a - b));
  });
  it("of a few devices are all of them", () => {
    const devices = [device(0, 1), device(1, 2)];
    expect(chosenCards(devices, 1, 8)).toEqual(devices);
  });
});

describe("a headline", () => {
  it("is cut between its sentences, not at the point of a number", () => {
    expect(sentencesOf("It requested 91.2 MiB. The driver had 133 MiB free.")).toEqual([
      "It requested 91.2 MiB.",
      "The driver had 133 MiB free.",
    ]);
    expect(sentencesOf("12.0 MiB were active")).toEqual(["12.0 MiB were active"]);
  });
});
