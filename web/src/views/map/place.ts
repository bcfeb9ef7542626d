// Where each tile lies on the glass of the map: a pan changes these numbers only.
import type { PlacedMap } from "../../gl/map_painter";
import { columnSpan, MAP_COLUMNS } from "./addresses";
import type { MapFrame } from "./frame";
import type { ShownMap } from "./source";

/** In device pixels of a glass that is `width` × `height`. */
export function placeMap(
  frame: Pick<MapFrame, "x" | "y" | "shown">,
  width: number,
  height: number,
): PlacedMap[] {
  const xScale = width / (frame.x[1] - frame.x[0]);
  const yScale = height / (frame.y[1] - frame.y[0]);
  const toX = (position: number) => (position - frame.x[0]) * xScale;
  const toY = (bytes: number) => (bytes - frame.y[0]) * yScale;
  const inside = (value: number, most: number) => Math.min(most, Math.max(0, Math.round(value)));
  return frame.shown.map(({ tile, at, clip }: ShownMap) => ({
    tile,
    xScale: (columnSpan(at.level) / MAP_COLUMNS) * xScale,
    xOffset: toX(at.index * columnSpan(at.level)),
    yScale,
    yOffset: toY(tile.y0),
    clip: [
      inside(toX(clip.x[0]), width),
      inside(toX(clip.x[1]), width),
      inside(toY(clip.y[0]), height),
      inside(toY(clip.y[1]), height),
    ],
  }));
}
