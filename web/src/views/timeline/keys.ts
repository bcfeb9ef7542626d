// The keys of the timeline: WASD and arrows, zoom, fit, events, hits, colours.
import { getJson } from "../../api/client";
import type { Allocation } from "../../api/contract";
import { frozen } from "../../api/frozen";
import { colourings, cursorStep, selection } from "../../state/cursor";
import { clearMark, jump, mark } from "../../state/marks";
import { attempt } from "../../state/notes";
import { go, page, place } from "../../state/store";
import { focusPicture } from "./focus";
import { zoomHeight } from "./input";
import { neighbourIn } from "./pick";
import type { TimelineScene } from "./scene";
import { everything, lifeOf, panBy, zoomAt } from "./window";

const PAN_SHARE = 0.12;
const ZOOM = 1.35;

export function timelineKey(
  event: KeyboardEvent,
  scene: TimelineScene,
  moved: () => void,
  toCursor: (step: number) => void,
): boolean {
  const { subject } = scene;
  if (!subject) return false;
  const { domain } = subject;
  const pan = (share: number) => {
    const [low, high] = scene.target;
    scene.moveTo(panBy([low, high], (high - low) * share, domain), false);
    moved();
  };
  const zoom = (factor: number) => {
    const { x } = scene;
    const inside = (at: number | null | undefined) =>
      at !== null && at !== undefined && at >= x[0] && at <= x[1] ? at : null;
    const at = inside(scene.hover?.position) ?? inside(scene.cursor) ?? (x[0] + x[1]) / 2;
    scene.moveTo(zoomAt(x, at, factor, domain), false);
    moved();
  };
  switch (event.key) {
    case "a":
    case "ArrowLeft":
      pan(-PAN_SHARE);
      return true;
    case "d":
    case "ArrowRight":
      pan(PAN_SHARE);
      return true;
    case "w":
    case "+":
    case "=":
      zoom(1 / ZOOM);
      return true;
    case "s":
    case "-":
      zoom(ZOOM);
      return true;
    case "W":
      zoomHeight(scene, null, 1 / ZOOM);
      moved();
      return true;
    case "S":
      zoomHeight(scene, null, ZOOM);
      moved();
      return true;
    case "f":
      scene.y = null;
      scene.moveTo(everything(domain), true);
      moved();
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
      attempt(neighbour(scene, "up"));
      return true;
    case "ArrowDown":
      attempt(neighbour(scene, "down"));
      return true;
    case "n":
      jump(1);
      return true;
    case "N":
      jump(-1);
      return true;
    case "o":
      if (mark.value) go({ only: !page.value.only });
      return true;
    case "g": {
      const list = colourings.value;
      const next = list[(list.indexOf(page.value.colour) + 1) % list.length];
      if (next) go({ colour: next });
      return true;
    }
    case "Escape":
      stepBack();
      return true;
    default:
      return false;
  }
}

/** The selection first, then the mark, then a cursor that was put somewhere. */
function stepBack(): void {
  if (page.value.sel !== null) go({ sel: null });
  else if (page.value.mark !== null) clearMark();
  else if (page.value.at !== null) go({ at: null });
}

async function neighbour(scene: TimelineScene, direction: "up" | "down"): Promise<void> {
  const at = place.value;
  if (!at) return;
  const step = cursorStep.value;
  const id = page.value.sel;
  // what is chosen speaks through the picture: the keys go on from there
  focusPicture();
  if (frozen !== null) {
    const next = scene.frame && neighbourIn(scene.frame, id, direction === "up");
    if (next !== null) go({ sel: next });
    return;
  }
  // nothing chosen yet: begin with the lowest block at the cursor
  const found =
    id === null
      ? (await getJson<{ allocation: Allocation | null }>("pick", { ...at, step, y: 0 })).allocation
      : await getJson<Allocation | null>("neighbour", { ...at, step, id, direction });
  // unless something else was chosen while the server looked
  if (found && page.peek().sel === id && place.peek()?.file === at.file) go({ sel: found.id });
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
