import { expect, it, vi } from "vitest";
import { START } from "../../state/link/url";
import { page, session } from "../../state/page/store";
import { rootText } from "./model";

vi.hoisted(() => vi.stubGlobal("window", globalThis));
vi.mock("../../api/frozen", async (original) => ({
  ...(await original<object>()),
  frozen: { version: "1", written: "2026-11-21", devices: [] },
}));
vi.mock("../../state/answers/flame", async (original) => ({
  ...(await original<object>()),
  flame: { value: { data: { from: 0 } } },
}));

it("an exported page names the step that it shows, the first one too", () => {
  const peak = { bytes: 1, step: 1 };
  const device = { ordinal: 0, events: 100, ooms: [], peak: { active: peak } };
  session.value = { version: "1", files: [{ id: 0, devices: [device] }] } as never;
  page.value = { ...START, view: "flame", flame: "live", at: 50 };
  expect(rootText.value).toBe("live after step 0");
});

it("the peak can be before the first step", () => {
  const at = (active: object) => {
    const device = { ordinal: 0, events: 100, ooms: [], peak: { active } };
    session.value = { version: "1", files: [{ id: 0, devices: [device] }] } as never;
    page.value = { ...START, view: "flame", flame: "peak" };
    return rootText.value;
  };
  expect(at({ bytes: 1, step: 7, at_start: false })).toBe("live at the peak, step 7");
  expect(at({ bytes: 1, step: 0, at_start: true })).toBe("live at the peak, before the first step");
});
