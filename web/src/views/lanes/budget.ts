// Every lane in sight asks for its own tiles; together they stay within the quads of one frame.
import { columnsPerPicture, quadsPerTile } from "../../gl/quad_budget";
import type { Range } from "../../state/link/url";
import { type Ask, type Choice, drawnOf, type Source } from "../picture/tiles/source";
import type { LaneFrame, Row } from "./lane_frame";

/** A lane in sight, what it asks, and who answers. */
export interface LaneAsk {
  row: Row;
  ask: Ask;
  source: Source;
}

interface AsksOf {
  rows: readonly Row[];
  sourceOf: (key: string) => Source | undefined;
  /** window of the shared axis, and what lanes show of their bytes */
  x: Range;
  bytesOf: (row: Row) => Range;
  choiceOf: (row: Row) => Choice;
  /** device pixels */
  width: number;
}

export function shift([low, high]: Range, by: number): Range {
  return [low + by, high + by];
}

export function asksOf(of: AsksOf): LaneAsk[] {
  const list = of.rows.flatMap((row): LaneAsk[] => {
    const source = of.sourceOf(row.lane.key);
    if (!source || !row.lane.domain || row.height <= 0) return [];
    const ask: Ask = {
      x: shift(of.x, -row.lane.offset),
      y: of.bytesOf(row),
      width: of.width,
      height: row.height,
      choice: of.choiceOf(row),
      quads: 0,
      columns: 1,
    };
    return [{ row, ask, source }];
  });
  const strips = list.reduce((sum, { ask, source }) => sum + source.rows(ask), 0);
  const columns = columnsPerPicture(strips);
  const wide = list.map((one) => ({ ...one, ask: { ...one.ask, columns } }));
  const quads = quadsPerTile(wide.reduce((sum, { ask, source }) => sum + source.count(ask), 0));
  return wide.map((one) => ({ ...one, ask: { ...one.ask, quads } }));
}

/** What is drawn of them all, within the quads of one frame. */
export function withinBudget(frames: readonly LaneFrame[]): LaneFrame[] {
  const kept = new Set(drawnOf(frames.flatMap(({ shown }) => shown)));
  return frames.map((frame) => ({ ...frame, shown: frame.shown.filter((one) => kept.has(one)) }));
}
