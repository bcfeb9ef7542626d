// How sharp the blocks are drawn. A software renderer needs some 50 ms for a picture, most of it for
// its pixels. So while the picture moves, it draws a quarter of them.
//
//   wheel ─ ─ ─ ─ ─ ─ rest
//   1 ½ ½ ½ ½ ½ ½ ½ ½  1       a picture of a recording that has grown stays sharp

const REST_MS = 200;
const COARSE = 0.5;

export class Sharpness {
  private view: readonly number[] = [];
  private isNew = true;
  private movedAt = Number.NEGATIVE_INFINITY;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly onRest: () => void) {}

  /** What the device pixels per CSS pixel are multiplied by. `view`: the ends of both axes. */
  of(view: readonly number[], isSoftware: boolean): number {
    const now = performance.now();
    const changed = view.some((end, i) => end !== this.view[i]);
    this.view = view;
    if (!isSoftware) return 1;
    if (changed && !this.isNew) this.move(now);
    if (changed) this.isNew = false;
    return now - this.movedAt < REST_MS ? COARSE : 1;
  }

  /** The next change of the view is no movement: another recording is shown, or it has grown. */
  anew(): void {
    this.isNew = true;
  }

  dispose(): void {
    clearTimeout(this.timer);
  }

  private move(now: number): void {
    this.movedAt = now;
    clearTimeout(this.timer);
    this.timer = setTimeout(this.onRest, REST_MS + 10);
  }
}
