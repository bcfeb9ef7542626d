// A frame draws at most 50,000 quads, however many recordings it shows: its tiles share them.
// Steps of two, so that a tile more or less in sight does not change what every other one is asked
// with.
//
//   6 tiles → 8,000 each      12 tiles → 4,000 each      24 tiles → 2,000 each

import { TILE_COLUMNS } from "./tile_address";

export const MAX_TILE_QUADS = 8000;
export const FRAME_QUADS = 50_000;
/** However much the engine merges, two of them may be left in each column. */
const MIN_TILE_QUADS = 2 * TILE_COLUMNS;
const MAX_TILES = Math.floor(FRAME_QUADS / MIN_TILE_QUADS);

/** However wide the screen is. */
export const MAX_TILES_ACROSS = 6;

/** The most quads that each of `tiles` tiles may have. */
export function quadsPerTile(tiles: number): number {
  let most = MAX_TILE_QUADS;
  while (most >= MIN_TILE_QUADS && most * tiles > FRAME_QUADS) most /= 2;
  return most;
}

/**
 * The most columns of a picture, so that what is seen stays in the budget. `strips`: rows of tiles
 * in all pictures together; one that is cut in two by bytes has two of them.
 */
export function columnsPerPicture(strips: number): number {
  // a view that does not begin where a tile does touches one more
  const tiles = Math.min(MAX_TILES_ACROSS, Math.floor(MAX_TILES / Math.max(1, strips)));
  return Math.max(1, tiles - 1) * TILE_COLUMNS;
}

/** Stand-ins for missing tiles were requested with another budget: they may not fit. */
export function fitting<T>(list: readonly T[], left: number, quadsOf: (one: T) => number): Set<T> {
  let rest = left;
  const fits = (one: T) => {
    const quads = quadsOf(one);
    if (quads > rest) return false;
    rest -= quads;
    return true;
  };
  return new Set(list.filter(fits));
}
