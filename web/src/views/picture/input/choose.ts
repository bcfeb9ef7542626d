// Which block is chosen: by a click, which also puts the cursor there, or by keys from one to the
// next.
import { getJson } from "../../../api/client";
import type { Allocation } from "../../../api/contract";
import { frozen } from "../../../api/frozen";
import { NO_ID } from "../../../api/tile";
import type { PageState } from "../../../state/link/url";
import { colourings, cursorStep } from "../../../state/page/cursor";
import { attempt } from "../../../state/page/notes";
import { go, page, place } from "../../../state/page/store";
import type { Place } from "../tiles/source";
import type { Frame } from "../window/frame";
import { neighbourIn, type Under } from "./pick";

/** `more`: what else changes with it, another recording for one. */
export function chooseBlock(at: Place, under: Under, more: Partial<PageState> = {}): void {
  const { quad, step, bytes } = under;
  if (quad && quad.id !== NO_ID) {
    go({ ...more, sel: quad.id, at: step });
    return;
  }
  // merged blocks have no id in the picture: the server, if there is one, knows which lies there
  go(frozen === null ? { ...more, at: step } : { ...more, at: step, sel: null });
  if (frozen !== null) return;
  const asked = page.peek();
  const found = getJson<{ allocation: Allocation | null }>("pick", { ...at, step, y: bytes });
  attempt(
    found.then(({ allocation }) => {
      const now = page.peek();
      // unless something else was chosen while the server looked
      const same = now.sel === asked.sel && now.at === step;
      if (same && now.file === asked.file && now.device === asked.device) {
        go({ sel: allocation?.id ?? null });
      }
    }),
  );
}

const PICTURES = ["timeline", "lanes", "map", "segments"];

/** Where the focus goes when what had it is gone: the picture, if there is one. */
export function focusPicture(): void {
  for (const id of PICTURES) document.getElementById(id)?.focus({ preventScroll: true });
}

/** `frame`: what an exported page has to look it up in. */
export async function neighbour(direction: "up" | "down", frame: Frame | null): Promise<void> {
  const at = place.value;
  if (!at) return;
  const step = cursorStep.value;
  const id = page.value.sel;
  // what is chosen speaks through the picture: the keys go on from there
  focusPicture();
  if (frozen !== null) {
    const next = frame && neighbourIn(frame, id, direction === "up");
    if (next !== null) go({ sel: next });
    return;
  }
  // nothing chosen yet: begin with the lowest block at the cursor
  const found =
    id === null
      ? (await getJson<{ allocation: Allocation | null }>("pick", { ...at, step, y: 0 })).allocation
      : await getJson<Allocation | null>("neighbour", { ...at, step, id, direction });
  // unless something else was chosen while the server looked
  const now = place.peek();
  const same = page.peek().sel === id && now?.file === at.file && now.device === at.device;
  if (found && same) go({ sel: found.id });
}

/** Colours by the next thing that this file can be coloured by. */
export function nextColour(): void {
  const list = colourings.value;
  const next = list[(list.indexOf(page.value.colour) + 1) % list.length];
  if (next) go({ colour: next });
}
