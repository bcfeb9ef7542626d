// Who can paint the strata, best first.
import { CanvasPainter } from "./canvas_painter";
import type { Makers } from "./glass";
import type { Painter } from "./painter";
import { WebGlPainter } from "./webgl_painter";

export const STACK_PAINTERS: Makers<Painter> = {
  webGl: (canvas) => WebGlPainter.create(canvas),
  canvas: (canvas) => new CanvasPainter(canvas),
};
