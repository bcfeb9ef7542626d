// What lanes ask the server, and what becomes of an answer that fails.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../api/client";
import { RETRY_AFTER_MS } from "../../gl/answer_cache";
import { LaneBands } from "./lane_bands";
import { type Row, rowAt, TALL } from "./lane_frame";
import { values } from "./model";
import { askAll } from "./values";

vi.hoisted(() => vi.stubGlobal("window", globalThis));
const getJson = vi.hoisted(() => vi.fn());
vi.mock("../../api/client", async (original) => ({ ...(await original<object>()), getJson }));

const FAILURE = new ApiError("The server is busy.", "", 503);
const row = (key: string, top: number, height: number) =>
  ({
    top,
    bottom: top + height,
    lane: { key, file: 0, device: { ordinal: 0 }, domain: {} },
  }) as unknown as Row;

beforeEach(() => getJson.mockReset());

describe("the figures at the cursor", () => {
  it("are there for every lane but the one that failed, with a note", async () => {
    const totals = { active_bytes: 5, reserved_bytes: 6 };
    getJson.mockImplementation(async (path: string, params?: { file: number }) => {
      if (path === "at" && params?.file === 1) throw FAILURE;
      return { step: params?.file, totals };
    });
    const list = [0, 1, 2, 3, 4, 5].map((file) => ({ key: `${file}/0`, params: { file } }));
    await expect(askAll(list, new AbortController().signal)).rejects.toBe(FAILURE);
    expect([...values.value.keys()].sort()).toEqual(["0/0", "2/0", "3/0", "4/0", "5/0"]);
  });
});

describe("phases of lanes", () => {
  it("are asked once, only where they are seen, and anew after a failure", async () => {
    vi.useFakeTimers();
    const found = vi.fn();
    const bands = new LaneBands(found);
    getJson.mockRejectedValueOnce(FAILURE).mockResolvedValue({ rows: [] });
    const rows = [row("0/0", 0, TALL), row("1/0", TALL, TALL - 1)];
    bands.want(rows);
    bands.want(rows);
    await vi.advanceTimersByTimeAsync(1);
    bands.want(rows);
    expect(getJson).toHaveBeenCalledTimes(1);
    await vi.advanceTimersByTimeAsync(RETRY_AFTER_MS);
    bands.want(rows);
    await vi.advanceTimersByTimeAsync(1);
    bands.want(rows);
    expect(getJson).toHaveBeenCalledTimes(2);
    expect(found.mock.calls).toEqual([["0/0", []]]);
    vi.useRealTimers();
  });
  it("are no longer waited for when the picture is gone", async () => {
    const found = vi.fn();
    const bands = new LaneBands(found);
    getJson.mockResolvedValue({ rows: [] });
    bands.want([row("0/0", 0, TALL)]);
    bands.dispose();
    await Promise.resolve();
    expect(getJson.mock.calls[0]?.[2]).toMatchObject({ aborted: true });
    await new Promise((resolve) => setTimeout(resolve));
    expect(found).not.toHaveBeenCalled();
  });
});

describe("a lane under the pointer", () => {
  it("ends where the axis begins, even if it is cut off there", () => {
    const rows = [row("0/0", 0, 100), row("1/0", 100, 100)];
    expect(rowAt(rows, 99, 160)?.lane.key).toBe("0/0");
    expect(rowAt(rows, 159, 160)?.lane.key).toBe("1/0");
    expect(rowAt(rows, 160, 160)).toBeNull();
    expect(rowAt(rows, -1, 160)).toBeNull();
  });
});
