// The stacked blocks on their canvas: who paints them, and where each tile lies. Between the
// arrivals of tiles a pan changes these numbers only.
import { CanvasPainter } from "../../../gl/canvas_painter";
import type { Painter, Placed } from "../../../gl/painter";
import type { PainterFactories } from "../../../gl/painter_canvas";
import { WebGlPainter } from "../../../gl/webgl_painter";
import type { Shown } from "../tiles/source";
import type { Frame } from "../window/frame";

export const STACK_PAINTERS: PainterFactories<Painter> = {
  webGl: (canvas) => WebGlPainter.create(canvas),
  canvas: (canvas) => new CanvasPainter(canvas),
};

/**
 * In device pixels: a picture of `width` × `height` that lies `lift` above the canvas's lower
 * edge.
 */
export function placeTiles(frame: Frame, width: number, height: number, lift = 0): Placed[] {
  const xScale = width / (frame.x[1] - frame.x[0]);
  const yScale = height / (frame.y[1] - frame.y[0]);
  const place = (one: Shown) => ({
    tile: one.tile,
    xScale: one.column * xScale,
    xOffset: (one.x0 - frame.x[0]) * xScale,
    yScale,
    yOffset: (one.tile.y0 - frame.y[0]) * yScale + lift,
    clip: [
      Math.max(0, Math.round((one.from - frame.x[0]) * xScale)),
      Math.min(width, Math.round((one.to - frame.x[0]) * xScale)),
    ] as const,
    rows: [lift, lift + height] as const,
  });
  return frame.shown.map(place);
}
