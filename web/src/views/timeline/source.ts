// Brings tiles and lines of one device to the screen: knows the addresses, asks for what is seen and
// its neighbours, and finds a stand-in for what has not arrived.
import { getBuffer, type Params } from "../../api/client";
import { type FrozenDevice, frozenDevice, frozenTile } from "../../api/frozen";
import { decodeLines, decodeTile, type Lines, type Tile } from "../../api/tile";
import { AnswerCache, type Want } from "../../gl/answer_cache";
import {
  coarsestLevel,
  levelFor,
  middleOut,
  parentsOf,
  rowLevelFor,
  rowSpan,
  TILE_COLUMNS,
  TILE_ROWS,
  tileSpan,
  tilesIn,
} from "../../gl/tile_address";
import type { Domain } from "../../state/domain";
import type { Range } from "../../state/url";
import type { LineTile } from "./line_sampler";

export interface Place {
  file: number;
  device: number;
}

/** A tile and the part of the axis that it shall fill. */
export interface Shown {
  tile: Tile;
  /** position of column 0 and width of a column, from the domain's base */
  x0: number;
  column: number;
  from: number;
  to: number;
}

interface Held {
  tile: Tile;
  place: string;
  level: number;
  index: number;
  rowLevel: number;
  row: number;
  choice: string;
}

type StackPlace = Pick<Held, "place" | "level" | "index">;
const NONE: ReadonlySet<Held> = new Set();

/** What a tile flags: members of a mark, and what a filter does not let pass. */
export interface Choice {
  mark: number | null;
  filter: string | null;
}

export interface Ask {
  x: Range;
  y: Range;
  /** device pixels */
  width: number;
  height: number;
  choice: Choice;
}

function choiceKey({ mark, filter }: Choice): string {
  return `${mark ?? ""}/${filter ?? ""}`;
}

const TILE_LIMIT_BYTES = 96 * 1024 * 1024;
const LINE_LIMIT_BYTES = 16 * 1024 * 1024;
const PLAIN_TILE_BYTES = 512;
/** Six tiles of at most 8,000 quads: less than 50,000 in a frame, however wide the screen is. */
const MOST_COLUMNS = 2560;

export class Source {
  private readonly tiles: AnswerCache<Held>;
  private readonly lines: AnswerCache<Lines>;
  /** every held tile by place, level and index, whatever its height and mark */
  private readonly stacked = new Map<string, Set<Held>>();
  private place: Place = { file: 0, device: 0 };
  private domain: Domain = { axis: "step", base: 0, end: 1, room: 1, least: 1 };
  /** an exported page holds the tiles of some levels, in rows of one height */
  private held: FrozenDevice | null = null;

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

  setPlace(place: Place, domain: Domain): void {
    this.place = place;
    this.domain = domain;
    this.held = frozenDevice(place.device);
  }

  dispose(): void {
    this.tiles.clear();
    this.lines.clear();
  }

  /** Asks for what is seen, then for what will probably be seen next. */
  want(ask: Ask): void {
    const { level, rowLevel, indices, rows } = this.addresses(ask);
    const urgent = middleOut(indices);
    if (this.held) {
      this.wantHeld(this.held, level, urgent, ask.choice);
      return;
    }
    const next = [(indices[0] ?? 0) - 1, (indices.at(-1) ?? 0) + 1].filter(
      (index) => index >= 0 && index * tileSpan(level) < this.domain.end,
    );
    const tiles = (list: readonly number[], at: number, of: readonly number[], ahead = true) =>
      list.flatMap((index) =>
        of.map((row) => ({ ...this.tileWant(at, index, rowLevel, row, ask.choice), ahead })),
      );
    this.lines.want([
      ...urgent.map((index) => this.lineWant(level, index)),
      this.lineWant(this.coarsest(), 0),
      ...next.map((index) => ({ ...this.lineWant(level, index), ahead: true })),
    ]);
    const parents = level < this.coarsest() ? [...new Set(indices.map((i) => i >> 1))] : [];
    this.tiles.want([
      ...tiles(urgent, level, rows, false),
      ...tiles(next, level, rows),
      ...(rows.length === 1 ? tiles(parents.slice(0, 2), level + 1, rows) : []),
    ]);
  }

  /** In an exported page: what is in it, or the coarser tile that is. */
  private wantHeld(of: FrozenDevice, level: number, indices: readonly number[], choice: Choice) {
    const there = indices.map((index) => frozenTile(of, level, index, TILE_COLUMNS));
    const each = [...new Map(there.map((at) => [`${at.level}/${at.index}`, at])).values()];
    this.lines.want([
      ...each.map((at) => this.lineWant(at.level, at.index)),
      this.lineWant(this.coarsest(), 0),
    ]);
    this.tiles.want(each.map((at) => this.tileWant(at.level, at.index, of.row_level, 0, choice)));
  }

  /** What to draw now, in this order. */
  shown(ask: Ask): Shown[] {
    const { level, rowLevel, indices, rows } = this.addresses(ask);
    const out: Shown[] = [];
    for (const index of indices) {
      const [from, to] = [index * tileSpan(level), (index + 1) * tileSpan(level)];
      const exact = rows.map((row) =>
        this.tiles.get(this.tileKey(level, index, rowLevel, row, ask.choice)),
      );
      if (exact.includes(undefined)) {
        out.push(...this.standIn(level, index, ask).map((held) => this.show(held, from, to)));
      }
      for (const held of exact) if (held) out.push(this.show(held, from, to));
    }
    return out;
  }

  lineTiles(ask: Ask): LineTile[] {
    const { level, indices } = this.addresses(ask);
    const out: LineTile[] = [];
    for (const index of indices) {
      const [from, to] = [index * tileSpan(level), (index + 1) * tileSpan(level)];
      const family = [{ level, index }, ...parentsOf(level, index, this.coarsest())];
      for (const one of family) {
        const lines = this.lines.get(this.lineKey(one.level, one.index));
        if (!lines) continue;
        const column = 2 ** one.level;
        out.push({ lines, x0: one.index * tileSpan(one.level), column, from, to });
        break;
      }
    }
    return out;
  }

  /** The whole recording in at most 512 columns: for the minimap. */
  coarse(): LineTile | null {
    const level = this.coarsest();
    const lines = this.lines.get(this.lineKey(level, 0));
    return lines ? { lines, x0: 0, column: 2 ** level, from: 0, to: tileSpan(level) } : null;
  }

  private coarsest(): number {
    return coarsestLevel(this.domain.end);
  }

  private addresses(ask: Ask) {
    const unitsPerPixel = (ask.x[1] - ask.x[0]) / Math.max(1, ask.width);
    const finest = this.held?.finest_level ?? 0;
    const least = Math.max(finest, levelFor((ask.x[1] - ask.x[0]) / MOST_COLUMNS));
    const level = Math.min(this.coarsest(), Math.max(least, levelFor(unitsPerPixel)));
    const wanted = rowLevelFor((ask.y[1] - ask.y[0]) / Math.max(1, ask.height));
    const rowLevel = this.held?.row_level ?? wanted;
    const rows = this.held
      ? [0]
      : tilesIn(ask.y[0], ask.y[1], rowSpan(rowLevel), Number.MAX_SAFE_INTEGER);
    const indices = tilesIn(ask.x[0], ask.x[1], tileSpan(level), this.domain.end);
    return { level, rowLevel, rows, indices };
  }

  private placeKey(): string {
    return `${this.place.file}/${this.place.device}/${this.domain.axis}`;
  }

  private lineKey(level: number, index: number): string {
    return `${this.placeKey()}/${level}/${index}`;
  }

  private tileKey(level: number, index: number, k: number, row: number, choice: Choice) {
    return `${this.lineKey(level, index)}/${k}/${row}/${choiceKey(choice)}`;
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

  private stackOf(at: StackPlace): ReadonlySet<Held> {
    return this.stacked.get(stackKey(at)) ?? NONE;
  }

  private show(held: Held, from: number, to: number): Shown {
    return {
      tile: held.tile,
      x0: held.index * tileSpan(held.level),
      column: 2 ** held.level,
      from,
      to,
    };
  }

  /** The same place from another height, mark or level; the nearest level first. */
  private standIn(level: number, index: number, ask: Ask): Held[] {
    const place = this.placeKey();
    for (const one of [{ level, index }, ...parentsOf(level, index, this.coarsest())]) {
      const held = [...this.stackOf({ place, ...one })].filter((candidate) => {
        const low = candidate.row * rowSpan(candidate.rowLevel);
        return low < ask.y[1] && low + rowSpan(candidate.rowLevel) > ask.y[0];
      });
      if (held.length === 0) continue;
      const best = held.reduce((a, b) => (better(b, a, choiceKey(ask.choice)) ? b : a));
      return held.filter((a) => a.rowLevel === best.rowLevel && a.choice === best.choice);
    }
    const finer = [0, 1].flatMap((half) => [
      ...this.stackOf({ place, level: level - 1, index: index * 2 + half }),
    ]);
    const first = finer[0];
    return first
      ? finer.filter((a) => a.rowLevel === first.rowLevel && a.choice === first.choice)
      : [];
  }

  private lineWant(level: number, index: number): Want<Lines> {
    return {
      key: this.lineKey(level, index),
      load: async (signal) =>
        decodeLines(await getBuffer("lines", this.rectangle(level, index), signal)),
    };
  }

  private tileWant(level: number, index: number, k: number, row: number, choice: Choice) {
    const place = this.placeKey();
    return {
      key: this.tileKey(level, index, k, row, choice),
      load: async (signal: AbortSignal): Promise<Held> => {
        const y0 = row * rowSpan(k);
        const px = rowSpan(k) / TILE_ROWS;
        const rectangle = this.rectangle(level, index);
        const params = this.held
          ? rectangle
          : { ...rectangle, y0, y1: y0 + rowSpan(k), px, ...choice };
        const tile = decodeTile(await getBuffer("tile", params, signal));
        return { tile, place, level, index, rowLevel: k, row, choice: choiceKey(choice) };
      },
    };
  }

  private rectangle(level: number, index: number): Params {
    if (this.held) return { ...this.place, level, index };
    const { base, axis } = this.domain;
    const x0 = base + index * tileSpan(level);
    return { ...this.place, axis, x0, x1: x0 + tileSpan(level), columns: TILE_COLUMNS };
  }
}

function stackKey(at: StackPlace): string {
  return `${at.place}/${at.level}/${at.index}`;
}

function better(a: Held, b: Held, choice: string): boolean {
  const score = (one: Held) => (one.choice === choice ? 1000 : 0) - one.rowLevel - one.row;
  return score(a) > score(b);
}
