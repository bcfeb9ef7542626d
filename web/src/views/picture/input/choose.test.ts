// An answer that comes when another device is shown must not select one of its blocks.
import { expect, it, vi } from "vitest";
import { START } from "../../../state/link/url";
import { chooseBlock, neighbour } from "./choose";
import type { Under } from "./pick";

vi.hoisted(() => {
  vi.stubGlobal("window", globalThis);
  vi.stubGlobal("document", { getElementById: () => null, documentElement: { dataset: {} } });
});
const { getJson, store } = vi.hoisted(() => ({
  getJson: vi.fn(() => new Promise(() => {})),
  store: { state: {} as Record<string, unknown>, go: vi.fn() },
}));
vi.mock("../../../api/client", async (original) => ({ ...(await original<object>()), getJson }));
vi.mock("../../../state/page/store", async (original) => {
  const of = () => ({ file: 0, device: Number(store.state.device) });
  return {
    ...(await original<object>()),
    go: store.go,
    page: {
      peek: () => store.state,
      get value() {
        return store.state;
      },
    },
    place: {
      peek: of,
      get value() {
        return of();
      },
    },
  };
});

/** Asks while device 0 is shown; the answer finds `device`. */
async function answeredOn(device: number, ask: () => unknown, answer: unknown) {
  store.go.mockReset();
  store.state = { ...START, file: 0, device: 0, sel: 3, at: 7 };
  let arrive: (value: unknown) => void = () => {};
  getJson.mockReturnValue(
    new Promise((resolve) => {
      arrive = resolve;
    }),
  );
  const asked = ask();
  store.go.mockReset();
  store.state = { ...store.state, device };
  arrive(answer);
  await asked;
  await new Promise((resolve) => setTimeout(resolve));
  return store.go.mock.calls;
}

it("a click's answer counts on its own device only", async () => {
  const under = { quad: null, step: 7, bytes: 100 } as unknown as Under;
  const ask = () => chooseBlock({ file: 0, device: 0 }, under);
  const answer = { allocation: { id: 9 } };
  expect(await answeredOn(0, ask, answer)).toEqual([[{ sel: 9 }]]);
  expect(await answeredOn(1, ask, answer)).toEqual([]);
});

it("a key's answer counts on its own device only", async () => {
  const ask = () => neighbour("up", null);
  expect(await answeredOn(0, ask, { id: 9 })).toEqual([[{ sel: 9 }]]);
  expect(await answeredOn(1, ask, { id: 9 })).toEqual([]);
});
