import { describe, expect, it } from "vitest";
import type { Annotation } from "../../../api/contract";
import { LANE_HEIGHT, type XFrame } from "../window/frame";
import { bandAt, bandRange } from "./bands";

const band = (id: number, begin_step: number, end_step: number, depth: number): Annotation => ({
  id,
  name: `phase ${id}`,
  begin_step,
  end_step,
  begin_us: begin_step * 10,
  end_us: null,
  depth,
});

const FRAME: XFrame = {
  domain: { axis: "step", base: 0, end: 1000, room: 1000, least: 8 },
  x: [0, 1000],
  plot: { head: 4, left: 62, right: 1062, top: 50, bottom: 500 },
  annotations: [band(1, 0, 500, 0), band(2, 100, 101, 1), band(3, 500, 900, 0)],
  lanes: 2,
};

describe("a click on the phases", () => {
  it("finds the band of its lane, however narrow", () => {
    expect(bandAt(FRAME, 62 + 200, 8)?.id).toBe(1);
    expect(bandAt(FRAME, 62 + 500, 8)?.id).toBe(3);
    expect(bandAt(FRAME, 62 + 100.5, 8 + LANE_HEIGHT)?.id).toBe(2);
    expect(bandAt(FRAME, 62 + 300, 8 + LANE_HEIGHT)).toBeNull();
  });
  it("is none outside of the lanes", () => {
    expect(bandAt(FRAME, 20, 8)).toBeNull();
    expect(bandAt(FRAME, 300, 2)).toBeNull();
    expect(bandAt(FRAME, 300, 200)).toBeNull();
  });
  it("gives the range of the phase, on either axis", () => {
    expect(bandRange(FRAME, band(4, 7, 7, 0))).toEqual([7, 8]);
    const time: XFrame = { ...FRAME, domain: { ...FRAME.domain, axis: "time", base: 500 } };
    expect(bandRange(time, band(5, 60, 70, 0))).toEqual([100, 1000]);
  });
});
