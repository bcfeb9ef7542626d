// How fast a recording is played: about twelve seconds for all of it, a step per frame at least.

export const FRAME_MS = 60;
const WHOLE_MS = 12_000;

/** Steps of one frame. */
export function strideOf(events: number): number {
  return Math.max(1, Math.ceil(events / (WHOLE_MS / FRAME_MS)));
}
