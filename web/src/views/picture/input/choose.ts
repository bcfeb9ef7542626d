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

/** Whether the page still shows the device, and has chosen the block, that it had at this call. */
export function unchanged(): () => boolean {
  const { file, device, sel } = page.peek();
  return () => {
    const now = page.peek();
    return now.sel === sel && now.file === file && now.device === device;
  };
}

/**
 * Puts the cursor on a step and selects what the server finds there, unless that comes too late.
 */
export async function chooseFound(
  step: number,
  ask: () => Promise<{ allocation: Allocation | null }>,
  more: Partial<PageState> = {},
): Promise<void> {
  go({ ...more, at: step });
  const same = unchanged();
  const { allocation } = await ask();
  if (same() && page.peek().at === step) go({ sel: allocation?.id ?? null });
}

/** `more`: what else changes with it, another recording for one. */
export function chooseBlock(at: Place, under: Under, more: Partial<PageState> = {}): void {
  const { quad, step, bytes } = under;
  if (quad && quad.id !== NO_ID) {
    go({ ...more, sel: quad.id, at: step });
    return;
  }
  // an exported page has no server to ask which of the merged blocks lies there
  if (frozen !== null) {
    go({ ...more, at: step, sel: null });
    return;
  }
  const question = { ...at, step, y: bytes };
  attempt(chooseFound(step, () => getJson("pick", question), more));
}

const PICTURES = ["timeline", "lanes", "map", "segments"];

/** Moves the focus to the picture, if there is one: what had the focus is removed. */
export function focusPicture(): void {
  for (const id of PICTURES) document.getElementById(id)?.focus({ preventScroll: true });
}

/** `frame`: what an exported page has to look it up in. */
export async function neighbour(direction: "up" | "down", frame: Frame | null): Promise<void> {
  const at = place.value;
  if (!at) return;
  const step = cursorStep.value;
  const id = page.value.sel;
  const same = unchanged();
  // the next key starts from the picture, which shows what is chosen
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
  if (found && same()) go({ sel: found.id });
}

/** The next colouring that this file allows. */
export function nextColour(): void {
  const list = colourings.value;
  const next = list[(list.indexOf(page.value.colour) + 1) % list.length];
  if (next) go({ colour: next });
}
