// The keys of every picture: its window, what is marked, what is chosen.
import { clearMark, jump, mark } from "../../../state/answers/marks";
import { go, page } from "../../../state/page/store";
import { panBy, zoomAt } from "../window/window";
import type { Movable } from "./moves";

export const PAN_SHARE = 0.12;
const ZOOM = 1.35;

/**
 * `anchors`: where to zoom, the first that is in sight; else the middle. True: the key was used.
 */
function windowKey(
  event: KeyboardEvent,
  scene: Movable,
  anchors: readonly (number | null | undefined)[],
  moved: () => void,
): boolean {
  const { domain, x, target } = scene;
  if (!domain) return false;
  const pan = (share: number) => {
    scene.moveTo(panBy(target, (target[1] - target[0]) * share, domain), false);
  };
  const zoom = (factor: number) => {
    const inside = anchors.find((at) => at != null && at >= x[0] && at <= x[1]);
    scene.moveTo(zoomAt(x, inside ?? (x[0] + x[1]) / 2, factor, domain), false);
  };
  const moves: Record<string, () => void> = {
    a: () => pan(-PAN_SHARE),
    ArrowLeft: () => pan(-PAN_SHARE),
    d: () => pan(PAN_SHARE),
    ArrowRight: () => pan(PAN_SHARE),
    w: () => zoom(1 / ZOOM),
    "+": () => zoom(1 / ZOOM),
    "=": () => zoom(1 / ZOOM),
    s: () => zoom(ZOOM),
    "-": () => zoom(ZOOM),
    W: () => scene.zoomHeight(null, 1 / ZOOM),
    S: () => scene.zoomHeight(null, ZOOM),
  };
  const move = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
  if (!move) return false;
  move();
  moved();
  return true;
}

/**
 * Those, the keys for what is marked and chosen, and those of one picture. True: the key was used.
 */
export function pictureKey(
  event: KeyboardEvent,
  scene: Movable,
  anchors: readonly (number | null | undefined)[],
  moved: () => void,
  actions: Readonly<Partial<Record<string, () => void>>>,
): boolean {
  if (windowKey(event, scene, anchors, moved) || markKey(event)) return true;
  const act = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
  act?.();
  return act !== undefined;
}

/** Next and previous hit, only the hits. True: the key was used. */
function markKey(event: KeyboardEvent): boolean {
  if (event.key === "n") jump(1);
  else if (event.key === "N") jump(-1);
  else if (event.key === "o") {
    if (mark.value) go({ only: !page.value.only });
  } else return false;
  return true;
}

/** The selection first, then the segment, then the mark, then a cursor that was put somewhere. */
export function stepBack(): void {
  if (page.value.sel !== null) go({ sel: null });
  else if (page.value.seg !== null) go({ seg: null });
  else if (page.value.mark !== null) clearMark();
  else if (page.value.at !== null) go({ at: null });
}
