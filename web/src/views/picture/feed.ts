// Feeds a picture from the state of the page, and the state from the picture's window.

import type { Annotation } from "../../api/contract";
import type { PageState } from "../../state/link/url";
import { annotations } from "../../state/page/cursor";
import { device, page } from "../../state/page/store";
import { theme } from "../../state/page/theme";
import { WindowLink } from "../../state/page/window_link";
import { domainOf } from "../../state/recording/domain";
import { oomMarks } from "./layers/ooms";
import type { OomMark } from "./window/frame";

interface Fed {
  redraw(): void;
  themeChanged(): void;
}

/** K: what of the URL holds the window. */
export abstract class PictureFeed<S extends Fed, K extends keyof PageState> {
  protected readonly link = new WindowLink<K>(
    () => this.windowNow(),
    () => this.windowWritten(),
  );
  /** what was in view already: a reload must not move the window */
  protected readonly seen = { at: page.peek().at, sel: page.peek().sel };

  constructor(protected readonly scene: S) {}

  dispose(): void {
    this.link.dispose();
  }

  /** The window was moved: it goes into the URL when the hand rests. */
  moved(): void {
    this.link.moved();
  }

  /** As the URL writes it; null while nothing is shown. */
  protected abstract windowNow(): Pick<PageState, K> | null;
  protected windowWritten(): void {}

  /** Runs each whenever the state that it reads changes; the theme, too. */
  protected follow(...all: (() => void)[]): void {
    this.link.follow(...all, () => {
      void theme.value;
      this.scene.themeChanged();
    });
  }
}

/** Out-of-memory events and phases of the page's own device, whenever they change. */
export function followMarks(scene: {
  setMarks(ooms: readonly OomMark[], annotations: readonly Annotation[]): void;
}): void {
  const of = device.value;
  const rows = annotations.value.data?.rows ?? [];
  if (of) scene.setMarks(oomMarks(of, domainOf(of, page.value.axis)), rows);
}
