import { describe, expect, it } from "vitest";
import type { Allocation, NamedTensor } from "../../api/contract";
import { kindText, tensorName } from "./tensor_list";

const WEIGHT: NamedTensor = {
  id: 3,
  name: "layers.0.weight",
  kind: "parameter",
  of: null,
  state: null,
  shape: "[4, 2]",
  dtype: "float32",
};

describe("the tensors of a block", () => {
  it("say what they are", () => {
    expect(kindText(WEIGHT)).toBe("parameter");
    expect(kindText({ ...WEIGHT, kind: "optimizer_state", state: "exp_avg", of: "w" })).toBe(
      "optimizer state exp_avg",
    );
  });

  it("name the block by the first of them", () => {
    const named = { tensors: { count: 1, rows: [WEIGHT] } } as Allocation;
    expect(tensorName(named)).toBe("layers.0.weight");
    expect(tensorName({ tensors: { count: 0, rows: [] } } as unknown as Allocation)).toBe("");
    expect(tensorName({} as Allocation)).toBe("");
  });
});
