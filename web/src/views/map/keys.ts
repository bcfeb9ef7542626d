// The keys of the map: those of the timeline, and Shift for the axis of addresses.
import { HUES } from "../../api/map";
import { cursorStep } from "../../state/cursor";
import { noTimeBecause } from "../../state/domain";
import { clearMark, jump, mark } from "../../state/marks";
import { device, go, page } from "../../state/store";
import { everything, panBy, zoomAt } from "../timeline/window";
import { panPlaces, zoomPlaces } from "./input";
import type { MapScene, UnderMap } from "./scene";

const PAN_SHARE = 0.12;
const ZOOM = 1.35;

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
  const pan = (share: number) => {
    scene.moveTo(panBy(x, (x[1] - x[0]) * share, domain), y, false);
    hands.moved();
  };
  const lift = (share: number) => {
    scene.moveTo(x, panPlaces(y, (y[1] - y[0]) * share, axis.bytes), false);
    hands.moved();
  };
  const zoom = (factor: number) => {
    const wanted = scene.hover?.position ?? scene.cursor;
    const at = wanted !== null && wanted >= x[0] && wanted <= x[1] ? wanted : (x[0] + x[1]) / 2;
    scene.moveTo(zoomAt(x, at, factor, domain), y, false);
    hands.moved();
  };
  const zoomHeight = (factor: number) => {
    scene.moveTo(x, zoomPlaces(scene, 0.5, factor), false);
    hands.moved();
  };
  const toStep = (by: number) => {
    const last = (device.value?.events ?? 1) - 1;
    go({ at: Math.max(0, Math.min(last, cursorStep.value + by)) });
  };
  switch (event.key) {
    case "a":
    case "ArrowLeft":
      pan(-PAN_SHARE);
      return true;
    case "d":
    case "ArrowRight":
      pan(PAN_SHARE);
      return true;
    case "w":
    case "+":
    case "=":
      zoom(1 / ZOOM);
      return true;
    case "s":
    case "-":
      zoom(ZOOM);
      return true;
    case "W":
      zoomHeight(1 / ZOOM);
      return true;
    case "S":
      zoomHeight(ZOOM);
      return true;
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
    case "n":
      jump(1);
      return true;
    case "N":
      jump(-1);
      return true;
    case "o":
      if (mark.value) go({ only: !page.value.only });
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
      if (page.value.sel !== null) go({ sel: null });
      else if (page.value.seg !== null) go({ seg: null });
      else if (page.value.mark !== null) clearMark();
      else if (page.value.at !== null) go({ at: null });
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
