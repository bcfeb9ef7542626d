import { describe, expect, it } from "vitest";
import type { Oom } from "../../api/contract";
import { worstOom } from "./ooms";

const oom = (step: number, requested_bytes: number, device_free_bytes: number | null): Oom => ({
  step,
  time_us: null,
  requested_bytes,
  device_free_bytes,
  reserved_bytes: 0,
});

describe("the out-of-memory event that the page shows", () => {
  it("is the one that was short by most, not the first and not the largest request", () => {
    expect(worstOom([oom(3, 100, 90), oom(9, 80, 10), oom(12, 500, 480)])?.step).toBe(9);
  });
  it("is of equally short ones the largest request, of equals the last", () => {
    expect(worstOom([oom(3, 150, 100), oom(9, 100, 50)])?.step).toBe(3);
    expect(worstOom([oom(3, 10, 50), oom(9, 10, 90)])?.step).toBe(9);
    expect(worstOom([oom(3, 800, null), oom(9, 400, null), oom(12, 200, null)])?.step).toBe(3);
    expect(worstOom([])).toBeNull();
  });
  it("is not one of which nothing is known", () => {
    expect(worstOom([oom(3, 1000, null), oom(9, 10, 5)])?.step).toBe(9);
  });
});
