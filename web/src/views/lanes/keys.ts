// The keys of the lanes: those of the timeline for window and cursor, and the way from lane to
// lane.

import { LANE_SORTS } from "../../state/link/page_state";
import { cursorStep } from "../../state/page/cursor";
import { addNotes, attempt } from "../../state/page/notes";
import { go, page } from "../../state/page/store";
import type { PlacedLane } from "../../state/recording/lanes";
import { neighbour, nextColour } from "../picture/input/choose";
import { pictureKey, stepBack } from "../picture/input/keys";
import { fitAll } from "../picture/input/moves";
import { chooseLane, openLane } from "./actions";
import { against, current, currentKey, cursor, ordered, shared, timed } from "./model";
import type { LanesScene } from "./scene";

interface LaneKeyHandlers {
  moved: () => void;
  /** brings a lane into sight */
  reveal: (lane: PlacedLane) => void;
  zoomToSelection: () => void;
}

export function laneKeyPressed(
  event: KeyboardEvent,
  scene: LanesScene,
  handlers: LaneKeyHandlers,
): boolean {
  if (event.shiftKey && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
    attempt(neighbour(event.key === "ArrowUp" ? "up" : "down", null));
    return true;
  }
  if (laneMove(event, scene, handlers)) return true;
  const on = event.target as Element | null;
  const lane = on?.closest("button, a") ? null : current.value;
  return pictureKey(event, scene, [scene.hover?.position, scene.cursor], handlers.moved, {
    ...ACTIONS,
    ...(lane ? { Enter: () => openLane(lane, scene.target) } : {}),
    f: () => fitAll(scene, handlers.moved),
    z: handlers.zoomToSelection,
  });
}

export const NO_TIME_AXIS = "There is no time axis: no recording has usable times";

const ACTIONS: Partial<Record<string, () => void>> = {
  "[": () => step(-1),
  "]": () => step(1),
  g: nextColour,
  m: () => sortByNext(1),
  M: () => sortByNext(-1),
  b: () => go({ against: against.value === "median" ? "first" : "median" }),
  v: () => go({ own: !page.value.own }),
  x: changeAxis,
  l: changeAlignment,
  Escape: () => {
    if (page.value.sel === null && page.value.t !== null) go({ at: null });
    else stepBack();
  },
};

/** From lane to lane, as they are shown. */
function laneMove(event: KeyboardEvent, scene: LanesScene, handlers: LaneKeyHandlers): boolean {
  const list = ordered.value;
  const now = list.findIndex(({ key }) => key === currentKey.value);
  const inSight = Math.max(1, scene.rows.length - 1);
  const moves: Partial<Record<string, number>> = {
    ArrowUp: now - 1,
    ArrowDown: now + 1,
    PageUp: now - inSight,
    PageDown: now + inSight,
    Home: 0,
    End: list.length - 1,
  };
  const wanted = Object.hasOwn(moves, event.key) ? moves[event.key] : undefined;
  if (wanted === undefined) return false;
  const lane = list[Math.max(0, Math.min(list.length - 1, wanted))];
  if (!lane) return true;
  chooseLane(lane, scene.target);
  handlers.reveal(lane);
  return true;
}

/** The next or previous step; in time, the next or previous event of the current lane. */
function step(by: number): void {
  const { domain } = shared.value;
  const now = domain.axis === "step" ? (cursor.value ?? 0) : cursorStep.value;
  const last = domain.axis === "step" ? domain.end : (current.value?.device.events ?? 1);
  go({ at: Math.max(0, Math.min(last - 1, now + by)) });
}

function sortByNext(by: number): void {
  const count = LANE_SORTS.length;
  const next = LANE_SORTS[(LANE_SORTS.indexOf(page.value.rank) + by + count) % count];
  if (next) go({ rank: next });
}

/** The window was in the units of the other axis: everything is shown. */
export function changeAxis(): void {
  const time = shared.value.domain.axis === "time";
  if (time || timed.value) go({ axis: time ? "step" : "time", x: null, t: null });
  else addNotes(`${NO_TIME_AXIS}.`);
}

function changeAlignment(): void {
  const { align, domain } = shared.value;
  if (domain.axis === "time") go({ align: align === "clock" ? "first" : "clock" });
}
