import { describe, expect, it } from "vitest";
import { decodeTree, type FlameKind } from "../../api/flame";
import { fitting } from "./draw";
import { innermost, labelSlot, onPathOf, stackSlots, sumOfFrame } from "./slots";

const width = (text: string) => text.length * 10;

describe("the text of a cell", () => {
  it("is the longest of its forms that fits", () => {
    const at = (room: number) => fitting("Block.forward", "model.py:118", room, width);
    expect(at(130)).toBe("Block.forward");
    expect(at(129)).toBe("Block :118");
    expect(at(99)).toBe("Block");
    expect(at(49)).toBe("");
  });

  it("is cut after at least four letters where there is no class", () => {
    expect(fitting("forward_backward", "train.py:1", 80, width)).toBe("forward…");
    expect(fitting("forward_backward", "train.py:1", 40, width)).toBe("");
  });
});

describe("the colour of a stack", () => {
  it("is a hash of its label, the same as the server's", () => {
    // fnv1a32("") is the offset itself, of "a" 0xe40c292c
    expect(labelSlot("")).toBe(1 + (2166136261 % 8));
    expect(labelSlot("a")).toBe(1 + (0xe40c292c % 8));
    expect(labelSlot("foobar")).toBe(1 + (0xbf9cf968 % 8));
  });
});

// all 100 ─┬ main 80 (own) ─┬ matmul 50 ─ kernel 50
//          │                └ main 30 (again, own)
//          └ no stack 20
function tree() {
  const names = ["main", "matmul", "kernel"];
  return decodeTree(
    {
      nodes: 6,
      nodes_total: 6,
      threshold_bytes: 0,
      parent: [-1, 0, 1, 2, 1, 0],
      frame: [-1, 0, 1, 2, 0, -1],
      kind: ["all", "frame", "frame", "frame", "frame", "no_stack"] as FlameKind[],
      bytes: [100, 80, 50, 50, 30, 20],
      minus_bytes: [0, 0, 0, 0, 0, 0],
      self_bytes: [0, 0, 0, 50, 30, 20],
      self_minus_bytes: [0, 0, 0, 0, 0, 0],
      blocks: [10, 8, 5, 5, 3, 2],
      minus_blocks: [0, 0, 0, 0, 0, 0],
      merged: [0, 0, 0, 0, 0, 0],
    },
    names.map((label, id) => ({
      id,
      label,
      function: label,
      file: "",
      line: 0,
      kind: "python",
      user: label === "main",
      noise: false,
    })),
  );
}

describe("a tree", () => {
  it("has the colour of the top user frame, and none where it is mixed", () => {
    const main = labelSlot("main");
    expect(stackSlots(tree())).toEqual([null, main, main, main, main, 9]);
  });

  it("knows what leads to a frame and what is below it", () => {
    expect(onPathOf(tree(), 1)).toEqual([true, true, true, true, false, false]);
  });

  it("counts a frame that calls itself once", () => {
    const sum = sumOfFrame(tree(), 0);
    expect([sum.bytes, sum.selfBytes, sum.blocks]).toEqual([80, 30, 8]);
    expect([...sum.callees]).toEqual([["matmul", 50]]);
  });

  it("is summed up by the innermost own frame", () => {
    const rows = innermost(tree(), stackSlots(tree()));
    expect(rows.map((row) => [row.label, row.caller, row.bytes])).toEqual([
      ["main", "", 50],
      ["main", "main", 30],
      ["no stack recorded", "", 20],
    ]);
  });
});
