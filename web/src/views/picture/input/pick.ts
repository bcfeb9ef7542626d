// What lies under the pointer: answered from the tiles in memory, without asking anybody.
import { NO_ID, pickQuad, type Quad, quadAt } from "../../../api/tile";
import { sampleAt } from "../tiles/line_sampler";
import { type Frame, fromX, fromY } from "../window/frame";

/** What is under a pixel. */
export interface Under {
  position: number;
  bytes: number;
  /** NaN: the picture does not know it */
  step: number;
  /** NaN: the picture does not know it */
  activeBytes: number;
  quad: Quad | null;
}

/** The block drawn above or below `id` at the cursor; without an id the lowest. */
export function neighbourIn(frame: Frame, id: number | null, up: boolean): number | null {
  const position = frame.cursor ?? (frame.x[0] + frame.x[1]) / 2;
  const column: Quad[] = [];
  for (const { tile, x0, column: width, from, to } of frame.shown) {
    if (position < from || position >= to) continue;
    const whole = Math.floor((position - x0) / width);
    for (let index = 0; index < tile.quads; index += 1) {
      const quad = quadAt(tile, index);
      const here = whole >= quad.column0 && whole < quad.column1;
      if (here && quad.id !== NO_ID) column.push(quad);
    }
  }
  column.sort((a, b) => a.low - b.low);
  if (id === null) return column[0]?.id ?? null;
  const at = column.findIndex((quad) => quad.id === id);
  return at < 0 ? null : (column[at + (up ? 1 : -1)]?.id ?? null);
}

/** Null outside of the plot and where nothing was recorded. */
export function underPixel(frame: Frame, pixelX: number, pixelY: number): Under | null {
  const { plot } = frame;
  if (pixelX < plot.left || pixelX >= plot.right) return null;
  if (pixelY < plot.top || pixelY > plot.bottom) return null;
  const position = fromX(frame, pixelX);
  const bytes = fromY(frame, pixelY);
  const sample = sampleAt(frame.samples, position);
  if (!sample) return null;
  const at = { position, bytes, step: sample.step, activeBytes: sample.activeMax };
  // the last one drawn lies on top: stand-ins come before what replaces them
  for (const shown of [...frame.shown].reverse()) {
    if (position < shown.from || position >= shown.to) continue;
    const index = pickQuad(shown.tile, (position - shown.x0) / shown.column, bytes);
    if (index >= 0) return { ...at, quad: quadAt(shown.tile, index) };
  }
  return { ...at, quad: null };
}
