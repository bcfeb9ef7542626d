// What is drawn around the blocks of the lanes, and over all lanes: the axis, the cursor.

import type { Range } from "../../state/link/url";
import type { Domain } from "../../state/recording/domain";
import { timeTickLabel } from "../../text/ticks";
import { bytesText, integer } from "../../text/units";
import { font, horizontal, label, plate, type Surface, vertical } from "../../ui/plot";
import { clip, drawBack } from "../picture/layers/back_layer";
import { drawBands } from "../picture/layers/bands";
import { drawCeiling, drawLines, drawPeak, drawTornEdge } from "../picture/layers/front_layer";
import { drawGaps } from "../picture/layers/gaps";
import { drawOoms, drawPlates } from "../picture/layers/ooms";
import { drawSelected, veilHovered } from "../picture/layers/selected";
import { drawAxis } from "../picture/layers/x_axis";
import { sampleAt } from "../picture/tiles/line_sampler";
import { type Plot, toX } from "../picture/window/frame";
import { type LaneFrame, type Row, TALL, TALLER } from "./lane_frame";

const LABELS_APART = 34;

function within(s: Surface, { top, bottom }: Row, lanesBottom: number, draw: () => void): void {
  s.c.save();
  s.c.beginPath();
  s.c.rect(0, Math.max(0, top), s.width, Math.min(lanesBottom, bottom) - Math.max(0, top));
  s.c.clip();
  draw();
  s.c.restore();
}

export function drawLaneBack(s: Surface, frame: LaneFrame, lanesBottom: number): void {
  const { row } = frame;
  within(s, row, lanesBottom, () =>
    drawBack(s, frame, row.plot.bottom - row.plot.top < TALL ? LABELS_APART : undefined),
  );
}

/** A lane that has no place on this axis says why. */
export function drawNoLane(s: Surface, row: Row, lanesBottom: number): void {
  within(s, row, lanesBottom, () => {
    font(s, 12);
    const text = `Not shown: ${row.lane.because ?? ""}`;
    label(s, text, row.plot.left + 10, (row.top + row.bottom) / 2, { colour: s.token("ink-2") });
  });
}

export function drawLaneFront(s: Surface, frame: LaneFrame, lanesBottom: number): void {
  const { row, plot } = frame;
  const words = row.bottom - row.top >= TALLER;
  within(s, row, lanesBottom, () => {
    s.c.save();
    clip(s, frame);
    drawLines(s, frame);
    drawCeiling(s, frame, words);
    veilHovered(s, frame);
    drawSelected(s, frame);
    drawPeak(s, frame, words);
    s.c.restore();
    if (frame.y[0] > 0) drawTornEdge(s, frame);
    horizontal(s, plot.left, plot.right, plot.bottom, s.token("axis"));
    drawBands(s, frame);
    drawGaps(s, frame);
    if (words) drawOoms(s, frame);
    else drawOomLines(s, frame);
    drawPlaces(s, frame);
  });
}

/** Where a comparison looks, with its name. */
function drawPlaces(s: Surface, frame: LaneFrame): void {
  const { plot, x } = frame;
  for (const { position, text } of frame.places) {
    if (position < x[0] || position > x[1]) continue;
    const at = toX(frame, position);
    vertical(s, at, plot.top, plot.bottom, s.token("ink"), [3, 3], 1.5);
    font(s, 11, 500);
    const room = at + s.c.measureText(text).width + 24 < plot.right;
    plate(s, text, room ? at + 5 : at - 5, plot.top + 9, { align: room ? "left" : "right" });
  }
}

function drawOomLines(s: Surface, frame: LaneFrame): void {
  const { plot, x } = frame;
  const seen = frame.ooms.filter(({ position }) => position >= x[0] && position <= x[1]);
  for (const { position } of seen) {
    vertical(s, toX(frame, position), plot.top, plot.bottom, s.token("danger"), [], 1.5);
  }
  drawPlates(s, frame, seen);
}

/** What is drawn over all lanes. */
export interface Over {
  domain: Domain;
  x: Range;
  plot: Plot;
  /** position of the cursor, and what it is called */
  cursor: number | null;
  hover: number | null;
}

export function drawOver(s: Surface, over: Over, frames: readonly LaneFrame[]): void {
  const { plot } = over;
  const taken = over.cursor === null ? null : drawCursorPlate(s, over, over.cursor);
  drawAxis(s, { ...over, annotations: [], lanes: 0 }, taken ?? undefined);
  if (over.hover === null) return;
  const x = toX(over, over.hover);
  vertical(s, x, plot.top, plot.bottom, s.token("ink-2"), [2, 2]);
  for (const frame of frames) drawReading(s, frame, over.hover, plot.bottom);
}

/** One line through all lanes, below what is drawn of each. */
export function drawCursor(s: Surface, { plot, x, cursor }: Over): void {
  if (cursor === null || cursor < x[0] || cursor > x[1]) return;
  vertical(s, toX({ plot, x }, cursor), plot.top, plot.bottom, s.token("ink"), [3, 3]);
}

function drawCursorPlate(s: Surface, over: Over, position: number) {
  const { plot, domain, x } = over;
  if (position < x[0] || position > x[1]) return null;
  const text =
    domain.axis === "step"
      ? `step ${integer(Math.floor(position))}`
      : timeTickLabel(position, (x[1] - x[0]) / 1000);
  return plate(s, text, toX(over, position), plot.bottom + 13, { align: "center" });
}

/** The level under the pointer in every lane, beside the line. */
function drawReading(s: Surface, frame: LaneFrame, hover: number, lanesBottom: number): void {
  const own = hover - frame.row.lane.offset;
  const sample = sampleAt(frame.samples, own);
  const y = frame.plot.bottom - 11;
  if (!sample || Number.isNaN(sample.activeMax) || y < 8 || y + 8 > lanesBottom) return;
  const x = toX(frame, own);
  const text = bytesText(sample.activeMax);
  font(s, 11, 500);
  const room = x - frame.plot.left > s.c.measureText(text).width + 18;
  plate(s, text, room ? x - 5 : x + 5, y, { align: room ? "right" : "left" });
}
