// Everything that the layers of the map need to know, computed once per frame.
import type { Range } from "../../state/link/url";
import type { OomMark, Plot, XFrame } from "../picture/window/frame";
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
