import { describe, expect, it } from "vitest";
import { eventTerms } from "./event_filter";

describe("the filter over the events", () => {
  it("is empty when nothing is written", () => {
    expect(eventTerms("", "  ")).toEqual({});
    expect(eventTerms("nonsense", "")).toEqual({});
  });
  it("distinguishes sizes and addresses from texts", () => {
    expect(eventTerms("oom", ">1MiB linear.py:52 forward")).toEqual({
      action: "oom",
      size: ">1MiB",
      stack: "linear.py:52 forward",
    });
    expect(eventTerms("", "0x7f05 b7f0586000000_1")).toEqual({ address: "b7f0586000000_1" });
    expect(eventTerms("", "7f0586000000")).toEqual({ address: "7f0586000000" });
    expect(eventTerms("", "added /face$/")).toEqual({ stack: "added /face$/" });
  });
});
