import { describe, expect, it } from "vitest";
import { loaderOf } from "./loader";

const arrived = () => new Promise((resolve) => setTimeout(resolve));

describe("what is loaded when it is needed", () => {
  it("is loaded once", async () => {
    let loads = 0;
    const loader = loaderOf(async () => ({ number: ++loads }));
    expect(loads).toBe(0);
    loader.start();
    loader.start();
    expect(loader.loaded.value).toBe(null);
    await arrived();
    loader.start();
    await arrived();
    expect(loader.loaded.value?.it).toEqual({ number: 1 });
    expect(loads).toBe(1);
  });

  it("can be tried again after a failure", async () => {
    let works = false;
    const loader = loaderOf(async () => {
      if (!works) throw new TypeError("no connection");
      return {};
    });
    loader.start();
    await arrived();
    expect(loader.failure.value?.what).toMatch(/does not answer/);
    works = true;
    loader.start();
    expect(loader.failure.value).toBe(null);
    await arrived();
    expect(loader.loaded.value).not.toBe(null);
  });
});
