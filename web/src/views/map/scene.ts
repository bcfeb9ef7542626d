// The map: addresses over time. Its window moves on both axes; a canvas holds the rectangles, a
// front canvas the lines and words.
import type { Annotation, DeviceInfo } from "../../api/contract";
import { type MapQuad, type MapTile, mapQuadAt, pickMapQuad } from "../../api/map";
import { mix, parseHex } from "../../gl/colours";
import { MapCanvas } from "../../gl/map_canvas";
import { type MapLook, type MapPainter, mapPalette, rampOf } from "../../gl/map_painter";
import { MapWebGl } from "../../gl/map_webgl";
import type { PainterFactories } from "../../gl/painter_canvas";
import type { Range } from "../../state/link/url";
import type { Domain } from "../../state/recording/domain";
import { pixelRatio, surface, Tokens } from "../../ui/plot";
import { drawable } from "../picture/layers/bands";
import { type Canvases, isDark, type Listener, PictureScene } from "../picture/scene";
import type { Place } from "../picture/tiles/source";
import {
  fromX,
  fromY,
  GUTTER,
  lanesOf,
  type OomMark,
  type Plot,
  plotOf,
} from "../picture/window/frame";
import { Glide } from "../picture/window/glide";
import { between, clampRange, everything, grown } from "../picture/window/window";
import { columnSpan, MAP_COLUMNS } from "./addresses";
import { type AddressAxis, movedBy } from "./axis";
import { insidePlot, type MapFrame, type MapRect, placeMap } from "./frame";
import { drawMapFront } from "./layers";
import { type MapAsk, MapSource } from "./source";

const MAP_GUTTER = 12;
const MIN_BYTES = 4096;

interface MapSubject {
  place: Place;
  device: DeviceInfo;
  domain: Domain;
  axis: AddressAxis;
  plain: boolean;
}

type MapChoice = Pick<MapLook, "mode" | "mark" | "red" | "redCells">;

/** What lies under a pixel of the map. */
export interface UnderMap {
  position: number;
  bytes: number;
  quad: MapQuad | null;
  rect: MapRect | null;
}

const FACTORIES: PainterFactories<MapPainter> = {
  webGl: (canvas) => MapWebGl.create(canvas),
  canvas: (canvas) => new MapCanvas(canvas),
};

function mixed(a: MapRect, b: MapRect, t: number): MapRect {
  return { x: between(a.x, b.x, t), y: between(a.y, b.y, t) };
}

export class MapScene extends PictureScene<MapPainter> {
  subject: MapSubject | null = null;
  cursor: number | null = null;
  hover: { position: number; rect: MapRect | null } | null = null;
  selected: MapRect | null = null;
  frame: MapFrame | null = null;

  private readonly window = new Glide<MapRect>({ x: [0, 1], y: [0, 1] }, mixed);
  private readonly source = new MapSource(
    (tile) => this.arrived(tile.engineMs),
    (tile: MapTile) => this.blocks.painter.forget(tile),
    (error) => this.failed(error),
  );
  private tokens = new Tokens();
  private look: MapLook | null = null;
  private choice: MapChoice = { mode: "size", mark: "none", red: false, redCells: false };
  private extra: MapAsk["extra"] = {};
  private ooms: readonly OomMark[] = [];
  private annotations: readonly Annotation[] = [];

  constructor(
    private readonly canvases: Pick<Canvases, "blocks" | "front">,
    listener: Listener,
    allowGl: boolean,
  ) {
    super(canvases, FACTORIES, listener, allowGl);
  }

  override dispose(): void {
    super.dispose();
    this.source.dispose();
  }

  protected override get waiting(): number {
    return this.source.waiting;
  }

  setSubject(subject: MapSubject, x: Range | null, y: Range | null): void {
    this.anew();
    this.subject = subject;
    const { place, domain, plain, axis } = subject;
    this.look = null;
    this.source.setPlace(place, domain, plain, axis.bytes);
    this.hover = null;
    const to = {
      x: clampRange(x ?? everything(domain), domain),
      y: this.clampBytes(y ?? [0, axis.bytes]),
    };
    this.window.moveTo(to, false);
    this.redraw();
  }

  /** The same place of a recording that has grown: what is seen stays, the end is followed. */
  grow(subject: MapSubject): void {
    const known = this.subject;
    if (!known) return;
    const { x, y } = this.target;
    const all = y[0] <= 0 && y[1] >= known.axis.bytes * (1 - 1e-6);
    const by = movedBy(known.axis, subject.axis, y[0]);
    this.setSubject(
      subject,
      grown(x, known.domain, subject.domain),
      all ? null : [y[0] + by, y[1] + by],
    );
  }

  setMarks(ooms: readonly OomMark[], annotations: readonly Annotation[]): void {
    this.ooms = ooms;
    this.annotations = drawable(annotations);
    this.redraw();
  }

  setLook(choice: MapChoice, extra: MapAsk["extra"]): void {
    this.choice = choice;
    this.extra = extra;
    this.look = null;
    this.redraw();
  }

  themeChanged(): void {
    this.tokens = new Tokens();
    this.look = null;
    this.redraw();
  }

  /** Inside the axis, not closer than a page. */
  clampBytes([low, high]: Range): Range {
    const all = Math.max(1, this.subject?.axis.bytes ?? 1);
    const span = Math.min(all, Math.max(Math.min(MIN_BYTES, all), high - low));
    const from = Math.min(Math.max(0, (low + high) / 2 - span / 2), all - span);
    return [from, from + span];
  }

  /** At once while a hand moves it; gliding when the page jumps. */
  moveTo(x: Range, y: Range, glide: boolean): void {
    if (!this.subject) return;
    const to = { x: clampRange(x, this.subject.domain), y: this.clampBytes(y) };
    this.window.moveTo(to, glide);
    this.redraw();
  }

  get plot(): Plot | null {
    return this.frame?.plot ?? null;
  }

  get x(): Range {
    return this.window.now.x;
  }

  get y(): Range {
    return this.window.now.y;
  }

  get target(): MapRect {
    return this.window.target;
  }

  under(pixelX: number, pixelY: number): UnderMap | null {
    const { frame } = this;
    if (!frame || !insidePlot(frame.plot, pixelX, pixelY)) return null;
    const position = fromX(frame, pixelX);
    const bytes = fromY(frame, pixelY);
    if (position >= frame.domain.end) return null;
    return this.at(position, bytes);
  }

  /** What is drawn at a place of both axes. */
  at(position: number, bytes: number): UnderMap {
    for (const { tile, at, clip } of this.frame?.shown ?? []) {
      if (position < clip.x[0] || position >= clip.x[1]) continue;
      if (bytes < clip.y[0] || bytes >= clip.y[1]) continue;
      const column = columnSpan(at.level) / MAP_COLUMNS;
      const begin = at.index * columnSpan(at.level);
      const index = pickMapQuad(tile, (position - begin) / column, bytes);
      if (index < 0) continue;
      const quad = mapQuadAt(tile, index);
      const rect: MapRect = {
        x: [begin + quad.column0 * column, begin + quad.column1 * column],
        y: [tile.y0 + quad.low, tile.y0 + quad.high],
      };
      return { position, bytes, quad, rect };
    }
    return { position, bytes, quad: null, rect: null };
  }

  protected paint(now: number): boolean {
    const { subject } = this;
    const front = surface(this.canvases.front, this.tokens);
    if (!subject || !front) return false;
    const moving = this.window.advance(now);
    const lanes = lanesOf(this.annotations);
    const plot = { ...plotOf(front, lanes, this.ooms.length > 0), left: GUTTER + MAP_GUTTER };
    const ratio = pixelRatio();
    const width = Math.round((plot.right - plot.left) * ratio);
    const height = Math.round((plot.bottom - plot.top) * ratio);
    if (width <= 0 || height <= 0) return false;
    const ask = { x: this.x, y: this.y, width, height, extra: this.extra };
    this.source.want({ ...ask, ...this.target });
    const frame: MapFrame = {
      domain: subject.domain,
      axis: subject.axis,
      x: this.x,
      y: this.y,
      plot,
      shown: this.source.shown(ask),
      ooms: this.ooms,
      annotations: this.annotations,
      lanes,
      cursor: this.cursor,
      hover: this.hover?.position ?? null,
      selected: this.selected,
      hovered: this.hover?.rect ?? null,
    };
    this.frame = frame;
    this.paintBlocks(frame, plot);
    drawMapFront(front, frame);
    this.stats.tiles = frame.shown.length;
    this.stats.quads = frame.shown.reduce((sum, one) => sum + one.tile.quads, 0);
    this.stats.frames += 1;
    return moving;
  }

  private paintBlocks(frame: MapFrame, plot: Plot): void {
    const { width, height } = this.fitBlocks(plot, [...frame.x, ...frame.y]);
    this.blocks.painter.draw(placeMap(frame, width, height), this.currentLook());
  }

  private currentLook(): MapLook {
    if (this.look) return this.look;
    const tint = parseHex(this.tokens.get("reserved-weak"));
    this.look = {
      palette: mapPalette(this.tokens.get, isDark()),
      tint,
      // what is reserved, a little stronger than its tint
      outline: mix(parseHex(this.tokens.get("reserved")), tint, 0.4),
      ...this.choice,
      ramp: rampOf(this.subject?.axis.bytes ?? 0),
    };
    return this.look;
  }
}
