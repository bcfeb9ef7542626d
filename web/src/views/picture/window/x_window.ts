// The visible part of an axis, that moves at once under a hand and glides when the page jumps.

import type { Range } from "../../../state/link/url";
import type { Domain } from "../../../state/recording/domain";
import { between, clampRange, everything, grown } from "./window";

const SLIDE_MS = 280;

export function stillWanted(): boolean {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}

export class XWindow {
  now: Range = [0, 1];
  private slide: { from: Range; to: Range; start: number } | null = null;

  /** Where the window is, or where it is gliding to. */
  get target(): Range {
    return this.slide?.to ?? this.now;
  }

  /** Another axis: null shows all of it. */
  start(x: Range | null, domain: Domain): void {
    this.slide = null;
    this.now = clampRange(x ?? everything(domain), domain);
  }

  moveTo(x: Range, glide: boolean, domain: Domain): void {
    const to = clampRange(x, domain);
    if (glide && !stillWanted()) this.slide = { from: this.now, to, start: performance.now() };
    else {
      this.slide = null;
      this.now = to;
    }
  }

  /** The same place on an axis that has grown, also in the middle of a move. */
  grow(before: Domain, after: Domain): void {
    this.now = grown(this.now, before, after);
    if (!this.slide) return;
    const { from, to, start } = this.slide;
    this.slide = { from: grown(from, before, after), to: grown(to, before, after), start };
  }

  /** True: it moves on in the next frame. */
  advance(time: number): boolean {
    if (!this.slide) return false;
    const { from, to, start } = this.slide;
    const t = Math.min(1, (time - start) / SLIDE_MS);
    this.now = between(from, to, 1 - (1 - t) ** 3);
    if (t >= 1) this.slide = null;
    return t < 1;
  }
}
