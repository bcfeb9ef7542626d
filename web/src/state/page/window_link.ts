// Ties the window of a picture to the URL: what the hand did is written when it rests, and a window
// that comes with the URL (a link, the back button, another view) is distinguished from the
// picture's own.
//
//   moved() … moved() … 140 ms ─► URL      the picture's own, from now on
//   URL changes ─► isNews() ─► the picture moves, once
import { effect } from "@preact/signals";
import type { PageState } from "../link/url";
import { go } from "./store";

const SETTLE_MS = 140;

export class WindowLink<K extends keyof PageState> {
  private timer = 0;
  private shown = "";
  private stops: (() => void)[] = [];

  /** `current`: the window as the URL writes it; null while nothing is shown */
  constructor(
    private readonly current: () => Pick<PageState, K> | null,
    private readonly written: () => void = () => {},
  ) {}

  /** Runs each whenever the state that it reads changes, until dispose(). */
  follow(...all: (() => void)[]): void {
    for (const one of all) this.stops.push(effect(one));
  }

  dispose(): void {
    window.clearTimeout(this.timer);
    for (const stop of this.stops) stop();
    this.stops = [];
  }

  /** The window was moved by hand. */
  moved(): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => {
      const next = this.current();
      if (next === null) return;
      this.show(next);
      go(next);
      this.written();
    }, SETTLE_MS);
  }

  /** The picture shows this window. */
  show(of: Pick<PageState, K>): void {
    this.shown = JSON.stringify(of);
  }

  /** Whether the picture shows another one; then it is taken to be shown from now on. */
  isNews(of: Pick<PageState, K>): boolean {
    const before = this.shown;
    this.show(of);
    return this.shown !== before;
  }
}
