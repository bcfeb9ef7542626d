import { describe, expect, it } from "vitest";
import { stepDomain, timeDomain } from "../../../state/recording/domain";
import { everything, grown } from "./window";

describe("the window of a recording that has grown", () => {
  const [before, after] = [stepDomain(1000), stepDomain(1200)];

  it("shows all of it to who saw all of it", () => {
    expect(grown(everything(before), before, after)).toEqual(everything(after));
  });

  it("goes with the end for who looks at the end", () => {
    expect(grown([900, 1000], before, after)).toEqual([1100, 1200]);
    expect(grown([950, 1020], before, after)).toEqual([1150, 1220]);
  });

  it("stays for who looks elsewhere", () => {
    expect(grown([100, 200], before, after)).toEqual([100, 200]);
    expect(grown([900, 999], before, after)).toEqual([900, 999]);
  });

  it("counts from another base where the axis does", () => {
    expect(grown([50, 90], timeDomain(1000, 500), timeDomain(900, 800))).toEqual([150, 190]);
  });
});
