import { describe, expect, it } from "vitest";
import type { DeviceInfo, FileInfo } from "../../api/contract";
import { type PageState, START } from "../link/url";
import { checkLink } from "./link_check";

const TOTALS = { requested_bytes: 0, active_bytes: 0, allocated_bytes: 0, reserved_bytes: 0 };
const GIB = 2 ** 30;

function device(ordinal: number, more: Partial<DeviceInfo> = {}): DeviceInfo {
  const peak = { bytes: GIB, step: 1 };
  return {
    ordinal,
    kind: "gpu",
    label: `cuda:${ordinal}`,
    events: 1000,
    allocations: 20,
    segments: 0,
    first_time_us: 1e15,
    last_time_us: 1e15 + 5000,
    peak: { requested: peak, active: peak, reserved: peak },
    initial: TOTALS,
    final: TOTALS,
    ceiling_bytes: null,
    oom_count: 0,
    gaps: [],
    ooms: [],
    ...more,
  };
}

function file(id: number, name: string, devices: DeviceInfo[]): FileInfo {
  return {
    id,
    name,
    format: "pickle",
    container: "",
    file_bytes: 1,
    data_bytes: 1,
    events: 1000,
    stacks: 0,
    annotations: 0,
    issues: 0,
    devices,
    conf: "",
  };
}

const FILES = [file(0, "a.pickle", [device(0), device(1)]), file(1, "b.pickle", [device(0)])];
const deviceOf = (of: FileInfo, state: PageState) =>
  of.devices.find((one) => one.ordinal === state.device) ?? of.devices[0] ?? null;
const check = (patch: Partial<PageState>, files = FILES, strange: string[] = []) =>
  checkLink({ ...START, view: "timeline", ...patch }, files, deviceOf, strange);

describe("a link", () => {
  it("that fits is left as it is", () => {
    const state = {
      file: 0,
      device: 1,
      x: [10, 2000] as const,
      y: [0, GIB] as const,
      at: 999,
      sel: 3,
    };
    const { state: checked, notes } = check(state);
    expect(checked).toMatchObject(state);
    expect(notes).toEqual([]);
  });
  it("side by side may name what only another recording has", () => {
    const peak = { bytes: 64 * GIB, step: 1 };
    const more = { events: 5000, peak: { requested: peak, active: peak, reserved: peak } };
    const longer = [file(0, "a.pickle", [device(0)]), file(1, "b.pickle", [device(0, more)])];
    const y = [60 * GIB, 61 * GIB] as const;
    const place = { view: "lanes", x: [3000, 4000] as const, at: 3500, y };
    const side = check(place, longer);
    expect(side.notes).toEqual([]);
    expect(side.state).toMatchObject(place);
    expect(check({ ...place, view: "timeline" }, longer).notes).toHaveLength(3);
    expect(check({ view: "lanes", at: 5000 }, longer).notes[0]).toMatch(/last step is 4,999/);
  });
  it("to several recordings where there is one shows that one", () => {
    const one = check({ view: "lanes" }, [file(0, "a.pickle", [device(0)])]);
    expect(one.state.view).toBe("timeline");
    expect(one.notes[0]).toMatch(/only one is open/);
  });
  it("to a file or a device that is not here says so, and forgets what belonged to it", () => {
    const missing = check({ file: 9, device: 1, x: [1, 2], at: 5, sel: 3, q: "loss" });
    expect(missing.notes).toEqual([
      "The link names file 9, but 2 files are open, numbered from 0. The page shows a.pickle.",
    ]);
    expect(missing.state).toMatchObject({ file: 0, device: null, x: null, at: null, sel: null });
    expect(missing.state.q).toBe("loss");
    const other = check({ file: 1, device: 7, sel: 3 });
    expect(other.notes[0]).toMatch(
      /device 7, which b\.pickle does not have\. The page shows cuda:0/,
    );
    expect(other.state).toMatchObject({ device: null, sel: null });
  });
  it("to places outside of the recording says so", () => {
    const { state, notes } = check({ x: [1e300, 2e300], y: [-5, -1], at: 99_999_999 });
    expect(state).toMatchObject({ x: null, y: null, at: null });
    expect(notes).toHaveLength(3);
    expect(notes.join(" ")).toMatch(/step 99,999,999; the last step is 999/);
    expect(check({ y: [0, 1e300] }).state.y).toBeNull();
    expect(check({ y: [0.9 * GIB, 1.5 * GIB] }).notes).toEqual([]);
  });
  it("to an allocation that is not there says how many there are", () => {
    const { state, notes } = check({ sel: 40, at: 7 });
    expect(notes).toEqual([
      "The link selects allocation 40; this file has 40 allocations, numbered from 0.",
    ]);
    expect(state).toMatchObject({ sel: null, at: 7 });
  });
  it("to an axis of time that there is not says why", () => {
    const files = [file(0, "a.pickle", [device(0, { first_time_us: null, last_time_us: null })])];
    const { state, notes } = check({ axis: "time", x: [1e15, 1e15 + 5] }, files);
    expect(notes).toEqual([
      "Shown by steps, not by time: the events of cuda:0 have no usable times.",
    ]);
    expect(state).toMatchObject({ axis: "step", x: null });
  });
  it("side by side has an axis of time as long as one lane has times", () => {
    const untimed = device(0, { first_time_us: null, last_time_us: null });
    const mixed = [file(0, "a.pickle", [untimed]), file(1, "b.pickle", [device(0)])];
    const { state, notes } = check({ view: "lanes", axis: "time" }, mixed);
    expect(notes).toEqual([]);
    expect(state.axis).toBe("time");
    const none = check({ view: "lanes", axis: "time" }, [
      file(0, "a.pickle", [untimed]),
      file(1, "b.pickle", [untimed]),
    ]);
    expect(none.state.axis).toBe("step");
    expect(none.notes[0]).toMatch(/by steps, not by time/);
  });
  it("with garbage quotes it, within reason and without its tricks", () => {
    const strange = ["a=\u202e1", `b=${"x".repeat(1000)}`, "c=1", "d=1", "e=1", "f=1"];
    const [note] = check({}, FILES, strange).notes;
    expect(note).toMatch(/^Ignored parts of the link: “a=\\u\{202e\}1”/);
    expect(note).toMatch(/ and 2 more\.$/);
    expect(note?.length).toBeLessThan(200);
  });
  it("to a file without devices is left alone", () => {
    const { state, notes } = check({ device: 3, at: 5 }, [file(0, "empty.pickle", [])]);
    expect(notes).toEqual([]);
    expect(state.file).toBe(0);
  });

  it("that asks about no size says so, and says the rest as ever", () => {
    expect(check({}, FILES, ["fit=-1"]).notes).toEqual([
      "The link asks whether “-1” bytes fit. A request is a whole number of bytes, at least 1. A size from this recording is used instead.",
    ]);
    const both = check({}, FILES, ["x=9,3", "fit=abc"]).notes;
    expect(both[1]).toBe("Ignored parts of the link: “x=9,3”.");
    expect(both).toHaveLength(2);
  });
});
