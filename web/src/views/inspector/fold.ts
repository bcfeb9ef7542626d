// Frames of the runtime are many and say little: runs of them become one line.
import type { Frame } from "../../api/contract";

export interface Group {
  /** index of its first frame: stable while the stack is the same */
  start: number;
  folded: boolean;
  frames: Frame[];
}

/** Single noisy frames stay: a line that says "1 frame" is no shorter than the frame. */
export function foldNoise(frames: readonly Frame[]): Group[] {
  const groups: Group[] = [];
  frames.forEach((frame, index) => {
    const last = groups.at(-1);
    if (last && last.folded === frame.noise) last.frames.push(frame);
    else groups.push({ start: index, folded: frame.noise, frames: [frame] });
  });
  return groups.map((group) => ({ ...group, folded: group.folded && group.frames.length > 1 }));
}
