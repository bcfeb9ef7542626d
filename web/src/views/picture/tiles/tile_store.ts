// Tiles and lines that have arrived or are requested, for every device on the screen. A picture has
// one store, however many recordings it shows: one bound for what is kept, one order of requests.

import { getBuffer, type Params } from "../../../api/client";
import { decodeLines, decodeTile, type Lines, type Tile } from "../../../api/tile";
import { AnswerCache, type Want } from "../../../gl/answer_cache";

/** A tile and where it belongs. */
export interface Held {
  tile: Tile;
  place: string;
  /** which reading of a recording that grows; 0: as it was opened */
  gen: number;
  level: number;
  index: number;
  rowLevel: number;
  row: number;
  /** mark, filter, most quads */
  choice: string;
}

type StackPlace = Pick<Held, "place" | "level" | "index">;

export interface Wants {
  tiles: readonly Want<Held>[];
  lines: readonly Want<Lines>[];
}

const TILE_LIMIT_BYTES = 96 * 1024 * 1024;
const LINE_LIMIT_BYTES = 16 * 1024 * 1024;
const PLAIN_TILE_BYTES = 512;
const NONE: ReadonlySet<Held> = new Set();

export class TileStore {
  private readonly tiles: AnswerCache<Held>;
  private readonly lines: AnswerCache<Lines>;
  /** every held tile by place, level and index, whatever its height and mark */
  private readonly stacked = new Map<string, Set<Held>>();

  constructor(
    onArrival: (tile: Tile | null) => void,
    onForget: (tile: Tile) => void,
    onError: (error: unknown) => void,
  ) {
    this.tiles = new AnswerCache<Held>(
      TILE_LIMIT_BYTES,
      (held) => held.tile.words.byteLength + PLAIN_TILE_BYTES,
      (_key, held) => {
        this.keep(held);
        onArrival(held.tile);
      },
      (held) => {
        this.drop(held);
        onForget(held.tile);
      },
      onError,
    );
    this.lines = new AnswerCache<Lines>(
      LINE_LIMIT_BYTES,
      (one) => one.columns * 44,
      () => onArrival(null),
      () => {},
      onError,
    );
  }

  get waiting(): number {
    return this.tiles.inFlight + this.lines.inFlight;
  }

  /** Everything that is wanted now, most urgent first; what is not listed is given up. */
  want({ tiles, lines }: Wants): void {
    this.lines.want(lines);
    this.tiles.want(tiles);
  }

  dispose(): void {
    this.tiles.clear();
    this.lines.clear();
  }

  tile(key: string): Held | undefined {
    return this.tiles.get(key);
  }

  linesOf(key: string): Lines | undefined {
    return this.lines.get(key);
  }

  stackOf(at: StackPlace): ReadonlySet<Held> {
    return this.stacked.get(stackKey(at)) ?? NONE;
  }

  private keep(held: Held): void {
    const key = stackKey(held);
    const stack = this.stacked.get(key);
    if (stack) stack.add(held);
    else this.stacked.set(key, new Set([held]));
  }

  private drop(held: Held): void {
    const key = stackKey(held);
    const stack = this.stacked.get(key);
    stack?.delete(held);
    if (stack?.size === 0) this.stacked.delete(key);
  }
}

export function wantLines(key: string, params: Params): Want<Lines> {
  return { key, load: async (signal) => decodeLines(await getBuffer("lines", params, signal)) };
}

export function wantTile(key: string, params: Params, at: Omit<Held, "tile">): Want<Held> {
  return {
    key,
    load: async (signal) => ({ ...at, tile: decodeTile(await getBuffer("tile", params, signal)) }),
  };
}

function stackKey(at: StackPlace): string {
  return `${at.place}/${at.level}/${at.index}`;
}
