// Brings the tiles of the map to the screen, with a stand-in for what has not arrived.
import { getBuffer } from "../../api/client";
import { decodeMap, type MapTile } from "../../api/map";
import { AnswerCache } from "../../gl/answer_cache";
import type { Domain } from "../../state/recording/domain";
import type { Place } from "../picture/tiles/source";
import {
  type Box,
  boxOf,
  columnSpan,
  covers,
  MAP_COLUMNS,
  MAP_ROWS,
  type MapAddress,
  type MapView,
  mapAddresses,
  touches,
} from "./addresses";

const LIMIT_BYTES = 128 * 1024 * 1024;
const MAX_STAND_INS = 6;

export interface MapAsk extends MapView {
  /** what changes a picture: mark, filter */
  extra: Readonly<Record<string, string | number>>;
}

interface Held {
  tile: MapTile;
  at: MapAddress;
  box: Box;
  /** file, device, axes */
  place: string;
  /** which reading of a recording that grows */
  gen: number;
  extra: string;
}

export interface ShownMap {
  tile: MapTile;
  at: MapAddress;
  /** what it may touch, in units of the axes */
  clip: Box;
}

export class MapSource {
  private readonly tiles: AnswerCache<Held>;
  private readonly held = new Set<Held>();
  private place: Place = { file: 0, device: 0 };
  private domain: Domain = { axis: "step", base: 0, end: 1, room: 1, least: 1 };
  private plain = false;
  private axisBytes = 0;

  constructor(
    onArrival: (tile: MapTile) => void,
    onForget: (tile: MapTile) => void,
    onError: (error: unknown) => void,
  ) {
    this.tiles = new AnswerCache<Held>(
      LIMIT_BYTES,
      ({ tile }) => tile.words.byteLength + tile.cells.byteLength,
      (_key, held) => {
        this.held.add(held);
        onArrival(held.tile);
      },
      (held) => {
        this.held.delete(held);
        onForget(held.tile);
      },
      onError,
    );
  }

  get waiting(): number {
    return this.tiles.inFlight;
  }

  setPlace(place: Place, domain: Domain, plain: boolean, axisBytes: number): void {
    this.place = place;
    this.domain = domain;
    this.plain = plain;
    this.axisBytes = axisBytes;
  }

  dispose(): void {
    this.tiles.clear();
  }

  want(ask: MapAsk): void {
    this.tiles.want(
      this.addresses(ask).map((at) => ({
        key: this.key(at, ask),
        load: (signal) => this.load(at, ask, signal),
      })),
    );
  }

  shown(ask: MapAsk): ShownMap[] {
    const out: ShownMap[] = [];
    for (const at of this.addresses(ask)) {
      const exact = this.tiles.get(this.key(at, ask));
      const clip = boxOf(at);
      if (exact) out.push({ tile: exact.tile, at, clip });
      else out.push(...this.standIns(clip, ask));
    }
    return out;
  }

  private addresses(ask: MapView): MapAddress[] {
    return this.axisBytes <= 0 ? [] : mapAddresses(ask, this.domain.end, this.axisBytes);
  }

  private placeKey(): string {
    const { place, domain } = this;
    // another axis has other places: nothing of it can stand in
    const axis = `${this.plain ? "plain" : "owned"}/${this.axisBytes}`;
    return `${place.file}/${place.device}/${domain.axis}/${axis}`;
  }

  private key(at: MapAddress, ask: MapAsk): string {
    const where = `${at.level}/${at.index}/${at.rowLevel}/${at.row}`;
    return `${this.placeKey()}/${this.place.gen ?? ""}/${where}/${JSON.stringify(ask.extra)}`;
  }

  /** What is held of that place: one tile that covers it, or the parts that touch it. */
  private standIns(clip: Box, ask: MapAsk): ShownMap[] {
    const place = this.placeKey();
    const extra = JSON.stringify(ask.extra);
    const near = [...this.held].filter((one) => one.place === place && touches(one.box, clip));
    // what was asked with this filter first, then the finest
    near.sort(
      (a, b) =>
        b.gen - a.gen ||
        Number(b.extra === extra) - Number(a.extra === extra) ||
        a.at.level + a.at.rowLevel - (b.at.level + b.at.rowLevel),
    );
    const whole = near.find((one) => covers(one.box, clip));
    if (whole) return [{ tile: whole.tile, at: whole.at, clip }];
    return near
      .filter((one) => one.at.level === near[0]?.at.level && one.gen === near[0].gen)
      .slice(0, MAX_STAND_INS)
      .map((one) => ({
        tile: one.tile,
        at: one.at,
        clip: {
          x: [Math.max(clip.x[0], one.box.x[0]), Math.min(clip.x[1], one.box.x[1])],
          y: [Math.max(clip.y[0], one.box.y[0]), Math.min(clip.y[1], one.box.y[1])],
        },
      }));
  }

  private async load(at: MapAddress, ask: MapAsk, signal: AbortSignal): Promise<Held> {
    const { base, axis } = this.domain;
    const [place, box, gen] = [this.placeKey(), boxOf(at), this.place.gen ?? 0];
    const x0 = base + box.x[0];
    const buffer = await getBuffer(
      "map",
      {
        ...this.place,
        axis,
        x0,
        x1: x0 + columnSpan(at.level),
        columns: MAP_COLUMNS,
        y: this.plain ? "plain" : "owned",
        y0: box.y[0],
        y1: box.y[1],
        rows: MAP_ROWS,
        ...ask.extra,
      },
      signal,
    );
    return { tile: decodeMap(buffer), at, box, place, gen, extra: JSON.stringify(ask.extra) };
  }
}
