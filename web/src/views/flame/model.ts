// What the picture shows now: cells, and how they look. Computed when something of it changed.
import { computed, signal } from "@preact/signals";
import {
  type FlameNode,
  type FlameTree,
  grossBytes,
  netBytes,
  nodeAt,
  pathOf,
} from "../../api/flame";
import { frozen } from "../../api/frozen";
import { flame, flameTree, pickedFrame, sandwichTrees, spanSteps } from "../../state/answers/flame";
import { withTerm } from "../../state/link/filter_terms";
import { cursorStep } from "../../state/page/cursor";
import { device, go, page } from "../../state/page/store";
import { type Match, textMatch } from "../../text/text_match";
import { bytesText, integer } from "../../text/units";
import type { Look } from "./draw";
import { type Cell, icicle, type Layers, sandwich } from "./layout";
import { nameOf, onPathOf, stackSlots } from "./slots";

/** The cell under the pointer, and the one that the keyboard is at. */
export const hovered = signal<Cell | null>(null);
export const focused = signal<Cell | null>(null);

export const zoomedNode = computed<FlameNode | null>(() =>
  flameTree.value ? nodeAt(flameTree.value, page.value.zoom) : null,
);

/** What one picture holds: the icicle's tree, or the two of a sandwich. */
const trees = computed<readonly FlameTree[]>(() => {
  if (page.value.sandwich !== null) {
    const both = sandwichTrees.value;
    return both ? [both.callers, both.callees] : [];
  }
  return flameTree.value ? [flameTree.value] : [];
});

export const layers = computed<Layers | null>(() => {
  if (page.value.sandwich !== null) {
    const both = sandwichTrees.value;
    return both ? sandwich(both.callers, both.callees) : null;
  }
  return zoomedNode.value ? icicle(zoomedNode.value) : null;
});

/** An exported page shows the nearest of the steps that it holds. */
function liveStep(): number {
  return (frozen === null ? null : flame.value.data?.from) ?? cursorStep.value;
}

/** What the words of the page call the bytes. */
export const rootText = computed(() => {
  const [from, to] = spanSteps.value;
  const span = `steps ${integer(from)} – ${integer(to)}`;
  switch (page.value.flame) {
    case "live":
      return (device.value?.events ?? 0) > 0
        ? `live after step ${integer(liveStep())}`
        : "live in the final state";
    case "peak": {
      const peak = device.value?.peak.active;
      return peak?.at_start
        ? "live at the peak, before the first step"
        : `live at the peak, step ${integer(peak?.step ?? 0)}`;
    }
    case "allocated":
      return `allocated in ${span}`;
    case "churn":
      return `allocated and freed again in ${span}`;
    case "growth":
      return `growth from step ${integer(from)} to ${integer(to)}`;
  }
});

export const difference = computed(() => page.value.flame === "growth");

const slots = computed(() => {
  const out = new Map<FlameNode, number | null>();
  const byCategory = page.value.colour === "category";
  for (const tree of trees.value) {
    const list = byCategory ? tree.nodes.map((node) => node.category) : stackSlots(tree);
    for (const node of tree.nodes) out.set(node, list[node.index] ?? null);
  }
  return out;
});

export const finding = computed<Match | string | null>(() => textMatch(page.value.find));

const found = computed<ReadonlySet<FlameNode> | null>(() => {
  const match = finding.value;
  if (typeof match !== "function") return null;
  const out = new Set<FlameNode>();
  // every distinct name once
  const known = new Map<string, boolean>();
  for (const tree of trees.value) {
    for (const node of tree.nodes) {
      const name = node.kind === "frame" ? nameOf(node) : "";
      if (name === "") continue;
      const hit = known.get(name) ?? match(name);
      known.set(name, hit);
      if (hit) out.add(node);
    }
  }
  return out;
});

/** What matches holds: ways that hold several matches count once. */
export const foundBytes = computed(() => {
  const hits = found.value;
  const tree = trees.value[0];
  if (!hits || !tree || page.value.sandwich !== null) return null;
  const within = tree.nodes.map(() => false);
  let bytes = 0;
  for (const node of tree.nodes) {
    const above = node.parent !== null && (within[node.parent.index] ?? false);
    within[node.index] = above || hits.has(node);
    if (hits.has(node) && !above) bytes += grossBytes(node);
  }
  return { bytes, nodes: hits.size };
});

const kept = computed<ReadonlySet<FlameNode> | null>(() => {
  const frame = pickedFrame.value;
  const tree = trees.value[0];
  if (frame === null || !tree || page.value.sandwich !== null) return null;
  const on = onPathOf(tree, frame);
  return new Set(tree.nodes.filter((node) => on[node.index]));
});

export const look = computed<Look | null>(() => {
  const first = trees.value[0];
  if (!first) return null;
  return {
    slots: slots.value,
    kept: kept.value,
    found: found.value,
    picked: pickedFrame.value,
    sandwich: page.value.sandwich !== null,
    difference: difference.value,
    totalBytes: grossBytes(first.root),
    rootText: page.value.sandwich === null ? rootText.value : sandwichName.value,
  };
});

const sandwichName = computed(() => {
  const id = page.value.sandwich;
  const tree = flameTree.value;
  const node = id === null ? null : tree?.nodes.find((one) => one.frame?.id === id);
  return node ? nameOf(node) : `frame ${id}`;
});

/** "33.74 GiB in 590 blocks"; of a difference the net first: "+0.9 GiB, +1.2 GiB −0.3 GiB". */
export const totalText = computed(() => {
  const root = flameTree.value?.root;
  if (!root) return "";
  if (difference.value) {
    if (root.minusBytes === 0) return `+${bytesText(root.bytes)}`;
    if (root.bytes === 0) return `−${bytesText(root.minusBytes)}`;
    const net = `${netBytes(root) > 0 ? "+" : ""}${bytesText(netBytes(root))}`;
    return `${net}, +${bytesText(root.bytes)} −${bytesText(root.minusBytes)}`;
  }
  return `${bytesText(root.bytes)} in ${integer(root.blocks)} ${root.blocks === 1 ? "block" : "blocks"}`;
});

export function pick(frame: number | null): void {
  go({ filter: withTerm(page.value.filter, "frame", frame === null ? "" : String(frame)) });
}

export function zoomTo(node: FlameNode): void {
  go({ zoom: pathOf(node), sandwich: null }, true);
}

export function openSandwich(frame: number): void {
  go({ sandwich: frame }, true);
}

/** The frame to look at from both sides when none was picked: the one that allocated most. */
export function likelyFrame(): number | null {
  if (pickedFrame.value !== null) return pickedFrame.value;
  if (focused.value?.node.frame) return focused.value.node.frame.id;
  const sums = new Map<number, number>();
  for (const node of flameTree.value?.nodes ?? []) {
    if (node.frame) {
      const self = node.selfBytes + node.selfMinusBytes;
      sums.set(node.frame.id, (sums.get(node.frame.id) ?? 0) + self);
    }
  }
  let best: number | null = null;
  for (const [id, bytes] of sums) if (best === null || bytes > (sums.get(best) ?? 0)) best = id;
  return best;
}
