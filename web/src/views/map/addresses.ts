// Which tiles of the map a view needs. A column of level L is 2^L steps (or µs), a row of level K
// is 2^K bytes of the axis; neither is narrower than a device pixel, so that what a tile calls
// small is small on the screen. Six tiles at most: with 8,000 quads each, less than 50,000 in a
// frame.
import { levelFor, tilesIn } from "../../gl/tile_address";
import type { Range } from "../../state/link/url";

export const MAP_COLUMNS = 1024;
export const MAP_ROWS = 512;
const MAX_TILES = 6;
const MAX_PIXELS_X = 2048;
const MAX_PIXELS_Y = 1024;

export interface MapView {
  x: Range;
  y: Range;
  /** device pixels */
  width: number;
  height: number;
}

export interface MapAddress {
  level: number;
  index: number;
  rowLevel: number;
  row: number;
}

export function columnSpan(level: number): number {
  return MAP_COLUMNS * 2 ** level;
}

export function rowSpan(rowLevel: number): number {
  return MAP_ROWS * 2 ** rowLevel;
}

/** Tiles of the view, those in the middle first. `end` and `axisBytes`: what there is. */
export function mapAddresses(view: MapView, end: number, axisBytes: number): MapAddress[] {
  const { x, y } = view;
  const pixels = (size: number, most: number) => Math.max(1, Math.min(size, most));
  let level = levelFor((x[1] - x[0]) / pixels(view.width, MAX_PIXELS_X));
  let rowLevel = levelFor((y[1] - y[0]) / pixels(view.height, MAX_PIXELS_Y));
  const indices = () => tilesIn(x[0], x[1], columnSpan(level), end);
  const rows = () => tilesIn(y[0], y[1], rowSpan(rowLevel), axisBytes);
  while (indices().length * rows().length > MAX_TILES) {
    if (rows().length >= indices().length) rowLevel += 1;
    else level += 1;
  }
  const out = indices().flatMap((index) => rows().map((row) => ({ level, index, rowLevel, row })));
  const away = (one: MapAddress) =>
    Math.abs((one.index + 0.5) * columnSpan(level) - (x[0] + x[1]) / 2) / (x[1] - x[0]) +
    Math.abs((one.row + 0.5) * rowSpan(rowLevel) - (y[0] + y[1]) / 2) / (y[1] - y[0]);
  return out.sort((a, b) => away(a) - away(b));
}

export interface Box {
  x: Range;
  y: Range;
}

export function boxOf(at: MapAddress): Box {
  const [wide, tall] = [columnSpan(at.level), rowSpan(at.rowLevel)];
  return {
    x: [at.index * wide, (at.index + 1) * wide],
    y: [at.row * tall, (at.row + 1) * tall],
  };
}

export function touches(a: Box, b: Box): boolean {
  return a.x[0] < b.x[1] && a.x[1] > b.x[0] && a.y[0] < b.y[1] && a.y[1] > b.y[0];
}

export function covers(a: Box, b: Box): boolean {
  return a.x[0] <= b.x[0] && a.x[1] >= b.x[1] && a.y[0] <= b.y[0] && a.y[1] >= b.y[1];
}
