import { describe, expect, it } from "vitest";
import type { LayoutGroup, LayoutSegment } from "../../api/layout";
import { groupName, pinText, placeOfLabel, shortAddress, signOf } from "./words";

const SEGMENT = {
  address: "0x7f0586000000",
  segment: { id: 1 },
  blocks: 2,
  free_bytes: 10,
  pinned_bytes: 10,
  pins: [{ label: "rotary.py:47 apply" }],
} as unknown as LayoutSegment;

describe("the words of the state", () => {
  it("name what pins a segment, or why nothing does", () => {
    expect(pinText(SEGMENT)).toBe("rotary.py:47");
    expect(pinText({ ...SEGMENT, blocks: 0 })).toBe("nothing");
    expect(pinText({ ...SEGMENT, free_bytes: 0 })).toBe("no free part");
    expect(pinText({ ...SEGMENT, pinned_bytes: 0 })).toBe("free pages can be returned");
    expect(pinText({ ...SEGMENT, pins: [] })).toBe("unknown");
  });
  it("are short where the whole stands in the tooltip", () => {
    expect(shortAddress(SEGMENT)).toBe("s586000000");
    expect(shortAddress({ ...SEGMENT, segment: null })).toBe("…586000000");
    expect(placeOfLabel("no recorded stack")).toBe("no recorded stack");
  });
  it("keep the name of an action that nobody knows", () => {
    expect(signOf("oom")).toEqual(["!", "out of memory"]);
    expect(signOf("new_thing")).toEqual(["?", "new thing"]);
  });
  it("name groups by pool and stream", () => {
    const group = {
      pool: { id: 0, text: "default" },
      stream: { id: 3, raw: 7 },
      known: true,
    } as LayoutGroup;
    expect(groupName(group)).toBe("Pool default, stream 3");
    expect(groupName({ ...group, pool: null })).toBe("No pool, stream 3");
    expect(groupName({ ...group, known: false })).toBe("Outside all known segments");
  });
});
