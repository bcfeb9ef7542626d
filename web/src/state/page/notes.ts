// Notes that belong to no view: parts of a link that do not apply, requests that failed. One bar
// above the view shows them; the next link or a press on its button clears it.
import { signal } from "@preact/signals";
import { asApiError, isAbort } from "../../api/client";

const MAX_NOTES = 6;

export const notes = signal<readonly string[]>([]);

export function addNotes(...more: string[]): void {
  const all = [...new Set([...notes.peek(), ...more])];
  if (more.length > 0) notes.value = all.slice(-MAX_NOTES);
}

/** For requests that no caller waits for: errors become notes. */
export function attempt(work: Promise<unknown>): void {
  work.catch((error: unknown) => {
    if (isAbort(error)) return;
    const { what, hint } = asApiError(error);
    addNotes(hint === "" ? what : `${what} ${hint}`);
  });
}
