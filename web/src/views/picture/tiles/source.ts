// Brings tiles and lines of one device to the screen: knows the addresses, asks for what is seen
// and its neighbours, and finds a stand-in for what has not arrived.
import type { Params } from "../../../api/client";
import type { DeviceInfo } from "../../../api/contract";
import { type FrozenDevice, frozenDevice, frozenTile } from "../../../api/frozen";
import type { Lines, Tile } from "../../../api/tile";
import { FRAME_QUADS, fitting, MAX_TILE_QUADS } from "../../../gl/quad_budget";
import {
  coarsestLevel,
  levelFor,
  middleOut,
  parentsOf,
  rowLevelFor,
  rowSpan,
  rowsIn,
  TILE_COLUMNS,
  TILE_ROWS,
  tileSpan,
  tilesIn,
} from "../../../gl/tile_address";
import type { Range } from "../../../state/link/url";
import type { Domain } from "../../../state/recording/domain";
import type { LineTile } from "./line_sampler";
import { type Held, type TileStore, type Wants, wantLines, wantTile } from "./tile_store";

export interface Place {
  file: number;
  device: number;
  /** which reading of a recording that grows */
  gen?: number;
}

/** What a picture is of. */
export interface Subject {
  place: Place;
  device: DeviceInfo;
  domain: Domain;
}

/** How many readings back lines are looked for, until those of the newest are here. */
const OLDER_READINGS = 3;

/** A tile and the part of the axis that it fills. */
export interface Shown {
  tile: Tile;
  /** position of column 0 and width of a column, from the domain's base */
  x0: number;
  column: number;
  from: number;
  to: number;
  /** until the requested tile arrives */
  standsIn: boolean;
}

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
  /** at most this many quads in a tile; see gl/quad_budget.ts */
  quads: number;
  /** a column is wider than a device pixel where there would be more of them */
  columns: number;
}

export function quadsIn(list: readonly Shown[]): number {
  return list.reduce((total, one) => total + one.tile.quads, 0);
}

/** The requested tiles always fit together; their stand-ins may not. */
export function drawnOf(list: readonly Shown[]): Shown[] {
  const exact = quadsIn(list.filter((one) => !one.standsIn));
  const others = list.filter((one) => one.standsIn);
  const kept = fitting(others, FRAME_QUADS - exact, (one) => one.tile.quads);
  return list.filter((one) => !one.standsIn || kept.has(one));
}

function choiceKey({ choice, quads }: Ask): string {
  return `${choice.mark ?? ""}/${choice.filter ?? ""}/${quads}`;
}

export class Source {
  private place: Place = { file: 0, device: 0 };
  private domain: Domain = { axis: "step", base: 0, end: 1, room: 1, least: 1 };
  /** an exported page holds the tiles of some levels, in rows of one height */
  private held: FrozenDevice | null = null;
  /** readings of this place that were shown before, newest first */
  private older: number[] = [];

  constructor(private readonly store: TileStore) {}

  setPlace(place: Place, domain: Domain): void {
    const { file, device, gen } = this.place;
    const same = file === place.file && device === place.device && axisOf(domain, this.domain);
    if (!same) this.older = [];
    else if (gen !== undefined && gen !== place.gen) {
      this.older = [gen, ...this.older].slice(0, OLDER_READINGS);
    }
    this.place = place;
    this.domain = domain;
    this.held = frozenDevice(place.device);
  }

  /** What is seen, then what will probably be seen next. */
  wants(ask: Ask): Wants {
    const { level, rowLevel, indices, rows } = this.addresses(ask);
    const urgent = middleOut(indices);
    if (this.held) return this.wantHeld(this.held, level, urgent, ask);
    const next = [(indices[0] ?? 0) - 1, (indices.at(-1) ?? 0) + 1].filter(
      (index) => indices.length > 0 && index >= 0 && index * tileSpan(level) < this.domain.end,
    );
    const tiles = (list: readonly number[], at: number, of: readonly number[], ahead = true) =>
      list.flatMap((index) =>
        of.map((row) => ({ ...this.tileWant(at, index, rowLevel, row, ask), ahead })),
      );
    const parents = level < this.coarsest() ? [...new Set(indices.map((i) => i >> 1))] : [];
    return {
      lines: [
        ...urgent.map((index) => this.lineWant(level, index)),
        this.lineWant(this.coarsest(), 0),
        ...next.map((index) => ({ ...this.lineWant(level, index), ahead: true })),
      ],
      tiles: [
        ...tiles(urgent, level, rows, false),
        ...tiles(next, level, rows),
        ...(rows.length === 1 ? tiles(parents.slice(0, 2), level + 1, rows) : []),
      ],
    };
  }

  /** How many tiles this view is made of. */
  count(ask: Ask): number {
    const { indices, rows } = this.addresses(ask);
    return indices.length * rows.length;
  }

  /** How many rows of tiles lie on top of each other in this view. */
  rows(of: Pick<Ask, "y" | "height">): number {
    return this.rowsOf(of).rows.length;
  }

  /** In an exported page: what is in it, or the coarser tile that is. */
  private wantHeld(of: FrozenDevice, level: number, indices: readonly number[], ask: Ask): Wants {
    const there = indices.map((index) => frozenTile(of, level, index, TILE_COLUMNS));
    const each = [...new Map(there.map((at) => [`${at.level}/${at.index}`, at])).values()];
    return {
      lines: [
        ...each.map((at) => this.lineWant(at.level, at.index)),
        this.lineWant(this.coarsest(), 0),
      ],
      tiles: each.map((at) => this.tileWant(at.level, at.index, of.row_level, 0, ask)),
    };
  }

  /** What to draw now, in this order. */
  shown(ask: Ask): Shown[] {
    const { level, rowLevel, indices, rows } = this.addresses(ask);
    const out: Shown[] = [];
    for (const index of indices) {
      const [from, to] = [index * tileSpan(level), (index + 1) * tileSpan(level)];
      const exact = rows.map((row) =>
        this.store.tile(this.tileKey(level, index, rowLevel, row, ask)),
      );
      if (exact.includes(undefined)) {
        out.push(...this.standIn(level, index, ask).map((held) => this.show(held, from, to, true)));
      }
      for (const held of exact) if (held) out.push(this.show(held, from, to, false));
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
        const lines = this.linesAt(one.level, one.index);
        if (!lines) continue;
        const column = 2 ** one.level;
        out.push({ lines, x0: one.index * tileSpan(one.level), column, from, to });
        break;
      }
    }
    return out;
  }

  /** Asks for that only; when nothing else of the recording is seen. */
  coarseWant() {
    return this.lineWant(this.coarsest(), 0);
  }

  /** The whole recording in at most 512 columns: for the minimap. */
  coarse(): LineTile | null {
    const level = this.coarsest();
    const lines = this.linesAt(level, 0);
    return lines ? { lines, x0: 0, column: 2 ** level, from: 0, to: tileSpan(level) } : null;
  }

  private coarsest(): number {
    return coarsestLevel(this.domain.end);
  }

  private addresses(ask: Ask) {
    const unitsPerPixel = (ask.x[1] - ask.x[0]) / Math.max(1, ask.width);
    const finest = this.held?.finest_level ?? 0;
    const least = Math.max(finest, levelFor((ask.x[1] - ask.x[0]) / ask.columns));
    const level = Math.min(this.coarsest(), Math.max(least, levelFor(unitsPerPixel)));
    const indices = tilesIn(ask.x[0], ask.x[1], tileSpan(level), this.domain.end);
    return { level, indices, ...this.rowsOf(ask) };
  }

  private rowsOf({ y, height }: Pick<Ask, "y" | "height">) {
    if (this.held) return { rowLevel: this.held.row_level, rows: [0] };
    const rowLevel = rowLevelFor((y[1] - y[0]) / Math.max(1, height));
    return { rowLevel, rows: rowsIn(y[0], y[1], rowLevel) };
  }

  private placeKey(): string {
    return `${this.place.file}/${this.place.device}/${this.domain.axis}`;
  }

  private lineKey(level: number, index: number, gen = this.place.gen): string {
    return `${this.placeKey()}/${gen ?? ""}/${level}/${index}`;
  }

  /** Of the newest reading, or until they are here of one before. */
  private linesAt(level: number, index: number): Lines | undefined {
    for (const gen of [this.place.gen, ...this.older]) {
      const lines = this.store.linesOf(this.lineKey(level, index, gen));
      if (lines) return lines;
    }
    return undefined;
  }

  private tileKey(level: number, index: number, k: number, row: number, ask: Ask) {
    return `${this.lineKey(level, index)}/${k}/${row}/${choiceKey(ask)}`;
  }

  private show(held: Held, from: number, to: number, standsIn: boolean): Shown {
    return {
      tile: held.tile,
      x0: held.index * tileSpan(held.level),
      column: 2 ** held.level,
      from,
      to,
      standsIn,
    };
  }

  /** The same place from another height, mark or level; the nearest level first. */
  private standIn(level: number, index: number, ask: Ask): Held[] {
    const place = this.placeKey();
    for (const one of [{ level, index }, ...parentsOf(level, index, this.coarsest())]) {
      const held = [...this.store.stackOf({ place, ...one })].filter((candidate) => {
        const low = candidate.row * rowSpan(candidate.rowLevel);
        return low < ask.y[1] && low + rowSpan(candidate.rowLevel) > ask.y[0];
      });
      if (held.length === 0) continue;
      const best = held.reduce((a, b) => (better(b, a, choiceKey(ask)) ? b : a));
      return held.filter((a) => goesWith(a, best));
    }
    const finer = [0, 1].flatMap((half) => [
      ...this.store.stackOf({ place, level: level - 1, index: index * 2 + half }),
    ]);
    const first = finer[0];
    return first ? finer.filter((a) => goesWith(a, first)) : [];
  }

  private lineWant(level: number, index: number) {
    return wantLines(this.lineKey(level, index), this.rectangle(level, index));
  }

  private tileWant(level: number, index: number, k: number, row: number, ask: Ask) {
    const y0 = row * rowSpan(k);
    const quads = ask.quads < MAX_TILE_QUADS ? ask.quads : null;
    const rectangle = this.rectangle(level, index);
    const px = rowSpan(k) / TILE_ROWS;
    const params = this.held
      ? rectangle
      : { ...rectangle, y0, y1: y0 + rowSpan(k), px, ...ask.choice, quads };
    const at = {
      place: this.placeKey(),
      gen: this.place.gen ?? 0,
      level,
      index,
      rowLevel: k,
      row,
      choice: choiceKey(ask),
    };
    return wantTile(this.tileKey(level, index, k, row, ask), params, at);
  }

  private rectangle(level: number, index: number): Params {
    if (this.held) return { ...this.place, level, index };
    const { base, axis } = this.domain;
    const x0 = base + index * tileSpan(level);
    return { ...this.place, axis, x0, x1: x0 + tileSpan(level), columns: TILE_COLUMNS };
  }
}

function axisOf(a: Domain, b: Domain): boolean {
  return a.axis === b.axis && a.base === b.base;
}

function goesWith(a: Held, b: Held): boolean {
  return a.rowLevel === b.rowLevel && a.choice === b.choice && a.gen === b.gen;
}

function better(a: Held, b: Held, choice: string): boolean {
  if (a.gen !== b.gen) return a.gen > b.gen;
  const score = (one: Held) => (one.choice === choice ? 1000 : 0) - one.rowLevel - one.row;
  return score(a) > score(b);
}
