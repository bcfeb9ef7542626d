// What both painters of the address map can do, and the colours they share.
//
//   bare surface      not owned at that time
//   tint              owned and free: a hole
//   ramp of sizes     live; where rectangles are smaller than a pixel, as much as they cover
import { type Hue, MapFlag, type MapQuad, type MapTile } from "../api/map";
import { FILTERED, PALETTE_SIZE, QuadColour, SIZE_RAMP, sizeStepOf } from "./colour_rules";
import { mix, palette, parseHex, type Rgb, type Token } from "./colours";

/**
 * Where a tile lies, in device pixels: x = scale × column + offset, heights from the lower edge.
 */
export interface PlacedMap {
  tile: MapTile;
  xScale: number;
  xOffset: number;
  yScale: number;
  yOffset: number;
  /** left, right, lower and upper edge of what it may touch */
  clip: readonly [number, number, number, number];
}

export interface MapLook {
  palette: readonly Rgb[];
  tint: Rgb;
  outline: Rgb;
  mode: Hue;
  /** the ramp of sizes: log2 of the bytes at its lower and upper end */
  ramp: readonly [number, number];
  /** what was live at an out-of-memory is red */
  red: boolean;
  /** the tiles were asked with that as the filter, so that it is known for small blocks as well */
  redCells: boolean;
  mark: "none" | "fade" | "only";
}

export interface MapPainter {
  readonly name: string;
  resize(width: number, height: number, ratio: number): void;
  draw(tiles: readonly PlacedMap[], look: MapLook): void;
  forget(tile: MapTile): void;
  dispose(): void;
}

/** After the palette of the timeline: six steps for what was live at an out-of-memory. */
export const RED_RAMP = PALETTE_SIZE;
export const RED_STEPS = 6;
export const MAP_PALETTE_SIZE = PALETTE_SIZE + RED_STEPS;
/** Of the small blocks that have no rectangle of their own. */
export const SMALL = SIZE_RAMP + 2;
export const RED_SMALL = RED_RAMP + 2;

export function mapPalette(token: Token, dark: boolean): Rgb[] {
  const red = [1, 2, 3, 4, 5, 6].map((step) => parseHex(token(`oomr-${step}`)));
  return [...palette(token, dark), ...red];
}

const RAMP_OCTAVES = 12;

/** Where the ramp of sizes begins and ends: what is large is large beside all that was owned. */
export function rampOf(axisBytes: number): readonly [number, number] {
  const high = Math.max(RAMP_OCTAVES, Math.round(Math.log2(Math.max(1, axisBytes))) - 3);
  return [high - RAMP_OCTAVES, high];
}

const quadColour = new QuadColour();

/** Index into the palette. */
export function mapColourIndex(
  quad: MapQuad,
  look: Pick<MapLook, "mode" | "red" | "redCells" | "ramp">,
): number {
  if (!look.redCells && (quad.flags & MapFlag.filtered) !== 0) return FILTERED;
  if (look.red && (quad.flags & MapFlag.atOom) !== 0) {
    return RED_RAMP + sizeStepOf(quad.log2Bytes, RED_STEPS, look.ramp);
  }
  quadColour.sizeEnds = look.ramp;
  return quadColour.set(look.mode, quad, false, 0).colour;
}

export function mapFill(quad: MapQuad, look: MapLook): Rgb {
  const plain = look.palette[mapColourIndex(quad, look)] ?? [128, 128, 128];
  const grey = look.palette[FILTERED] ?? [128, 128, 128];
  if ((quad.flags & MapFlag.marked) !== 0 || look.mark === "none") return plain;
  return look.mark === "only" ? grey : mix(plain, grey, 0.28);
}

/** Share of a cell with the smallest hole: it differs from a full cell. */
export const MAX_WITH_HOLE = 0.88;

/** Colour and opacity of a cell: how much is covered, owned, and passes the filter, 0…255. */
export function cellColour(
  [covered, owned, passing]: readonly [number, number, number],
  look: MapLook,
): readonly [Rgb, number] {
  if (covered === 0 && owned === 0) return [look.tint, 0];
  const grey = look.palette[FILTERED] ?? [128, 128, 128];
  const small = look.palette[SMALL] ?? [128, 128, 128];
  const passes = covered === 0 ? 0 : Math.min(1, passing / covered);
  const red = look.palette[RED_SMALL] ?? [128, 128, 128];
  const live = look.redCells
    ? mix(red, small, passes)
    : mix(small, grey, look.mark === "none" ? passes : 0.28);
  const share = covered === 255 ? 1 : (covered / 255) * MAX_WITH_HOLE;
  // what is owned for a part of the cell only is fainter
  const alpha = Math.max(covered > 0 ? 0.3 : 0, Math.max(owned, covered) / 255);
  return [mix(live, look.tint, share), alpha];
}
