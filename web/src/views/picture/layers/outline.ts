// The exact outline of the chosen allocation: for what is visible, and a tile more on both sides.
import { getBuffer } from "../../../api/client";
import type { Allocation } from "../../../api/contract";
import { decodeShape } from "../../../api/tile";
import { levelFor, TILE_COLUMNS, tileSpan, tilesIn } from "../../../gl/tile_address";
import type { Range } from "../../../state/link/url";
import type { Subject } from "../tiles/source";
import type { ShapeMark } from "../window/frame";

const SETTLE_MS = 140;
/** columns of a picture, roughly */
const COLUMNS = 1200;

export class Outline {
  private timer = 0;
  /** counts the questions: only the last answer is shown */
  private asked = 0;

  constructor(private readonly scene: { shape: ShapeMark | null; redraw(): void }) {}

  dispose(): void {
    window.clearTimeout(this.timer);
    this.asked += 1;
  }

  /** `x`: what is seen, as positions of the subject's axis. */
  ask(chosen: Allocation | null, { place, device, domain }: Subject, x: Range): void {
    this.dispose();
    if (!chosen || chosen.device !== device.ordinal) return;
    const mine = this.asked;
    const level = levelFor((x[1] - x[0]) / COLUMNS);
    const span = tileSpan(level);
    const tiles = tilesIn(x[0], x[1], span, domain.end);
    const x0 = Math.max(0, (tiles[0] ?? 0) - 1) * span;
    const columns = Math.min(8, tiles.length + 2) * TILE_COLUMNS;
    const column = 2 ** level;
    const range = { x0: domain.base + x0, x1: domain.base + x0 + columns * column, columns };
    this.timer = window.setTimeout(async () => {
      try {
        const { device: _, ...of } = place;
        const params = { ...of, id: chosen.id, axis: domain.axis, ...range };
        const shape = decodeShape(await getBuffer("shape", params));
        if (this.asked !== mine) return;
        this.scene.shape = { shape, x0, column, slot: chosen.slot };
        this.scene.redraw();
      } catch {
        // the outline of the tiles stays
      }
    }, SETTLE_MS);
  }
}
