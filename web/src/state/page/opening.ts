// What the page shows until the files are open: how far reading is, and a rough curve of what was
// read. Asked every 100 ms, and only while there is no session.
import { signal } from "@preact/signals";
import { getJson } from "../../api/client";
import type { Opening, OpeningProgress } from "../../api/contract";
import { frozen } from "../../api/frozen";

export const opening = signal<OpeningProgress | null>(null);

const PAUSE_MS = 100;

const after = (ms: number) => new Promise((done) => window.setTimeout(done, ms));

/** Ends when `isOpen`, or when the server answers no more: then loadSession() reports that. */
export async function watchOpening(isOpen: () => boolean): Promise<void> {
  if (frozen !== null) return;
  while (!isOpen()) {
    try {
      const answer = await getJson<Opening>("opening");
      if (answer.open) break;
      opening.value = answer;
    } catch {
      break;
    }
    await after(PAUSE_MS);
  }
}
