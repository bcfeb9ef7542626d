// Everything that the painter and the layers of the map need to know, computed once per frame.
import type { PlacedMap } from "../../gl/map_painter";
import type { Range } from "../../state/link/url";
import type { OomMark, Plot, XFrame } from "../picture/window/frame";
import { columnSpan, MAP_COLUMNS } from "./addresses";
import type { AddressAxis } from "./axis";
import type { ShownMap } from "./source";

/** A rectangle on both axes. */
export interface MapRect {
  x: Range;
  y: Range;
}

export interface MapFrame extends XFrame {
  y: Range;
  axis: AddressAxis;
  shown: readonly ShownMap[];
  ooms: readonly OomMark[];
  cursor: number | null;
  hover: number | null;
  selected: MapRect | null;
  hovered: MapRect | null;
}

export function insidePlot(plot: Plot, x: number, y: number): boolean {
  return x >= plot.left && x < plot.right && y >= plot.top && y <= plot.bottom;
}

/**
 * Where each tile lies, in device pixels of a canvas that is `width` × `height`: a pan changes
 * these numbers only.
 */
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
