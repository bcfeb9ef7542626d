// Colours of cells: a cell has a colour if nearly all of its bytes do, else none.
import { type FlameNode, type FlameTree, grossBytes } from "../../api/flame";

const NEARLY_ALL = 0.97;
const OTHER = 0;
const UNKNOWN = 9;
const SLOTS = 10;

/** The slot of a stack by its top user frame, as the server counts it: 1 + fnv1a32 % 8. */
export function labelSlot(label: string): number {
  let hash = 2166136261;
  for (const byte of new TextEncoder().encode(label)) {
    hash = Math.imul(hash ^ byte, 16777619);
  }
  return 1 + ((hash >>> 0) % 8);
}

/** By index of the node: the slot of nearly all its bytes by stack, or null. */
export function stackSlots(tree: FlameTree): (number | null)[] {
  const owner: number[] = [];
  for (const node of tree.nodes) {
    const above = node.parent === null ? OTHER : (owner[node.parent.index] ?? OTHER);
    owner[node.index] =
      node.kind === "no_stack" ? UNKNOWN : node.frame?.user ? labelSlot(node.frame.label) : above;
  }
  const sums = tree.nodes.map(() => new Float64Array(SLOTS));
  for (const node of [...tree.nodes].reverse()) {
    const mine = sums[node.index];
    if (!mine) continue;
    // bytes of "other" belong to whoever is below: nobody knows here
    const slot = node.kind === "other" ? OTHER : (owner[node.index] ?? OTHER);
    mine[slot] = (mine[slot] ?? 0) + node.selfBytes + node.selfMinusBytes;
    const parent = node.parent && sums[node.parent.index];
    for (let i = 0; parent && i < SLOTS; i += 1) parent[i] = (parent[i] ?? 0) + (mine[i] ?? 0);
  }
  return tree.nodes.map((node) => {
    const whole = grossBytes(node);
    const slot = sums[node.index]?.findIndex((bytes) => bytes > NEARLY_ALL * whole) ?? -1;
    return slot > OTHER ? slot : null;
  });
}

/** Whether a node holds the frame, is below it, or leads to it. */
export function onPathOf(tree: FlameTree, frame: number): boolean[] {
  const on = tree.nodes.map(() => false);
  for (const node of tree.nodes) {
    const below = node.parent !== null && (on[node.parent.index] ?? false);
    on[node.index] = below || node.frame?.id === frame;
  }
  const leads = [...on];
  for (const node of [...tree.nodes].reverse()) {
    if (node.parent && leads[node.index]) leads[node.parent.index] = true;
  }
  return leads;
}

interface FrameSum {
  bytes: number;
  minusBytes: number;
  selfBytes: number;
  blocks: number;
  callers: Map<string, number>;
  callees: Map<string, number>;
}

/** What a frame holds: each way to it counts once, at its outermost place. */
export function sumOfFrame(tree: FlameTree, frame: number): FrameSum {
  const sum: FrameSum = {
    bytes: 0,
    minusBytes: 0,
    selfBytes: 0,
    blocks: 0,
    callers: new Map(),
    callees: new Map(),
  };
  const inside = tree.nodes.map(() => false);
  const add = (map: Map<string, number>, key: string, bytes: number) =>
    map.set(key, (map.get(key) ?? 0) + bytes);
  for (const node of tree.nodes) {
    const { parent } = node;
    const within = parent !== null && (inside[parent.index] ?? false);
    inside[node.index] = within || node.frame?.id === frame;
    if (node.frame?.id === frame) {
      sum.selfBytes += node.selfBytes;
      if (within) continue;
      sum.bytes += node.bytes;
      sum.minusBytes += node.minusBytes;
      sum.blocks += node.blocks;
      add(sum.callers, nameOf(parent), grossBytes(node));
    } else if (parent?.frame?.id === frame) {
      add(sum.callees, nameOf(node), grossBytes(node));
    }
  }
  return sum;
}

export function nameOf(node: FlameNode | null): string {
  if (node === null || node.kind === "all") return "";
  if (node.kind === "no_stack") return "no stack recorded";
  if (node.kind === "other") return `${node.merged} smaller frames`;
  return node.frame?.label ?? "";
}

interface InnerRow {
  key: string;
  label: string;
  caller: string;
  frame: number | null;
  slot: number | null;
  bytes: number;
  minusBytes: number;
}

/** By index: the nearest node outwards that is the user's own; itself where there is none. */
function ownNodes(tree: FlameTree): FlameNode[] {
  const own: FlameNode[] = [];
  for (const node of tree.nodes) {
    const above = node.parent === null ? undefined : own[node.parent.index];
    const inherits = node.kind === "frame" && above?.frame?.user === true;
    own[node.index] = node.frame?.user !== true && inherits && above ? above : node;
  }
  return own;
}

/**
 * Who allocated: bytes by the innermost frame of the user's own code and its caller, the largest
 * first; stacks without such a frame by their innermost one.
 */
export function innermost(tree: FlameTree, slots: readonly (number | null)[]): InnerRow[] {
  const rows = new Map<string, InnerRow>();
  const own = ownNodes(tree);
  for (const node of tree.nodes) {
    const self = node.selfBytes + node.selfMinusBytes;
    if (self === 0) continue;
    const other = node.kind === "other";
    const by = own[node.index] ?? node;
    const label = other ? "too small for the picture" : nameOf(by) || "no frame";
    const caller = other ? "" : nameOf(by.parent);
    const key = `${label}\n${caller}`;
    const slot = other ? null : (slots[node.index] ?? null);
    const row = rows.get(key);
    if (!row) {
      const frame = other ? null : (by.frame?.id ?? null);
      const { selfBytes: bytes, selfMinusBytes: minusBytes } = node;
      rows.set(key, { key, label, caller, frame, slot, bytes, minusBytes });
      continue;
    }
    // one colour only if all of it has that colour
    if (row.slot !== slot) row.slot = null;
    row.bytes += node.selfBytes;
    row.minusBytes += node.selfMinusBytes;
  }
  return [...rows.values()].sort((a, b) => b.bytes + b.minusBytes - a.bytes - a.minusBytes);
}
