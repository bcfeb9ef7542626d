// Pointer, wheel and keys on the picture, turned into moves of the window.

import type { Domain } from "../../state/domain";
import type { Range } from "../../state/url";
import { bandAt, bandRange } from "./bands";
import { GUTTER } from "./frame";
import { type Grip, gripAt, minimapPosition } from "./minimap";
import type { Under } from "./pick";
import type { TimelineScene } from "./scene";
import { panBy, zoomAt, zoomBytes } from "./window";

export interface Hands {
  /** the window was moved by hand */
  onMoved: () => void;
  onHover: (under: Under | null, clientX: number, clientY: number) => void;
  onClick: (under: Under | null) => void;
}

const CLICK_SLACK = 4;
const WHEEL_STEP = 0.0016;

/** Attaches everything; returns the way to take it off. */
export function attachInput(
  scene: TimelineScene,
  front: HTMLCanvasElement,
  minimap: HTMLCanvasElement,
  hands: Hands,
): () => void {
  const off = new AbortController();
  const options = { signal: off.signal };
  attachPlot(scene, front, hands, options);
  attachWheel(scene, front, hands, off.signal);
  attachMinimap(scene, minimap, hands, options);
  return () => off.abort();
}

function highestBytes(scene: TimelineScene): number {
  const device = scene.subject?.device;
  const known = Math.max(device?.peak.reserved.bytes ?? 0, device?.ceiling_bytes ?? 0);
  return Math.max(scene.bytes[1], known * 1.1, 1 << 20);
}

function attachPlot(
  scene: TimelineScene,
  front: HTMLCanvasElement,
  hands: Hands,
  options: { signal: AbortSignal },
): void {
  let drag: { id: number; x: number; y: number; from: Range; bytes: Range; moved: boolean } | null =
    null;

  front.addEventListener(
    "pointerdown",
    (event) => {
      if (event.button !== 0) return;
      front.setPointerCapture(event.pointerId);
      drag = {
        id: event.pointerId,
        x: event.clientX,
        y: event.clientY,
        from: scene.x,
        bytes: scene.bytes,
        moved: false,
      };
    },
    options,
  );
  front.addEventListener(
    "pointermove",
    (event) => {
      const under = () => scene.under(event.offsetX, event.offsetY);
      if (!drag || drag.id !== event.pointerId) {
        hands.onHover(under(), event.clientX, event.clientY);
        return;
      }
      const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
      if (!drag.moved && Math.hypot(dx, dy) < CLICK_SLACK) return;
      drag.moved = true;
      hands.onHover(null, 0, 0);
      dragPlot(scene, drag.from, drag.bytes, dx, dy);
      hands.onMoved();
    },
    options,
  );
  const release = (event: PointerEvent) => {
    if (drag && drag.id === event.pointerId && !drag.moved && event.type === "pointerup") {
      const { frame } = scene;
      const band = frame && bandAt(frame, event.offsetX, event.offsetY);
      if (frame && band) {
        scene.moveTo(bandRange(frame, band), true);
        hands.onMoved();
      } else hands.onClick(scene.under(event.offsetX, event.offsetY));
    }
    drag = null;
  };
  front.addEventListener("pointerup", release, options);
  front.addEventListener("pointercancel", release, options);
  front.addEventListener("pointerleave", () => hands.onHover(null, 0, 0), options);
}

function dragPlot(scene: TimelineScene, from: Range, bytes: Range, dx: number, dy: number): void {
  const { frame, subject } = scene;
  if (!frame || !subject) return;
  const { plot } = frame;
  const units = (from[1] - from[0]) / (plot.right - plot.left);
  scene.moveTo(panBy(from, -dx * units, subject.domain), false);
  if (scene.y) {
    const span = bytes[1] - bytes[0];
    const by = (dy * span) / (plot.bottom - plot.top);
    const low = Math.min(Math.max(0, bytes[0] + by), Math.max(0, highestBytes(scene) - span));
    scene.y = [low, low + span];
  }
}

function attachWheel(
  scene: TimelineScene,
  front: HTMLCanvasElement,
  hands: Hands,
  signal: AbortSignal,
): void {
  front.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const { frame, subject } = scene;
      if (!frame || !subject) return;
      const { plot } = frame;
      const lines = event.deltaMode === 1 ? 18 : 1;
      const share = (event.offsetX - plot.left) / (plot.right - plot.left);
      if (event.shiftKey) {
        // some systems turn a wheel with Shift into a sideways one
        const delta = (event.deltaY === 0 ? event.deltaX : event.deltaY) * lines;
        zoomHeight(scene, event.offsetY, Math.exp(delta * WHEEL_STEP));
      } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const units = (scene.x[1] - scene.x[0]) / (plot.right - plot.left);
        scene.moveTo(panBy(scene.x, event.deltaX * lines * units, subject.domain), false);
      } else {
        const at = scene.x[0] + Math.min(1, Math.max(0, share)) * (scene.x[1] - scene.x[0]);
        const speed = event.ctrlKey ? WHEEL_STEP * 6 : WHEEL_STEP;
        const factor = Math.exp(Math.max(-400, Math.min(400, event.deltaY * lines)) * speed);
        scene.moveTo(zoomAt(scene.x, at, factor, subject.domain), false);
      }
      hands.onMoved();
    },
    { passive: false, signal },
  );
}

/** Zooms the bytes at a pixel of the picture, or at its middle. */
export function zoomHeight(scene: TimelineScene, pixelY: number | null, factor: number): void {
  const { frame } = scene;
  if (!frame) return;
  const { plot } = frame;
  const bytes = scene.bytes;
  const share = pixelY === null ? 0.5 : (plot.bottom - pixelY) / (plot.bottom - plot.top);
  const at = bytes[0] + Math.min(1, Math.max(0, share)) * (bytes[1] - bytes[0]);
  const highest = highestBytes(scene);
  const next = zoomBytes(bytes, at, factor, highest);
  scene.y = next[0] <= 0 && next[1] >= highest * 0.999 ? null : next;
  scene.redraw();
}

function attachMinimap(
  scene: TimelineScene,
  minimap: HTMLCanvasElement,
  hands: Hands,
  options: { signal: AbortSignal },
): void {
  let hold: { grip: Grip; start: number; x: Range } | null = null;
  const at = (event: PointerEvent, domain: Domain) =>
    minimapPosition(
      event.clientX - minimap.getBoundingClientRect().left,
      minimap.clientWidth,
      domain,
    );

  minimap.addEventListener(
    "pointerdown",
    (event) => {
      const domain = scene.subject?.domain;
      if (!domain || event.button !== 0 || event.offsetX < GUTTER - 12) return;
      minimap.setPointerCapture(event.pointerId);
      const grip = gripAt(event.offsetX, minimap.clientWidth, scene.x, domain);
      hold = { grip, start: at(event, domain), x: scene.x };
    },
    options,
  );
  minimap.addEventListener(
    "pointermove",
    (event) => {
      const domain = scene.subject?.domain;
      if (!domain) return;
      if (!hold) {
        const grip = gripAt(event.offsetX, minimap.clientWidth, scene.x, domain);
        minimap.style.cursor = {
          from: "ew-resize",
          to: "ew-resize",
          brush: "grab",
          new: "crosshair",
        }[grip];
        return;
      }
      const now = at(event, domain);
      const { x, start } = hold;
      if (hold.grip === "brush") scene.moveTo(panBy(x, now - start, domain), false);
      else if (hold.grip === "from") scene.moveTo([Math.min(now, x[1]), x[1]], false);
      else if (hold.grip === "to") scene.moveTo([x[0], Math.max(now, x[0])], false);
      else scene.moveTo([Math.min(start, now), Math.max(start, now)], false);
      hands.onMoved();
    },
    options,
  );
  const release = () => {
    hold = null;
  };
  minimap.addEventListener("pointerup", release, options);
  minimap.addEventListener("pointercancel", release, options);
}
