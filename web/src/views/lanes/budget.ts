// Every lane in sight asks for its own tiles; together they stay within the quads of one frame.
import { columnsPerPicture, FRAME_QUADS, fitting, quadsPerTile } from "../../gl/quad_budget";
import type { Range } from "../../state/url";
import type { Ask, Choice, Shown, Source } from "../timeline/source";
import type { LaneFrame, Row } from "./lane_frame";

/** A lane in sight, what it asks, and who answers. */
export interface LaneAsk {
  row: Row;
  ask: Ask;
  source: Source;
}

export interface AsksOf {
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
  const columns = columnsPerPicture(of.rows.length);
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
      columns,
    };
    return [{ row, ask, source }];
  });
  const quads = quadsPerTile(list.reduce((sum, { ask, source }) => sum + source.count(ask), 0));
  return list.map((one) => ({ ...one, ask: { ...one.ask, quads } }));
}

const quadsOf = (one: Shown) => one.tile.quads;

export function quadsIn(list: readonly Shown[]): number {
  return list.reduce((total, one) => total + quadsOf(one), 0);
}

/** The tiles that were asked for always fit together; what stands in for them may not. */
export function withinBudget(frames: readonly LaneFrame[]): LaneFrame[] {
  const all = frames.flatMap(({ shown }) => shown);
  const exact = quadsIn(all.filter((one) => !one.standsIn));
  const others = all.filter((one) => one.standsIn);
  const kept = fitting(others, FRAME_QUADS - exact, quadsOf);
  return frames.map((frame) => ({
    ...frame,
    shown: frame.shown.filter((one) => !one.standsIn || kept.has(one)),
  }));
}
