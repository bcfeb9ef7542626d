// Pointer and wheel on the map, turned into moves of the window on both axes.
import type { Range } from "../../state/link/url";
import { attachDrag } from "../picture/input/drag";
import { bandAt, bandRange } from "../picture/layers/bands";
import { panBy, zoomAt } from "../picture/window/window";
import type { MapRect } from "./frame";
import type { MapScene, UnderMap } from "./scene";

export interface MapHands {
  onMoved: () => void;
  onHover: (under: UnderMap | null, clientX: number, clientY: number) => void;
  onClick: (under: UnderMap | null) => void;
}

const WHEEL_STEP = 0.0016;

export function panPlaces([low, high]: Range, by: number, most: number): Range {
  const span = high - low;
  const from = Math.min(Math.max(0, low + by), Math.max(0, most - span));
  return [from, from + span];
}

/** Zooms the axis of addresses at a share of its height, counted from below. */
export function zoomPlaces(scene: MapScene, share: number, factor: number): Range {
  const [low, high] = scene.target.y;
  const at = low + share * (high - low);
  const all = scene.subject?.axis.bytes ?? 1;
  const span = Math.min(all, Math.max(4096, (high - low) * factor));
  const from = Math.min(Math.max(0, at - share * span), Math.max(0, all - span));
  return [from, from + span];
}

/** Attaches everything; returns the way to take it off. */
export function attachMapInput(
  scene: MapScene,
  front: HTMLCanvasElement,
  hands: MapHands,
): () => void {
  const off = new AbortController();
  const drag = {
    hold: () => ({ x: scene.x, y: scene.y }),
    onDrag: ({ x, y }: MapRect, dx: number, dy: number) => {
      const { plot, subject } = scene;
      if (!plot || !subject) return;
      const units = (x[1] - x[0]) / (plot.right - plot.left);
      const places = (y[1] - y[0]) / (plot.bottom - plot.top);
      scene.moveTo(
        panBy(x, -dx * units, subject.domain),
        panPlaces(y, dy * places, subject.axis.bytes),
        false,
      );
      hands.onMoved();
    },
    onPress: (event: PointerEvent) => {
      const { frame } = scene;
      const band = frame && bandAt(frame, event.offsetX, event.offsetY);
      if (frame && band) {
        scene.moveTo(bandRange(frame, band), scene.y, true);
        hands.onMoved();
      } else hands.onClick(scene.under(event.offsetX, event.offsetY));
    },
    onHover: (event: PointerEvent | null) => {
      if (!event) hands.onHover(null, 0, 0);
      else hands.onHover(scene.under(event.offsetX, event.offsetY), event.clientX, event.clientY);
    },
  };
  attachDrag(front, drag, off.signal);
  front.addEventListener("wheel", (event) => wheel(scene, event, hands), {
    passive: false,
    signal: off.signal,
  });
  return () => off.abort();
}

/** Steps with the wheel, addresses with Shift, both with Ctrl, as pinching does. */
function wheel(scene: MapScene, event: WheelEvent, hands: MapHands): void {
  event.preventDefault();
  const { frame, subject } = scene;
  if (!frame || !subject) return;
  const { plot } = frame;
  const inside = (share: number) => Math.min(1, Math.max(0, share));
  const across = inside((event.offsetX - plot.left) / (plot.right - plot.left));
  const up = inside((plot.bottom - event.offsetY) / (plot.bottom - plot.top));
  const lines = event.deltaMode === 1 ? 18 : 1;
  const at = scene.x[0] + across * (scene.x[1] - scene.x[0]);
  // some systems turn a wheel with Shift into a sideways one
  const delta = (event.deltaY === 0 ? event.deltaX : event.deltaY) * lines;
  const factor = Math.exp(Math.max(-400, Math.min(400, delta)) * WHEEL_STEP);
  if (event.shiftKey) {
    scene.moveTo(scene.x, zoomPlaces(scene, up, factor), false);
  } else if (event.ctrlKey) {
    const both = factor ** 4;
    scene.moveTo(zoomAt(scene.x, at, both, subject.domain), zoomPlaces(scene, up, both), false);
  } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const units = (scene.x[1] - scene.x[0]) / (plot.right - plot.left);
    scene.moveTo(panBy(scene.x, event.deltaX * lines * units, subject.domain), scene.y, false);
  } else {
    scene.moveTo(zoomAt(scene.x, at, factor, subject.domain), scene.y, false);
  }
  hands.onMoved();
}
