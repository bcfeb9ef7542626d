// The scene of the lanes: one window, one canvas and one store of tiles for all of them. Only lanes
// in sight ask for tiles; together they stay within the quads of one frame.
import type { Annotation } from "../../api/contract";
import type { Range } from "../../state/link/url";
import type { Domain } from "../../state/recording/domain";
import { laneLayout } from "../../state/recording/lane_order";
import { type PlacedLane, placeOfLane, type SharedAxis } from "../../state/recording/lanes";
import { pixelRatio, surface } from "../../ui/plot";
import type { Movable } from "../picture/input/moves";
import { type Under, underPixel } from "../picture/input/pick";
import { placeTiles } from "../picture/layers/blocks";
import { oomMarks } from "../picture/layers/ooms";
import type { Canvases, Listener } from "../picture/scene";
import { StackScene } from "../picture/stack_scene";
import { samples } from "../picture/tiles/line_sampler";
import { quadsIn, Source } from "../picture/tiles/source";
import { AXIS_HEIGHT, type Plot, type ShapeMark } from "../picture/window/frame";
import { zoomedBytes } from "../picture/window/window";
import { asksOf, type LaneAsk, shift, withinBudget } from "./budget";
import {
  commonReach,
  type LaneFrame,
  type Place,
  type Row,
  reachOf,
  rowAt,
  rowsInSight,
} from "./lane_frame";
import { drawLaneMinimap } from "./lane_minimap";
import { drawCursor, drawLaneBack, drawLaneFront, drawNoLane, drawOver, type Over } from "./layers";
import { type LaneLook, LaneLooks } from "./looks";

const NO_BANDS: readonly Annotation[] = [];
const NO_PLACES: readonly Place[] = [];

export interface UnderLane {
  lane: PlacedLane;
  under: Under | null;
}

export class LanesScene extends StackScene implements Movable {
  shared: SharedAxis | null = null;
  lanes: readonly PlacedLane[] = [];
  /** key of the lane that the page speaks of */
  current = "";
  scrollTop = 0;
  own = false;
  cursor: number | null = null;
  hover: { position: number; lane: string; id: number | null } | null = null;
  selected: number | null = null;
  shape: ShapeMark | null = null;
  readonly annotations = new Map<string, readonly Annotation[]>();
  /** by key of the lane */
  places: ReadonlyMap<string, readonly Place[]> = new Map();
  frames: readonly LaneFrame[] = [];
  rows: readonly Row[] = [];

  private readonly sources = new Map<string, Source>();
  private readonly looks = new LaneLooks();
  /** where the lanes end and the axis begins */
  private bottom = 0;
  private reach: Range = [0, 1];

  constructor(
    canvases: Canvases,
    listener: Listener,
    private readonly onRows: (rows: readonly Row[]) => void,
    allowGl: boolean,
  ) {
    super(canvases, listener, allowGl);
  }

  /** Another axis, or other lanes. */
  setShared(shared: SharedAxis, x: Range | null): void {
    this.shared = shared;
    for (const lane of shared.lanes) {
      if (!lane.domain) continue;
      const source = this.sources.get(lane.key) ?? new Source(this.store);
      source.setPlace(placeOfLane(lane), lane.domain);
      this.sources.set(lane.key, source);
    }
    this.reach = commonReach(shared.lanes);
    this.anew();
    this.window.start(x, shared.domain);
    this.redraw();
  }

  setLook(look: LaneLook): void {
    this.looks.set(look);
    this.redraw();
  }

  themeChanged(): void {
    this.looks.themeChanged();
    this.redraw();
  }

  /** At a pixel of the lane that lies there; a scale of one's own has no zoom. */
  zoomHeight(pixelY: number | null, factor: number): void {
    if (this.own) return;
    const row = pixelY === null ? null : rowAt(this.rows, pixelY, this.bottom);
    const plot = row?.plot;
    const share = plot ? (plot.bottom - (pixelY ?? 0)) / (plot.bottom - plot.top) : 0.5;
    this.y = zoomedBytes(this.y ?? this.reach, share, factor, this.reach[1]);
    this.redraw();
  }

  override get domain(): Domain | null {
    return this.shared?.domain ?? null;
  }

  get plot(): Plot | null {
    return this.rows[0]?.plot ?? null;
  }

  get highestBytes(): number {
    return this.reach[1];
  }

  under(pixelX: number, pixelY: number): UnderLane | null {
    const row = rowAt(this.rows, pixelY, this.bottom);
    if (!row) return null;
    const frame = this.frames.find((one) => one.row === row);
    return { lane: row.lane, under: frame ? underPixel(frame, pixelX, pixelY) : null };
  }

  protected paint(now: number): boolean {
    const { shared } = this;
    const { tokens } = this.looks;
    const back = surface(this.canvases.back, tokens);
    const front = surface(this.canvases.front, tokens);
    if (!shared || !back || !front) return false;
    const moving = this.window.advance(now);
    const ratio = pixelRatio();
    const bottom = front.height - AXIS_HEIGHT;
    this.bottom = bottom;
    this.rows = rowsInSight({
      lanes: this.lanes,
      layout: laneLayout(this.lanes.length, bottom, this.scrollTop),
      scrollTop: this.scrollTop,
      width: front.width,
      height: bottom,
      ratio,
      annotationsOf: (lane) => this.annotations.get(lane.key) ?? NO_BANDS,
    });
    const plot = this.rows[0]?.plot;
    if (!plot) return false;
    const asks = asksOf({
      rows: this.rows,
      sourceOf: (key) => this.sources.get(key),
      x: this.x,
      bytesOf: ({ lane }) => (this.own ? reachOf(lane) : (this.y ?? this.reach)),
      choiceOf: ({ lane }) => this.looks.choice(lane),
      width: Math.round((plot.right - plot.left) * ratio),
    });
    this.askStore(asks);
    this.frames = withinBudget(asks.map((one) => this.frameOf(one)));
    for (const row of this.rows) if (!row.lane.domain) drawNoLane(front, row, bottom);
    for (const frame of this.frames) drawLaneBack(back, frame, bottom);
    this.paintStrata(plot, bottom);
    const over: Over = {
      domain: shared.domain,
      x: this.x,
      plot: { ...plot, head: 0, top: 0, bottom },
      cursor: this.cursor,
      hover: this.hover?.position ?? null,
    };
    drawCursor(front, over);
    for (const frame of this.frames) drawLaneFront(front, frame, bottom);
    drawOver(front, over, this.frames);
    drawLaneMinimap(this.canvases.minimap, tokens, {
      shared,
      key: this.current,
      coarse: this.sources.get(this.current)?.coarse() ?? null,
      x: this.x,
    });
    this.stats.frames += 1;
    this.onRows(this.rows);
    return moving;
  }

  /** What lies ahead of every lane comes after what is seen of any; and the minimap's lines. */
  private askStore(asks: readonly LaneAsk[]): void {
    const wants = asks.map(({ row, ask, source }) =>
      source.wants({ ...ask, x: shift(this.target, -row.lane.offset) }),
    );
    const coarse = this.sources.get(this.current)?.coarseWant();
    this.store.want({
      tiles: wants.flatMap((one) => one.tiles),
      lines: [...wants.flatMap((one) => one.lines), ...(coarse ? [coarse] : [])],
    });
  }

  private frameOf({ row, ask, source }: LaneAsk): LaneFrame {
    const { lane, plot, bands } = row;
    const mine = lane.key === this.current;
    const domain = lane.domain as Domain;
    const hovered = this.hover?.lane === lane.key ? this.hover : null;
    return {
      row,
      domain,
      places: this.places.get(lane.key) ?? NO_PLACES,
      device: lane.device,
      x: ask.x,
      y: ask.y,
      plot,
      samples: samples(source.lineTiles(ask), ...ask.x),
      shown: source.shown(ask),
      ooms: oomMarks(lane.device, domain),
      annotations: this.annotations.get(lane.key) ?? NO_BANDS,
      lanes: bands,
      cursor: null,
      hover: hovered ? { position: hovered.position - lane.offset, id: hovered.id } : null,
      selected: mine ? this.selected : null,
      shape: mine ? this.shape : null,
      olderBytes: 0,
      fittedBytes: this.y === null,
    };
  }

  private paintStrata(plot: Plot, bottom: number): void {
    const view = [...this.x, ...this.frames.flatMap((frame) => frame.y)];
    const { width, height, ratio } = this.fitBlocks({ ...plot, top: 0, bottom }, view);
    this.blocks.painter.draw(
      this.frames.map((frame) => {
        const { top: upper, bottom: lower } = frame.plot;
        const lift = height - Math.round(lower * ratio);
        const tiles = placeTiles(frame, width, Math.round((lower - upper) * ratio), lift);
        return { tiles, look: this.looks.of(frame.row.lane) };
      }),
    );
    const shown = this.frames.flatMap((frame) => frame.shown);
    this.stats.tiles = shown.length;
    this.stats.quads = quadsIn(shown);
    this.stats.lanes = this.frames.map(({ row, y, plot: of }) => ({
      key: row.lane.key,
      top: of.top,
      bottom: of.bottom,
      bytesPerPixel: (y[1] - y[0]) / (of.bottom - of.top),
    }));
  }
}
