// Pointer and wheel on the timeline, turned into moves of the window.
import type { Range } from "../../state/link/url";
import { attachDrag, type DragHandlers } from "../picture/input/drag";
import { attachMinimap, attachWheel, unitsPerPixel } from "../picture/input/moves";
import type { Under } from "../picture/input/pick";
import { bandAt, bandRange } from "../picture/layers/bands";
import { panBy, panBytes } from "../picture/window/window";
import type { TimelineScene } from "./scene";

interface TimelineHandlers extends DragHandlers<Under> {
  onClick: (under: Under | null) => void;
}

/** Attaches everything; returns the way to take it off. */
export function attachInput(
  scene: TimelineScene,
  front: HTMLCanvasElement,
  minimap: HTMLCanvasElement,
  handlers: TimelineHandlers,
): () => void {
  const off = new AbortController();
  const grip = {
    hold: () => ({ x: scene.x, bytes: scene.bytes }),
    onDrag: (from: { x: Range; bytes: Range }, dx: number, dy: number) =>
      dragPlot(scene, from, dx, dy),
    onPress: (event: PointerEvent) => press(scene, event, handlers),
  };
  attachDrag(scene, front, handlers, grip, off.signal);
  attachWheel(scene, front, handlers.onMoved, off.signal);
  attachMinimap(scene, minimap, handlers.onMoved, off.signal);
  return () => off.abort();
}

function press(scene: TimelineScene, event: PointerEvent, handlers: TimelineHandlers): void {
  const { frame } = scene;
  const band = frame && bandAt(frame, event.offsetX, event.offsetY);
  if (frame && band) {
    scene.moveTo(bandRange(frame, band), true);
    handlers.onMoved();
  } else handlers.onClick(scene.under(event.offsetX, event.offsetY));
}

function dragPlot(
  scene: TimelineScene,
  from: { x: Range; bytes: Range },
  dx: number,
  dy: number,
): void {
  const { domain, plot } = scene;
  if (!domain || !plot) return;
  scene.moveTo(panBy(from.x, -dx * unitsPerPixel(scene), domain), false);
  if (scene.y) scene.y = panBytes(from.bytes, dy / (plot.bottom - plot.top), scene.highestBytes);
}
