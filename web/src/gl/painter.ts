// What both painters of the stacked blocks can do. A frame is a list of tiles with where they lie
// on the picture; the tiles themselves do not change once they are here.
import type { Tile } from "../api/tile";
import { type ColourBy, parseHex, type Rgb } from "./colours";

/** Where a tile lies: pixel = scale × column + offset; heights count from the lower edge. */
export interface Placed {
  tile: Tile;
  xScale: number;
  xOffset: number;
  yScale: number;
  yOffset: number;
  /** device pixels, half open: what this tile may touch, from left to right and from below */
  clip: readonly [number, number];
  rows: readonly [number, number];
}

/** Keys that the legend has switched off. `rest` stands for everything that is not listed. */
export interface Filter {
  listed: ReadonlySet<number>;
  hidden: ReadonlySet<number>;
  restHidden: boolean;
}

export interface Look {
  palette: readonly Rgb[];
  /** straight alpha, 0…255 and 0…1 */
  seam: readonly [number, number, number, number];
  by: ColourBy;
  filter: Filter;
  mark: "none" | "fade" | "only";
}

/** Tiles of one recording; several of them can share a canvas. */
export interface Picture {
  tiles: readonly Placed[];
  look: Look;
}

/** The canvas of a painter, in device pixels. */
export abstract class OnCanvas {
  protected ratio = 1;
  private drawn: readonly unknown[] = [];

  constructor(protected readonly canvas: HTMLCanvasElement) {}

  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    if (this.canvas.width === width && this.canvas.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
  }

  /**
   * Whether the canvas shows this already: a cursor that moves redraws the layers above, not the
   * blocks. `parts`: numbers, and objects that do not change.
   */
  protected shows(parts: readonly unknown[]): boolean {
    const now = [this.canvas.width, this.canvas.height, this.ratio, ...parts];
    const same = now.length === this.drawn.length && now.every((one, i) => one === this.drawn[i]);
    this.drawn = now;
    return same;
  }
}

/** What `shows` compares of a tile: all of it. */
export function placeOf(placed: object): unknown[] {
  return Object.values(placed).flat();
}

export interface Painter {
  /** for the status bar: "WebGL", "software WebGL", "Canvas" */
  readonly name: string;
  resize(width: number, height: number, ratio: number): void;
  draw(pictures: readonly Picture[]): void;
  forget(tile: Tile): void;
  dispose(): void;
}

export const NO_FILTER: Filter = { listed: new Set(), hidden: new Set(), restHidden: false };

export function isFiltering(filter: Filter): boolean {
  return filter.restHidden || filter.hidden.size > 0;
}

export function isHidden(key: number, filter: Filter): boolean {
  if (key >= 0 && filter.hidden.has(key)) return true;
  return filter.restHidden && !(key >= 0 && filter.listed.has(key));
}

/** "rgba(255, 255, 255, .42)" or "#ffffff6b" (what minifiers make of it). */
export function parseRgba(text: string): [number, number, number, number] {
  const hex = /^#([0-9a-f]{6})([0-9a-f]{2})?$/i.exec(text.trim());
  if (hex) {
    const [r, g, b] = parseHex(`#${hex[1]}`);
    return [r, g, b, hex[2] === undefined ? 1 : Number.parseInt(hex[2], 16) / 255];
  }
  const parts = text.match(/[\d.]+/g)?.map(Number) ?? [];
  return [parts[0] ?? 0, parts[1] ?? 0, parts[2] ?? 0, parts[3] ?? 1];
}
