// The keys of the map: those of the timeline, and Shift for the axis of addresses.
import { HUES } from "../../api/map";
import type { Range } from "../../state/link/url";
import { cursorStep } from "../../state/page/cursor";
import { device, go, page } from "../../state/page/store";
import { noTimeBecause } from "../../state/recording/domain";
import { markKey, stepBack } from "../picture/input/mark_keys";
import { windowKey } from "../picture/input/moves";
import { everything } from "../picture/window/window";
import { panPlaces, zoomPlaces } from "./input";
import type { MapScene, UnderMap } from "./scene";

const PAN_SHARE = 0.12;

export interface MapKeyHands {
  moved: () => void;
  choose: (under: UnderMap) => void;
  zoomToSelection: () => void;
}

export function mapKey(event: KeyboardEvent, scene: MapScene, hands: MapKeyHands): boolean {
  const { subject } = scene;
  if (!subject) return false;
  const { domain, axis } = subject;
  const { x, y } = scene.target;
  const lift = (share: number) => {
    scene.moveTo(x, panPlaces(y, (y[1] - y[0]) * share, axis.bytes), false);
    hands.moved();
  };
  const window = {
    x,
    target: x,
    domain,
    plot: scene.plot,
    moveTo: (to: Range) => scene.moveTo(to, y, false),
    zoomHeight: (_pixel: number | null, factor: number) =>
      scene.moveTo(x, zoomPlaces(scene, 0.5, factor), false),
  };
  const toStep = (by: number) => {
    const last = (device.value?.events ?? 1) - 1;
    go({ at: Math.max(0, Math.min(last, cursorStep.value + by)) });
  };
  if (windowKey(event, window, [scene.hover?.position, scene.cursor], hands.moved)) return true;
  if (markKey(event)) return true;
  switch (event.key) {
    case "ArrowUp":
    case "ArrowDown": {
      const up = event.key === "ArrowUp" ? 1 : -1;
      if (event.shiftKey) lift(up * PAN_SHARE);
      else neighbour(scene, up, hands.choose);
      return true;
    }
    case "f":
      scene.moveTo(everything(domain), [0, axis.bytes], true);
      hands.moved();
      return true;
    case "z":
      hands.zoomToSelection();
      return true;
    case "[":
      toStep(-1);
      return true;
    case "]":
      toStep(1);
      return true;
    case "g": {
      const at = HUES.indexOf(page.value.hue);
      const next = HUES[(at + 1) % HUES.length];
      if (next) go({ hue: next });
      return true;
    }
    case "x":
      if (device.value && noTimeBecause(device.value) === null) {
        go({ axis: page.value.axis === "time" ? "step" : "time", x: null });
      }
      return true;
    case "r":
      if ((device.value?.ooms.length ?? 0) > 0) go({ red: !page.value.red });
      return true;
    case "Escape":
      stepBack();
      return true;
    default:
      return false;
  }
}

/** The next rectangle above or below at the cursor, as far as the picture shows it. */
function neighbour(scene: MapScene, up: 1 | -1, choose: (under: UnderMap) => void): void {
  const { frame } = scene;
  if (!frame) return;
  const seen = (position: number) => position >= frame.x[0] && position < frame.x[1];
  const cursor = scene.cursor;
  const position = cursor !== null && seen(cursor) ? cursor : (frame.x[0] + frame.x[1]) / 2;
  const chosen = scene.selected;
  const inside = chosen !== null && position >= chosen.x[0] && position < chosen.x[1];
  const pixel = (frame.y[1] - frame.y[0]) / Math.max(1, frame.plot.bottom - frame.plot.top);
  let place = inside
    ? chosen.y[up > 0 ? 1 : 0] + (up * pixel) / 2
    : up > 0
      ? frame.y[0]
      : frame.y[1];
  for (let tries = 0; tries < 4000; tries += 1, place += (up * pixel) / 2) {
    if (place < frame.y[0] || place >= frame.y[1] + pixel) return;
    const under = scene.at(position, place);
    if (under.quad) {
      choose(under);
      return;
    }
  }
}
