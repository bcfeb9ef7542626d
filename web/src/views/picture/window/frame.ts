// Everything that the layers of one picture need to know, computed once per frame.
import type { Annotation, DeviceInfo, Oom } from "../../../api/contract";
import type { Shape } from "../../../api/tile";
import type { Range } from "../../../state/link/url";
import type { Domain } from "../../../state/recording/domain";
import type { Surface } from "../../../ui/plot";
import type { Sample } from "../tiles/line_sampler";
import type { Shown } from "../tiles/source";

/** CSS pixels of the canvas. */
export interface Plot {
  /** where bands and the plates of out-of-memory events begin */
  head: number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export const GUTTER = 62;
export const AXIS_HEIGHT = 24;
export const LANE_HEIGHT = 16;
export const MAX_LANES = 3;
const HEAD = 4;

/** An out-of-memory event and its position on the axis. */
export interface OomMark {
  position: number;
  oom: Oom;
}

interface HoverMark {
  position: number;
  id: number | null;
}

export interface ShapeMark {
  shape: Shape;
  x0: number;
  column: number;
  slot: number;
}

/** What is drawn above and below every picture of the recording: bands, marks, the lower axis. */
export interface XFrame {
  domain: Domain;
  x: Range;
  plot: Plot;
  annotations: readonly Annotation[];
  lanes: number;
}

export interface Frame extends XFrame {
  device: DeviceInfo;
  y: Range;
  samples: readonly Sample[];
  shown: readonly Shown[];
  ooms: readonly OomMark[];
  /** the cursor, as a position of the axis */
  cursor: number | null;
  hover: HoverMark | null;
  selected: number | null;
  shape: ShapeMark | null;
  /** bytes older than the recording at its start */
  olderBytes: number;
  fittedBytes: boolean;
}

export function toX(frame: Pick<XFrame, "plot" | "x">, position: number): number {
  const { plot, x } = frame;
  return plot.left + ((position - x[0]) / (x[1] - x[0])) * (plot.right - plot.left);
}

export function toY(frame: Pick<Frame, "plot" | "y">, bytes: number): number {
  const { plot, y } = frame;
  return plot.bottom - ((bytes - y[0]) / (y[1] - y[0])) * (plot.bottom - plot.top);
}

export function fromX(frame: Pick<XFrame, "plot" | "x">, pixel: number): number {
  const { plot, x } = frame;
  return x[0] + ((pixel - plot.left) / (plot.right - plot.left)) * (x[1] - x[0]);
}

export function fromY(frame: Pick<Frame, "plot" | "y">, pixel: number): number {
  const { plot, y } = frame;
  return y[0] + ((plot.bottom - pixel) / (plot.bottom - plot.top)) * (y[1] - y[0]);
}

/** Bands, then one lane for the OOM plates if there are no bands. */
export function plotOf(surface: Surface, lanes: number, ooms: boolean): Plot {
  const used = Math.max(lanes, ooms ? 1 : 0);
  return {
    head: HEAD,
    left: GUTTER,
    right: surface.width,
    top: HEAD + used * (LANE_HEIGHT + 1) + 8,
    bottom: surface.height - AXIS_HEIGHT,
  };
}

export function lanesOf(annotations: readonly Annotation[]): number {
  let deepest = -1;
  for (const one of annotations) deepest = Math.max(deepest, one.depth);
  return Math.min(MAX_LANES, deepest + 1);
}
