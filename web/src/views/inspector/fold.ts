// Frames of the runtime are many and say little: they fold into one line, where the first of them
// stood. What stays: Python, and C++ only where there is no Python at all.
import type { Frame } from "../../api/contract";

export interface Folded {
  /** frames to show, with their place in the stack */
  shown: { frame: Frame; index: number }[];
  hidden: number;
  /** how many shown frames stand before the line that says how many are hidden */
  before: number;
}

function isFramework(frame: Frame, hasPython: boolean): boolean {
  if (frame.user) return false;
  return frame.noise || (hasPython && frame.kind !== "python");
}

/** A single hidden frame stays: a line that says "1 frame" is no shorter than the frame. */
export function foldNoise(frames: readonly Frame[]): Folded {
  const hasPython = frames.some((frame) => frame.kind === "python");
  const all = frames.map((frame, index) => ({ frame, index }));
  const shown = all.filter(({ frame }) => !isFramework(frame, hasPython));
  const hidden = frames.length - shown.length;
  if (hidden < 2 || shown.length === 0) return { shown: all, hidden: 0, before: 0 };
  const first = frames.findIndex((frame) => isFramework(frame, hasPython));
  return { shown, hidden, before: shown.filter(({ index }) => index < first).length };
}
