// What memory is for. The slots are fixed: a category has one colour in every view and file.
const TITLES: Readonly<Record<string, readonly [number, string]>> = {
  other: [0, "other"],
  parameters: [1, "parameters"],
  activations: [2, "activations"],
  attention: [3, "attention"],
  norm: [4, "norm and residual"],
  logits: [5, "logits and loss"],
  communication: [6, "communication"],
  optimizer: [7, "optimizer"],
  gradients: [8, "gradients and recompute"],
  unknown: [9, "unknown or older"],
};

export function categorySlot(name: string): number {
  return TITLES[name]?.[0] ?? 0;
}

export function categoryTitle(name: string): string {
  return TITLES[name]?.[1] ?? name;
}
