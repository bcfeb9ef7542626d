// Wheel and minimap move the window of every picture in the same way.

import type { Range } from "../../../state/link/url";
import type { Domain } from "../../../state/recording/domain";
import { type Grip, gripAt, minimapPosition } from "../layers/minimap";
import { GUTTER, type Plot } from "../window/frame";
import { everything, panBy, zoomAt } from "../window/window";

/** A picture whose window moves. */
export interface Movable {
  readonly x: Range;
  /** where the window is, or where it is gliding to */
  readonly target: Range;
  readonly domain: Domain | null;
  readonly plot: Pick<Plot, "left" | "right"> | null;
  moveTo(x: Range, glide: boolean): void;
  /** at a pixel of the picture, or at its middle */
  zoomHeight(pixelY: number | null, factor: number): void;
}

const WHEEL_STEP = 0.0016;

export function unitsPerPixel(scene: Movable): number {
  const { plot, x } = scene;
  return plot ? (x[1] - x[0]) / Math.max(1, plot.right - plot.left) : 0;
}

/** A turn of the wheel in pixels: down and up, sideways, and the one of both that was turned. */
export function wheelPixels(event: WheelEvent) {
  const lines = event.deltaMode === 1 ? 18 : 1;
  const [along, sideways] = [event.deltaY * lines, event.deltaX * lines];
  // some systems turn a wheel with Shift into a sideways one
  return { along, sideways, either: along === 0 ? sideways : along };
}

/** By what a turn zooms; a fast one not further than 400 pixels. */
export function wheelFactor(pixels: number, speed = 1): number {
  return Math.exp(Math.max(-400, Math.min(400, pixels)) * WHEEL_STEP * speed);
}

/** Steps with the wheel, bytes with Shift; sideways pans. */
export function attachWheel(
  scene: Movable,
  el: HTMLElement,
  onMoved: () => void,
  signal: AbortSignal,
): void {
  const wheel = (event: WheelEvent) => {
    event.preventDefault();
    const { domain, plot, x } = scene;
    if (!domain || !plot) return;
    const { along, sideways, either } = wheelPixels(event);
    if (event.shiftKey) {
      scene.zoomHeight(event.offsetY, Math.exp(either * WHEEL_STEP));
    } else if (Math.abs(sideways) > Math.abs(along)) {
      scene.moveTo(panBy(x, sideways * unitsPerPixel(scene), domain), false);
    } else {
      const share = (event.offsetX - plot.left) / (plot.right - plot.left);
      const at = x[0] + Math.min(1, Math.max(0, share)) * (x[1] - x[0]);
      scene.moveTo(zoomAt(x, at, wheelFactor(along, event.ctrlKey ? 6 : 1), domain), false);
    }
    onMoved();
  };
  el.addEventListener("wheel", wheel, { passive: false, signal });
}

/** All steps, and as high as what they hold. */
export function fitAll(scene: Movable & { y: Range | null }, moved: () => void): void {
  if (!scene.domain) return;
  scene.y = null;
  scene.moveTo(everything(scene.domain), true);
  moved();
}

/** The brush of the minimap: its handles, the brush itself, or a new one. */
export function attachMinimap(
  scene: Movable,
  minimap: HTMLCanvasElement,
  onMoved: () => void,
  signal: AbortSignal,
): void {
  const options = { signal };
  let hold: { grip: Grip; start: number; x: Range } | null = null;
  const at = (event: PointerEvent, domain: Domain) =>
    minimapPosition(
      event.clientX - minimap.getBoundingClientRect().left,
      minimap.clientWidth,
      domain,
    );
  const press = (event: PointerEvent) => {
    const { domain, x } = scene;
    if (!domain || event.button !== 0 || event.offsetX < GUTTER - 12) return;
    minimap.setPointerCapture(event.pointerId);
    const grip = gripAt(event.offsetX, minimap.clientWidth, x, domain);
    hold = { grip, start: at(event, domain), x };
  };
  const move = (event: PointerEvent) => {
    const { domain } = scene;
    if (!domain) return;
    if (!hold) {
      const grip = gripAt(event.offsetX, minimap.clientWidth, scene.x, domain);
      const cursors = { from: "ew-resize", to: "ew-resize", brush: "grab", new: "crosshair" };
      minimap.style.cursor = cursors[grip];
      return;
    }
    const now = at(event, domain);
    const { x, start, grip } = hold;
    if (grip === "brush") scene.moveTo(panBy(x, now - start, domain), false);
    else if (grip === "from") scene.moveTo([Math.min(now, x[1]), x[1]], false);
    else if (grip === "to") scene.moveTo([x[0], Math.max(now, x[0])], false);
    else scene.moveTo([Math.min(start, now), Math.max(start, now)], false);
    onMoved();
  };
  const release = () => {
    hold = null;
  };
  minimap.addEventListener("pointerdown", press, options);
  minimap.addEventListener("pointermove", move, options);
  minimap.addEventListener("pointerup", release, options);
  minimap.addEventListener("pointercancel", release, options);
}
