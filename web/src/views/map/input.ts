// Pointer and wheel on the map, turned into moves of the window on both axes.
import type { Range } from "../../state/link/url";
import { attachDrag, type DragHandlers } from "../picture/input/drag";
import { wheelFactor, wheelPixels } from "../picture/input/moves";
import { bandAt, bandRange } from "../picture/layers/bands";
import { panBy, panBytes, zoomAt, zoomBytes } from "../picture/window/window";
import type { MapRect } from "./frame";
import type { MapScene, UnderMap } from "./scene";

interface MapHandlers extends DragHandlers<UnderMap> {
  onClick: (under: UnderMap | null) => void;
}

/** Zooms the axis of addresses at a share of its height, counted from below. */
export function zoomPlaces(scene: MapScene, share: number, factor: number): Range {
  const [low, high] = scene.target.y;
  const all = scene.subject?.axis.bytes ?? 1;
  return zoomBytes([low, high], low + share * (high - low), factor, all);
}

/** Attaches everything; returns the way to take it off. */
export function attachMapInput(
  scene: MapScene,
  front: HTMLCanvasElement,
  handlers: MapHandlers,
): () => void {
  const off = new AbortController();
  const grip = {
    hold: () => ({ x: scene.x, y: scene.y }),
    onDrag: ({ x, y }: MapRect, dx: number, dy: number) => {
      const { plot, subject } = scene;
      if (!plot || !subject) return;
      const units = (x[1] - x[0]) / (plot.right - plot.left);
      scene.moveTo(
        panBy(x, -dx * units, subject.domain),
        panBytes(y, dy / (plot.bottom - plot.top), subject.axis.bytes),
        false,
      );
    },
    onPress: (event: PointerEvent) => {
      const { frame } = scene;
      const band = frame && bandAt(frame, event.offsetX, event.offsetY);
      if (frame && band) {
        scene.moveTo(bandRange(frame, band), scene.y, true);
        handlers.onMoved();
      } else handlers.onClick(scene.under(event.offsetX, event.offsetY));
    },
  };
  attachDrag(scene, front, handlers, grip, off.signal);
  front.addEventListener("wheel", (event) => wheel(scene, event, handlers), {
    passive: false,
    signal: off.signal,
  });
  return () => off.abort();
}

/** Steps with the wheel, addresses with Shift, both with Ctrl, as pinching does. */
function wheel(scene: MapScene, event: WheelEvent, handlers: MapHandlers): void {
  event.preventDefault();
  const { frame, subject } = scene;
  if (!frame || !subject) return;
  const { plot } = frame;
  const inside = (share: number) => Math.min(1, Math.max(0, share));
  const across = inside((event.offsetX - plot.left) / (plot.right - plot.left));
  const up = inside((plot.bottom - event.offsetY) / (plot.bottom - plot.top));
  const at = scene.x[0] + across * (scene.x[1] - scene.x[0]);
  const { along, sideways, either } = wheelPixels(event);
  const factor = wheelFactor(either);
  if (event.shiftKey) {
    scene.moveTo(scene.x, zoomPlaces(scene, up, factor), false);
  } else if (event.ctrlKey) {
    const both = factor ** 4;
    scene.moveTo(zoomAt(scene.x, at, both, subject.domain), zoomPlaces(scene, up, both), false);
  } else if (Math.abs(sideways) > Math.abs(along)) {
    const units = (scene.x[1] - scene.x[0]) / (plot.right - plot.left);
    scene.moveTo(panBy(scene.x, sideways * units, subject.domain), scene.y, false);
  } else {
    scene.moveTo(zoomAt(scene.x, at, factor, subject.domain), scene.y, false);
  }
  handlers.onMoved();
}
