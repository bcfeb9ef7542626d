// The keys of the map: those of the timeline, and Shift for the axis of addresses.
import { HUES } from "../../api/map";
import type { Range } from "../../state/link/url";
import { stepCursor } from "../../state/page/cursor";
import { device, go, page } from "../../state/page/store";
import { PAN_SHARE, pictureKey, stepBack } from "../picture/input/keys";
import { withTimeAxis } from "../picture/panels/axis_switch";
import { everything, panBytes } from "../picture/window/window";
import { zoomPlaces } from "./input";
import type { MapScene, UnderMap } from "./scene";

interface MapKeyHandlers {
  moved: () => void;
  choose: (under: UnderMap) => void;
  zoomToSelection: () => void;
}

export function mapKey(event: KeyboardEvent, scene: MapScene, handlers: MapKeyHandlers): boolean {
  const { subject } = scene;
  if (!subject) return false;
  const { domain, axis } = subject;
  const { x, y } = scene.target;
  const window = {
    x,
    target: x,
    domain,
    plot: scene.plot,
    moveTo: (to: Range) => scene.moveTo(to, y, false),
    zoomHeight: (_pixel: number | null, factor: number) =>
      scene.moveTo(x, zoomPlaces(scene, 0.5, factor), false),
  };
  const upOrDown = (by: 1 | -1) => {
    if (event.shiftKey) {
      scene.moveTo(x, panBytes(y, by * PAN_SHARE, axis.bytes), false);
      handlers.moved();
    } else neighbour(scene, by, handlers.choose);
  };
  return pictureKey(event, window, [scene.hover?.position, scene.cursor], handlers.moved, {
    ...ACTIONS,
    ArrowUp: () => upOrDown(1),
    ArrowDown: () => upOrDown(-1),
    f: () => fitMap(scene, handlers.moved),
    z: handlers.zoomToSelection,
  });
}

/** All steps and all addresses. */
export function fitMap(scene: MapScene, moved: () => void): void {
  if (!scene.subject) return;
  scene.moveTo(everything(scene.subject.domain), [0, scene.subject.axis.bytes], true);
  moved();
}

const ACTIONS = {
  "[": () => stepCursor(-1),
  "]": () => stepCursor(1),
  g: () => {
    const next = HUES[(HUES.indexOf(page.value.hue) + 1) % HUES.length];
    if (next) go({ hue: next });
  },
  x: () => withTimeAxis(() => go({ axis: page.value.axis === "time" ? "step" : "time", x: null })),
  r: () => {
    if ((device.value?.ooms.length ?? 0) > 0) go({ red: !page.value.red });
  },
  Escape: stepBack,
};

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
