import { describe, expect, it } from "vitest";
import { decodeTree, type FlameKind } from "../../api/flame";
import { cellAt, cellOf, icicle, sandwich, stepFrom } from "./layout";

function treeOf(parent: number[], bytes: number[]) {
  const zero = bytes.map(() => 0);
  return decodeTree(
    {
      nodes: bytes.length,
      nodes_total: bytes.length,
      threshold_bytes: 0,
      parent,
      frame: bytes.map((_, i) => i - 1),
      kind: bytes.map((_, i): FlameKind => (i === 0 ? "all" : "frame")),
      bytes,
      minus_bytes: zero,
      self_bytes: zero,
      self_minus_bytes: zero,
      blocks: zero,
      minus_blocks: zero,
      merged: zero,
    },
    bytes.map((_, i) => ({
      id: i + 1,
      label: `f${i + 1}`,
      function: `f${i + 1}`,
      file: "",
      line: 0,
      kind: "python",
      user: true,
      noise: false,
    })),
  );
}

// all 100 ─┬ f1 75 ─┬ f2 50
//          └ f4 25  └ f3 25
const TREE = treeOf([-1, 0, 1, 1, 0], [100, 75, 50, 25, 25]);
const names = (cells: readonly { node: { frame: { label: string } | null } }[]) =>
  cells.map((cell) => cell.node.frame?.label ?? "all");

describe("an icicle", () => {
  it("has cells as wide as their bytes, children under their parent", () => {
    const { cells, rows } = icicle(TREE.root);
    expect(rows).toBe(3);
    expect(names(cells)).toEqual(["all", "f1", "f2", "f3", "f4"]);
    expect(cells.map((cell) => [cell.from, cell.to])).toEqual([
      [0, 1],
      [0, 0.75],
      [0, 0.5],
      [0.5, 0.75],
      [0.75, 1],
    ]);
  });

  it("shows a node over the whole width, its ancestors above it", () => {
    const f1 = TREE.root.children[0];
    const { cells } = icicle(f1 ?? TREE.root);
    expect(names(cells)).toEqual(["all", "f1", "f2", "f3"]);
    expect(cells[2]?.to).toBeCloseTo(2 / 3);
  });

  it("leaves out what is thinner than a pixel", () => {
    const tree = treeOf([-1, 0, 0], [100000, 99999, 1]);
    expect(names(icicle(tree.root).cells)).toEqual(["all", "f1"]);
  });

  it("is walked by arrows", () => {
    const layers = icicle(TREE.root);
    const f1 = cellAt(layers, 1, 0.1);
    expect(f1 && names([f1])).toEqual(["f1"]);
    const go = (direction: "left" | "right" | "up" | "down") => {
      const next = stepFrom(layers, f1, direction);
      return next && names([next])[0];
    };
    expect([go("right"), go("left"), go("up"), go("down")]).toEqual(["f4", "f1", "all", "f2"]);
  });

  it("knows its own cells; from one of another picture an arrow leads to the first", () => {
    const [before, now] = [icicle(TREE.root), icicle(TREE.root)];
    const old = cellAt(before, 1, 0.1);
    expect(cellOf(before, old)).toBe(old);
    expect([cellOf(now, old), cellOf(null, old), cellOf(now, null)]).toEqual([null, null, null]);
    expect(stepFrom(now, old, "down")).toBe(now.cells[0]);
    expect(stepFrom(now, null, "up")).toBe(now.cells[0]);
  });

  it("of nothing is one cell", () => {
    const empty = treeOf([-1], [0]);
    expect(icicle(empty.root)).toMatchObject({ rows: 1 });
  });
});

describe("a sandwich", () => {
  it("has the frame once, callers above it and callees below", () => {
    const callers = treeOf([-1, 0, 1], [10, 10, 10]);
    const callees = treeOf([-1, 0, 0], [10, 6, 4]);
    const { cells, rows } = sandwich(callers, callees);
    expect(rows).toBe(4);
    expect(cells.filter((cell) => cell.node.kind === "all")).toHaveLength(1);
    expect(cells.find((cell) => cell.node === callers.nodes[2])?.row).toBe(0);
    expect(cells.find((cell) => cell.node === callees.nodes[1])?.row).toBe(3);
  });
});
