// The frame of each lane in sight: the timeline's own, in a strip of the picture.
//
//   │ rank 0 │  ▂▃▅▆▇█ │ ← row 0, top = 0 − scrolled
//   │ rank 1 │ ▂▃▅▆▇█  │ ← row 1, the same scale
//   └────────┴─────────┘ ← the axis, once
import type { Annotation } from "../../api/contract";
import type { Range } from "../../state/link/url";
import { type Domain, domainOf } from "../../state/recording/domain";
import type { LaneLayout } from "../../state/recording/lane_order";
import type { PlacedLane } from "../../state/recording/lanes";
import { oomMarks } from "../picture/layers/ooms";
import {
  lanesOf as bandLanes,
  type Frame,
  GUTTER,
  LANE_HEIGHT,
  type Plot,
} from "../picture/window/frame";
import { fittedBytes } from "../picture/window/window";

/** A lane in sight. CSS pixels; `height` is that of its picture in device pixels. */
export interface Row {
  lane: PlacedLane;
  top: number;
  bottom: number;
  plot: Plot;
  bands: number;
  height: number;
}

export interface LaneFrame extends Frame {
  row: Row;
  domain: Domain;
  /** places of this lane alone, on its own axis */
  places: readonly Place[];
}

/** A position with a name: where a comparison looks. */
export interface Place {
  position: number;
  text: string;
}

const ABOVE = 9;
const BELOW = 7;
/** From here on there is room for phases, and for words in the picture. */
export const TALL = 150;
export const TALLER = 320;

interface RowsOf {
  lanes: readonly PlacedLane[];
  layout: LaneLayout;
  scrollTop: number;
  width: number;
  /** of the part that the lanes fill */
  height: number;
  ratio: number;
  annotationsOf: (lane: PlacedLane) => readonly Annotation[];
}

export function rowsInSight(of: RowsOf): Row[] {
  const { layout, ratio } = of;
  const scrolled = Math.max(0, Math.min(of.scrollTop, layout.total - of.height));
  return of.lanes.slice(layout.first, layout.last).map((lane, i) => {
    const top = Math.round((layout.first + i) * layout.height - scrolled);
    const bottom = top + layout.height;
    const most = layout.height >= TALLER ? 2 : layout.height >= TALL ? 1 : 0;
    const bands = Math.min(most, bandLanes(of.annotationsOf(lane)));
    const head = top + (bands > 0 ? 5 : 3);
    const plot = {
      head,
      left: GUTTER,
      right: of.width,
      top: bands > 0 ? head + bands * (LANE_HEIGHT + 1) + 5 : top + ABOVE,
      bottom: bottom - BELOW,
    };
    const height = Math.round((plot.bottom - plot.top) * ratio);
    return { lane, top, bottom, plot, bands, height };
  });
}

/** The lane at a height of the picture, whose lanes end at `bottom`: below it the axis is drawn. */
export function rowAt(rows: readonly Row[], pixelY: number, bottom: number): Row | null {
  if (pixelY >= bottom) return null;
  return rows.find((row) => pixelY >= row.top && pixelY < row.bottom) ?? null;
}

/** What a lane reaches, with what its requests would have needed. */
export function reachOf({ device }: PlacedLane): Range {
  const peak = Math.max(device.peak.reserved.bytes, device.peak.active.bytes);
  const ooms = oomMarks(device, domainOf(device, "step"));
  return fittedBytes([], ooms, [-Infinity, Infinity], device.ceiling_bytes, peak);
}

/** One scale for all: that of the lane that reaches highest. */
export function commonReach(lanes: readonly PlacedLane[]): Range {
  return [0, lanes.reduce((most, lane) => Math.max(most, reachOf(lane)[1]), 4096)];
}
