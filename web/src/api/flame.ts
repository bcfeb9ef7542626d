// Flame graphs and sandwiches as the server sends them, columns of numbers, turned into nodes.

export interface FlameFrame {
  id: number;
  /** "loss.py:30 log_softmax" */
  label: string;
  function: string;
  file: string;
  line: number;
  kind: string;
  user: boolean;
  noise: boolean;
}

export type FlameKind = "all" | "no_stack" | "other" | "frame";

export interface FlameNode {
  index: number;
  parent: FlameNode | null;
  /** the largest first */
  children: FlameNode[];
  depth: number;
  kind: FlameKind;
  frame: FlameFrame | null;
  /** of a difference: what came */
  bytes: number;
  /** of a difference: what went */
  minusBytes: number;
  selfBytes: number;
  selfMinusBytes: number;
  blocks: number;
  minusBlocks: number;
  /** of two recordings: what both have */
  sameBytes: number;
  /** "other": the number of nodes in it */
  merged: number;
  /** the category of nearly all its bytes; null: mixed, or not said */
  category: number | null;
}

export interface FlameTree {
  root: FlameNode;
  /** parents before their children */
  nodes: FlameNode[];
  nodesTotal: number;
  thresholdBytes: number;
  depth: number;
}

/** The answer's tree: one array per property, all as long as `nodes`. */
export interface TreeColumns {
  nodes: number;
  nodes_total: number;
  threshold_bytes: number;
  parent: number[];
  frame: number[];
  kind: FlameKind[];
  bytes: number[];
  minus_bytes: number[];
  self_bytes: number[];
  self_minus_bytes: number[];
  blocks: number[];
  minus_blocks: number[];
  merged: number[];
  same_bytes?: number[];
  /** −1: mixed */
  category?: number[];
}

export interface FlameAnswer {
  of: string;
  from: number | null;
  to: number | null;
  stacks: number;
  tree: TreeColumns;
  frames: FlameFrame[];
}

export interface SandwichAnswer {
  of: string;
  from: number | null;
  to: number | null;
  frame: number;
  callers: TreeColumns;
  callees: TreeColumns;
  frames: FlameFrame[];
}

/** What a node's width stands for: both directions of a difference, and what both sides have. */
export function grossBytes(node: FlameNode): number {
  return node.bytes + node.minusBytes + node.sameBytes;
}

export function netBytes(node: FlameNode): number {
  return node.bytes - node.minusBytes;
}

export function decodeTree(columns: TreeColumns, frames: readonly FlameFrame[]): FlameTree {
  const nodes: FlameNode[] = [];
  let depth = 0;
  for (let i = 0; i < columns.nodes; i += 1) {
    const parent = nodes[columns.parent[i] ?? -1] ?? null;
    if (i > 0 && parent === null) throw new RangeError(`flame: node ${i} has no parent before it`);
    const category = columns.category?.[i] ?? -1;
    const node: FlameNode = {
      index: i,
      parent,
      children: [],
      depth: parent === null ? 0 : parent.depth + 1,
      kind: columns.kind[i] ?? "frame",
      frame: frames[columns.frame[i] ?? -1] ?? null,
      bytes: columns.bytes[i] ?? 0,
      minusBytes: columns.minus_bytes[i] ?? 0,
      selfBytes: columns.self_bytes[i] ?? 0,
      selfMinusBytes: columns.self_minus_bytes[i] ?? 0,
      blocks: columns.blocks[i] ?? 0,
      minusBlocks: columns.minus_blocks[i] ?? 0,
      merged: columns.merged[i] ?? 0,
      sameBytes: columns.same_bytes?.[i] ?? 0,
      category: category < 0 ? null : category,
    };
    parent?.children.push(node);
    depth = Math.max(depth, node.depth);
    nodes.push(node);
  }
  const root = nodes[0];
  if (!root) throw new RangeError("flame: no node");
  // "other" stands where the server found it: after the larger ones
  for (const node of nodes) {
    node.children.sort((a, b) => {
      if ((a.kind === "other") !== (b.kind === "other")) return a.kind === "other" ? 1 : -1;
      return grossBytes(b) - grossBytes(a) || a.index - b.index;
    });
  }
  return {
    root,
    nodes,
    nodesTotal: columns.nodes_total,
    thresholdBytes: columns.threshold_bytes,
    depth,
  };
}

/** Frame ids from the outside to a node: they identify it in every answer. */
export function pathOf(node: FlameNode): number[] {
  const path: number[] = [];
  for (let at: FlameNode | null = node; at !== null; at = at.parent) {
    if (at.frame) path.push(at.frame.id);
  }
  return path.reverse();
}

/** The node at the end of a path, or the last one of it that there is. */
export function nodeAt(tree: FlameTree, path: readonly number[]): FlameNode {
  let at = tree.root;
  for (const id of path) {
    const next = at.children.find((child) => child.frame?.id === id);
    if (!next) break;
    at = next;
  }
  return at;
}
