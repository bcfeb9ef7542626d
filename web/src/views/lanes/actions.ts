// What can be done with a lane: make it the one that the page speaks of, open it alone. The URL's
// range and cursor are in the times of that lane, so both are carried over to the next one's.

import type { PageState, Range } from "../../state/link/url";
import { cursorStep } from "../../state/page/cursor";
import { go, page, placePatch } from "../../state/page/store";
import type { PlacedLane } from "../../state/recording/lanes";
import { showTip } from "../picture/panels/tooltip";
import { absolute } from "../picture/window/window";
import { reachOf } from "./lane_frame";
import { currentKey, cursor, sharedFor, values } from "./model";
import type { LanesScene, UnderLane } from "./scene";

/**
 * What changes when the page speaks of another lane; window and cursor stay where they are seen.
 */
export function lanePatch(lane: PlacedLane, window: Range): Partial<PageState> {
  const { file, sel, y } = page.peek();
  const { domain } = sharedFor(lane.key);
  const at = cursor.peek();
  const cursorPatch =
    domain.axis === "step"
      ? { at: page.peek().at ?? cursorStep.peek(), t: null }
      : {
          at: values.peek().get(lane.key)?.step ?? null,
          t: at === null ? null : Math.round(domain.base + at),
        };
  return {
    ...placePatch(lane.file, lane.device.ordinal),
    ...cursorPatch,
    x: absolute(window, domain),
    y,
    sel: lane.file === file ? sel : null,
  };
}

/** What the pointer is over, in the picture and beside it. */
export function hoverLane(scene: LanesScene, at: UnderLane | null, x: number, y: number): void {
  const { lane, under } = at ?? { lane: null, under: null };
  scene.hover =
    lane && under
      ? { position: under.position + lane.offset, lane: lane.key, id: under.quad?.id ?? null }
      : null;
  showTip(lane && under ? { file: lane.file, under, x, y } : null);
  scene.redraw();
}

export function chooseLane(lane: PlacedLane, window: Range): void {
  if (lane.key !== currentKey.peek()) go(lanePatch(lane, window));
}

/** Its own timeline, with the same window and cursor as far as it has them. */
export function openLane(lane: PlacedLane, window: Range): void {
  const { own, y, at, sel } = page.peek();
  const { domain } = lane;
  const low = window[0] - lane.offset;
  const high = window[1] - lane.offset;
  const inside = domain !== null && high > 0 && low < domain.end;
  const same = lane.key === currentKey.peek();
  const shown = values.peek().get(lane.key)?.step ?? null;
  go(
    {
      ...(same ? {} : lanePatch(lane, window)),
      view: "timeline",
      x: inside && domain ? absolute([Math.max(0, low), high], domain) : null,
      // not where this one has nothing
      y: own || (y !== null && y[0] >= reachOf(lane)[1]) ? null : y,
      at: same && at !== null && at < lane.device.events ? at : shown,
      t: null,
      ...(same ? { sel } : {}),
    },
    true,
  );
}
