// A frame draws at most 50,000 quads, however many recordings stand in it: its tiles share them.
// Steps of two, so that a tile more or less in sight does not change what every other one is asked
// with.
//
//   6 tiles → 8,000 each      24 tiles → 2,000 each      90 tiles → 500 each

export const MOST_TILE_QUADS = 8000;
export const FRAME_QUADS = 50_000;
const LEAST_TILE_QUADS = 125;

/** The most quads that each of `tiles` tiles may have. */
export function quadsPerTile(tiles: number): number {
  let most = MOST_TILE_QUADS;
  while (most > LEAST_TILE_QUADS && most * tiles > FRAME_QUADS) most /= 2;
  return most;
}

/** The first of the list whose quads fit into a frame together; the rest waits for its own tiles. */
export function withinFrame<T>(list: readonly T[], quadsOf: (one: T) => number): T[] {
  let left = FRAME_QUADS;
  return list.filter((one) => {
    const quads = quadsOf(one);
    if (quads > left) return false;
    left -= quads;
    return true;
  });
}
