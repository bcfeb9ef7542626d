// The keys of the timeline: WASD and arrows, zoom, fit, events, hits, colours.
import { selection, stepCursor } from "../../state/page/cursor";
import { attempt } from "../../state/page/notes";
import { neighbour, nextColour } from "../picture/input/choose";
import { pictureKey, stepBack } from "../picture/input/keys";
import { fitAll } from "../picture/input/moves";
import { lifeOf, withMargin } from "../picture/window/window";
import type { TimelineScene } from "./scene";

export function timelineKey(
  event: KeyboardEvent,
  scene: TimelineScene,
  moved: () => void,
  changeAxis: () => void,
): boolean {
  if (!scene.subject) return false;
  return pictureKey(event, scene, [scene.hover?.position, scene.cursor], moved, {
    f: () => fitAll(scene, moved),
    z: () => zoomToSelection(scene, moved),
    x: changeAxis,
    g: nextColour,
    "[": () => stepCursor(-1),
    "]": () => stepCursor(1),
    ArrowUp: () => attempt(neighbour("up", scene.frame)),
    ArrowDown: () => attempt(neighbour("down", scene.frame)),
    Escape: stepBack,
  });
}

/** From its allocation to its free, with a quarter of its life on both sides. */
function zoomToSelection(scene: TimelineScene, moved: () => void): void {
  const chosen = selection.value.data;
  const domain = scene.subject?.domain;
  if (!chosen || !domain) return;
  scene.moveTo(withMargin(lifeOf(chosen, domain), domain.least), true);
  moved();
}
