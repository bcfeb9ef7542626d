// Pointer and wheel on the lanes: one window for all of them, a click for the lane under it.

import type { Range } from "../../state/link/url";
import type { PlacedLane } from "../../state/recording/lanes";
import { attachDrag, type DragHandlers } from "../picture/input/drag";
import { attachMinimap, attachWheel, unitsPerPixel } from "../picture/input/moves";
import { bandAt, bandRange } from "../picture/layers/bands";
import { panBy, panBytes } from "../picture/window/window";
import type { LanesScene, UnderLane } from "./scene";

interface LaneHandlers extends DragHandlers<UnderLane> {
  onClick: (under: UnderLane) => void;
  onOpen: (lane: PlacedLane) => void;
}

interface Held {
  x: Range;
  y: Range | null;
  /** height of the lane that is held */
  pixels: number;
}

export function attachLaneInput(
  scene: LanesScene,
  front: HTMLCanvasElement,
  minimap: HTMLCanvasElement,
  handlers: LaneHandlers,
): () => void {
  const off = new AbortController();
  // a click may sort the lanes anew: a double one opens what its first press was on, if anything
  const pressed: (PlacedLane | null)[] = [];
  const grip = {
    hold: (): Held => {
      const plot = scene.plot;
      return { x: scene.x, y: scene.y, pixels: plot ? plot.bottom - plot.top : 1 };
    },
    onDrag: (from: Held, dx: number, dy: number) => {
      if (!scene.domain) return;
      scene.moveTo(panBy(from.x, -dx * unitsPerPixel(scene), scene.domain), false);
      if (from.y) scene.y = panBytes(from.y, dy / from.pixels, scene.highestBytes);
    },
    onPress: (event: PointerEvent) => {
      const under = scene.under(event.offsetX, event.offsetY);
      const clicked = under !== null && !zoomToBand(scene, event, under.lane, handlers);
      pressed.push(clicked ? under.lane : null);
      if (pressed.length > 2) pressed.shift();
      if (clicked) handlers.onClick(under);
    },
  };
  attachDrag(scene, front, handlers, grip, off.signal);
  attachWheel(scene, front, handlers.onMoved, off.signal);
  attachMinimap(scene, minimap, handlers.onMoved, off.signal);
  const open = () => {
    const lane = pressed[0];
    if (lane) handlers.onOpen(lane);
  };
  front.addEventListener("dblclick", open, { signal: off.signal });
  return () => off.abort();
}

/** A press on a phase makes it the range; false: there is none. */
function zoomToBand(
  scene: LanesScene,
  { offsetX, offsetY }: PointerEvent,
  lane: PlacedLane,
  handlers: LaneHandlers,
): boolean {
  const frame = scene.frames.find(({ row }) => row.lane === lane);
  const band = frame && bandAt(frame, offsetX, offsetY);
  if (!frame || !band) return false;
  const [low, high] = bandRange(frame, band);
  scene.moveTo([low + lane.offset, high + lane.offset], true);
  handlers.onMoved();
  return true;
}
