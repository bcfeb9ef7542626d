// Plays the recording: the cursor moves from its step to the end, in about twelve seconds for a
// whole recording, and never faster than the eye can follow.
import { signal } from "@preact/signals";
import { goStep } from "../../state/answers/layout";
import { cursorStep } from "../../state/page/cursor";
import { device } from "../../state/page/store";

const FRAME_MS = 60;
const WHOLE_MS = 12_000;

/** Steps of one frame: about twelve seconds for all of it, a step at least. */
export function strideOf(events: number): number {
  return Math.max(1, Math.ceil(events / (WHOLE_MS / FRAME_MS)));
}

export const playing = signal(false);
let timer = 0;

export function stopPlaying(): void {
  window.clearInterval(timer);
  playing.value = false;
}

export function togglePlaying(): void {
  if (playing.peek()) {
    stopPlaying();
    return;
  }
  const events = device.peek()?.events ?? 0;
  if (events < 2) return;
  if (cursorStep.peek() >= events - 1) goStep(0);
  playing.value = true;
  timer = window.setInterval(() => {
    const next = cursorStep.peek() + strideOf(device.peek()?.events ?? 0);
    goStep(next);
    if (next >= (device.peek()?.events ?? 0) - 1) stopPlaying();
  }, FRAME_MS);
}
