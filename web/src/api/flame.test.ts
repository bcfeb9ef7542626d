import { describe, expect, it } from "vitest";
import { decodeTree, type FlameFrame, nodeAt, pathOf, type TreeColumns } from "./flame";

const frame = (id: number, label: string): FlameFrame => ({
  id,
  label,
  function: label,
  file: "a.py",
  line: 1,
  kind: "python",
  user: true,
  noise: false,
});
const FRAMES = [frame(7, "main"), frame(8, "small"), frame(9, "large")];

// all 100 ─ main 90 ─ small 20, large 60, other 10;  no stack 10
const COLUMNS: TreeColumns = {
  nodes: 6,
  nodes_total: 9,
  threshold_bytes: 5,
  parent: [-1, 0, 1, 1, 1, 0],
  frame: [-1, 0, 1, -1, 2, -1],
  kind: ["all", "frame", "frame", "other", "frame", "no_stack"],
  bytes: [100, 90, 20, 10, 60, 10],
  minus_bytes: [0, 0, 0, 0, 0, 0],
  self_bytes: [0, 0, 20, 10, 60, 10],
  self_minus_bytes: [0, 0, 0, 0, 0, 0],
  blocks: [10, 9, 2, 1, 6, 1],
  minus_blocks: [0, 0, 0, 0, 0, 0],
  merged: [0, 0, 0, 4, 0, 0],
};

describe("a flame graph's answer", () => {
  it("becomes a tree with the largest child first and the rest last", () => {
    const tree = decodeTree(COLUMNS, FRAMES);
    const main = tree.root.children[0];
    expect(main?.frame?.label).toBe("main");
    expect(main?.children.map((one) => one.frame?.label ?? one.kind)).toEqual([
      "large",
      "small",
      "other",
    ]);
    expect(tree.depth).toBe(2);
    expect(tree.root.children[1]?.kind).toBe("no_stack");
  });

  it("names a node by the frames that lead to it", () => {
    const tree = decodeTree(COLUMNS, FRAMES);
    const large = tree.root.children[0]?.children[0];
    expect(large && pathOf(large)).toEqual([7, 9]);
    expect(nodeAt(tree, [7, 9])).toBe(large);
  });

  it("goes as far on a path as there is one", () => {
    const tree = decodeTree(COLUMNS, FRAMES);
    expect(nodeAt(tree, [7, 1234, 9]).frame?.label).toBe("main");
    expect(nodeAt(tree, [])).toBe(tree.root);
  });

  it("is refused when a node has no parent before it", () => {
    expect(() => decodeTree({ ...COLUMNS, parent: [-1, 4, 1, 1, 1, 0] }, FRAMES)).toThrow(/node 1/);
    expect(() => decodeTree({ ...COLUMNS, nodes: 0 }, FRAMES)).toThrow(/no node/);
  });
});
