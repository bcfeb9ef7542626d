// The keys of the timeline: WASD and arrows, zoom, fit, events, hits, colours.
import { getJson } from "../../api/client";
import type { Allocation } from "../../api/contract";
import { frozen } from "../../api/frozen";
import { colourings, cursorStep, selection } from "../../state/page/cursor";
import { attempt } from "../../state/page/notes";
import { go, page, place } from "../../state/page/store";
import { markKey, stepBack } from "../picture/input/mark_keys";
import { showEverything, windowKey } from "../picture/input/moves";
import { neighbourIn } from "../picture/input/pick";
import type { Frame } from "../picture/window/frame";
import { lifeOf } from "../picture/window/window";
import { focusPicture } from "./focus";
import type { TimelineScene } from "./scene";

export function timelineKey(
  event: KeyboardEvent,
  scene: TimelineScene,
  moved: () => void,
  toCursor: (step: number) => void,
): boolean {
  const { subject } = scene;
  if (!subject) return false;
  if (windowKey(event, scene, [scene.hover?.position, scene.cursor], moved)) return true;
  if (markKey(event)) return true;
  switch (event.key) {
    case "f":
      scene.y = null;
      showEverything(scene, moved);
      return true;
    case "z":
      zoomToSelection(scene, moved);
      return true;
    case "[":
      toCursor(Math.max(0, cursorStep.value - 1));
      return true;
    case "]":
      toCursor(Math.min(subject.device.events - 1, cursorStep.value + 1));
      return true;
    case "ArrowUp":
      attempt(neighbour("up", scene.frame));
      return true;
    case "ArrowDown":
      attempt(neighbour("down", scene.frame));
      return true;
    case "g":
      nextColour();
      return true;
    case "Escape":
      stepBack();
      return true;
    default:
      return false;
  }
}

/** Colours by the next thing that this file can be coloured by. */
export function nextColour(): void {
  const list = colourings.value;
  const next = list[(list.indexOf(page.value.colour) + 1) % list.length];
  if (next) go({ colour: next });
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

/** From its birth to its end, with a quarter of its life on both sides. */
export function zoomToSelection(scene: TimelineScene, moved: () => void): void {
  const chosen = selection.value.data;
  const domain = scene.subject?.domain;
  if (!chosen || !domain) return;
  const [low, high] = lifeOf(chosen, domain);
  const margin = Math.max(domain.least / 2, (high - low) * 0.25);
  scene.moveTo([low - margin, high + margin], true);
  moved();
}
