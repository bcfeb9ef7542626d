// A window that moves at once under a hand and glides when the page jumps.
//
//   moveTo(to, true)   now ──► ──► ──► to, in SLIDE_MS, fast at first
//   moveTo(to, false)  now = to
import type { Range } from "../../../state/link/url";
import type { Domain } from "../../../state/recording/domain";
import { between, clampRange, everything, grown } from "./window";

const SLIDE_MS = 280;

export function stillWanted(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class Glide<T> {
  private slide: { from: T; to: T; start: number } | null = null;

  constructor(
    private current: T,
    private readonly mix: (from: T, to: T, t: number) => T,
  ) {}

  get now(): T {
    return this.current;
  }

  /** Where the window is, or where it is gliding to. */
  get target(): T {
    return this.slide?.to ?? this.current;
  }

  moveTo(to: T, glide: boolean): void {
    if (glide && !stillWanted()) {
      this.slide = { from: this.current, to, start: performance.now() };
    } else {
      this.slide = null;
      this.current = to;
    }
  }

  /** The same place on other axes, also in the middle of a move. */
  change(by: (window: T) => T): void {
    this.current = by(this.current);
    if (!this.slide) return;
    const { from, to, start } = this.slide;
    this.slide = { from: by(from), to: by(to), start };
  }

  /** True: it moves on in the next frame. */
  advance(time: number): boolean {
    if (!this.slide) return false;
    const { from, to, start } = this.slide;
    const t = Math.min(1, (time - start) / SLIDE_MS);
    this.current = this.mix(from, to, 1 - (1 - t) ** 3);
    if (t >= 1) this.slide = null;
    return t < 1;
  }
}

/** The visible part of the axis of steps or times. */
export class XWindow {
  private readonly glide = new Glide<Range>([0, 1], between);

  get now(): Range {
    return this.glide.now;
  }

  get target(): Range {
    return this.glide.target;
  }

  /** Another axis: null shows all of it. */
  start(x: Range | null, domain: Domain): void {
    this.glide.moveTo(clampRange(x ?? everything(domain), domain), false);
  }

  moveTo(x: Range, glide: boolean, domain: Domain): void {
    this.glide.moveTo(clampRange(x, domain), glide);
  }

  grow(before: Domain, after: Domain): void {
    this.glide.change((x) => grown(x, before, after));
  }

  advance(time: number): boolean {
    return this.glide.advance(time);
  }
}
