// Links to an exported page, which may hold some of the devices of its file.
import { expect, it, vi } from "vitest";
import type { DeviceInfo, FileInfo } from "../../api/contract";
import { START } from "../link/url";
import { checkLink } from "./link_check";

vi.mock("../../api/frozen", async (original) => ({
  ...(await original<object>()),
  frozen: { version: "1", written: "2026-11-21", devices: [] },
}));

it("keep what they select: it is numbered over the whole file", () => {
  const peak = { bytes: 4096, step: 1 };
  const device = {
    ordinal: 1,
    label: "cuda:1",
    events: 100,
    allocations: 20,
    segments: 2,
    peak: { requested: peak, active: peak, reserved: peak },
    ceiling_bytes: null,
    oom_count: 0,
  } as DeviceInfo;
  const file = { id: 0, name: "a.pickle", devices: [device] } as unknown as FileInfo;
  const wanted = { ...START, view: "timeline", sel: 35, seg: 9 };
  const { state, notes } = checkLink(wanted, [file], () => device);
  expect(state).toMatchObject({ sel: 35, seg: 9 });
  expect(notes).toEqual([]);
});
