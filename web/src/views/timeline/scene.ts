// The timeline: every allocation of one device, stacked in order of allocation.
import type { Annotation, LegendBy } from "../../api/contract";
import { palette } from "../../gl/colours";
import { type Filter, type Look, NO_FILTER, parseRgba } from "../../gl/painter";
import { columnsPerPicture, MAX_TILES_ACROSS, quadsPerTile } from "../../gl/quad_budget";
import type { Range } from "../../state/link/url";
import type { Domain } from "../../state/recording/domain";
import { pixelRatio, surface, Tokens } from "../../ui/plot";
import { type Under, underPixel } from "../picture/input/pick";
import { drawBack } from "../picture/layers/back_layer";
import { drawable } from "../picture/layers/bands";
import { placeTiles } from "../picture/layers/blocks";
import { drawFront } from "../picture/layers/front_layer";
import { drawMinimap } from "../picture/layers/minimap";
import { isDark } from "../picture/scene";
import { StackScene } from "../picture/stack_scene";
import { samples } from "../picture/tiles/line_sampler";
import {
  type Ask,
  type Choice,
  drawnOf,
  quadsIn,
  type Shown,
  Source,
  type Subject,
} from "../picture/tiles/source";
import {
  type Frame,
  lanesOf,
  type OomMark,
  type Plot,
  plotOf,
  type ShapeMark,
} from "../picture/window/frame";
import { stillWanted } from "../picture/window/glide";
import { between, fittedBytes, zoomedBytes } from "../picture/window/window";

const FIT_MS = 160;

export class TimelineScene extends StackScene {
  subject: Subject | null = null;
  cursor: number | null = null;
  hover: { position: number; id: number | null } | null = null;
  selected: number | null = null;
  shape: ShapeMark | null = null;
  frame: Frame | null = null;

  private readonly source = new Source(this.store);
  private tokens = new Tokens();
  private look: Look | null = null;
  private mode: LegendBy = "stack";
  private ageAt = 0;
  private filter: Filter = NO_FILTER;
  private choice: Choice = { mark: null, filter: null };
  private markLook: Look["mark"] = "none";
  private ooms: readonly OomMark[] = [];
  private annotations: readonly Annotation[] = [];
  private lanes = 0;
  private fitted: Range = [0, 1];
  private lastFrame = 0;

  setSubject(subject: Subject, x: Range | null, y: Range | null): void {
    this.subject = subject;
    this.anew();
    this.source.setPlace(subject.place, subject.domain);
    this.window.start(x, subject.domain);
    this.y = y;
    this.shape = null;
    this.hover = null;
    this.fitted = [0, 0];
    this.look = null;
    this.redraw();
  }

  /**
   * The same place of a recording that has grown: the picture stays until the new tiles are here.
   */
  grow(subject: Subject): void {
    if (!this.subject) return;
    this.window.grow(this.subject.domain, subject.domain);
    this.anew();
    this.subject = subject;
    this.source.setPlace(subject.place, subject.domain);
    this.look = null;
    this.redraw();
  }

  setMarks(ooms: readonly OomMark[], annotations: readonly Annotation[]): void {
    this.ooms = ooms;
    this.annotations = drawable(annotations);
    this.lanes = lanesOf(this.annotations);
    this.redraw();
  }

  setLook(mode: LegendBy, ageAt: number, filter: Filter, choice: Choice, only: boolean): void {
    this.mode = mode;
    this.ageAt = ageAt;
    this.filter = filter;
    this.choice = choice;
    this.markLook = choice.mark === null ? "none" : only ? "only" : "fade";
    this.look = null;
    this.redraw();
  }

  themeChanged(): void {
    this.tokens = new Tokens();
    this.look = null;
    this.redraw();
  }

  zoomHeight(pixelY: number | null, factor: number): void {
    const { plot } = this;
    if (!plot) return;
    const share = pixelY === null ? 0.5 : (plot.bottom - pixelY) / (plot.bottom - plot.top);
    this.y = zoomedBytes(this.bytes, share, factor, this.highestBytes);
    this.redraw();
  }

  override get domain(): Domain | null {
    return this.subject?.domain ?? null;
  }

  get plot(): Plot | null {
    return this.frame?.plot ?? null;
  }

  /** What zooming out of the bytes ends at. */
  get highestBytes(): number {
    const device = this.subject?.device;
    const known = Math.max(device?.peak.reserved.bytes ?? 0, device?.ceiling_bytes ?? 0);
    return Math.max(this.bytes[1], known * 1.1, 1 << 20);
  }

  get bytes(): Range {
    return this.y ?? this.fitted;
  }

  under(pixelX: number, pixelY: number): Under | null {
    return this.frame ? underPixel(this.frame, pixelX, pixelY) : null;
  }

  /** Glides and fits; true: another frame is needed. */
  private advance(now: number, width: number, height: number): boolean {
    let moving = this.window.advance(now);
    const { subject } = this;
    if (!subject) return moving;
    const ask = { ...this.ask(width, height), x: this.target };
    const list = samples(this.source.lineTiles(ask), ...this.target);
    const { device } = subject;
    const fallback = Math.max(device.peak.reserved.bytes, device.peak.active.bytes);
    const wanted = fittedBytes(list, this.ooms, this.target, device.ceiling_bytes, fallback);
    const away = Math.abs(this.fitted[1] - wanted[1]) / wanted[1];
    if (this.fitted[1] === 0 || away < 0.002 || stillWanted()) this.fitted = wanted;
    else {
      const t = Math.min(1, Math.max(8, now - this.lastFrame) / FIT_MS) * 0.6;
      this.fitted = between(this.fitted, wanted, Math.min(1, t * 2));
      moving = true;
    }
    return moving;
  }

  private ask(width: number, height: number): Ask {
    const { x, bytes, choice } = this;
    const rows = this.source.rows({ y: bytes, height });
    // as if all tiles across were in sight: a pan does not ask for them anew
    const quads = quadsPerTile(rows * MAX_TILES_ACROSS);
    const columns = columnsPerPicture(rows);
    return { x, y: bytes, width, height, choice, quads, columns };
  }

  protected paint(now: number): boolean {
    const { subject } = this;
    const { lanes } = this;
    const back = surface(this.canvases.back, this.tokens);
    const front = surface(this.canvases.front, this.tokens);
    if (!subject || !back || !front) return false;
    const plot = plotOf(front, lanes, this.ooms.length > 0);
    const ratio = pixelRatio();
    const width = Math.round((plot.right - plot.left) * ratio);
    const height = Math.round((plot.bottom - plot.top) * ratio);
    if (width <= 0 || height <= 0) return false;
    const moving = this.advance(now, width, height);
    this.lastFrame = now;
    const ask = this.ask(width, height);
    this.store.want(this.source.wants({ ...ask, x: this.target }));
    const frame: Frame = {
      domain: subject.domain,
      device: subject.device,
      x: this.x,
      y: this.bytes,
      plot,
      samples: samples(this.source.lineTiles(ask), ...this.x),
      shown: drawnOf(this.source.shown(ask)),
      ooms: this.ooms,
      annotations: this.annotations,
      lanes,
      cursor: this.cursor,
      hover: this.hover,
      selected: this.selected,
      shape: this.shape,
      olderBytes: subject.device.initial.active_bytes,
      fittedBytes: this.y === null,
    };
    this.frame = frame;
    drawBack(back, frame);
    this.paintStrata(frame, plot);
    drawFront(front, frame);
    drawMinimap(this.canvases.minimap, this.tokens, {
      domain: subject.domain,
      end: subject.domain.end,
      x: this.x,
      coarse: this.source.coarse(),
      ooms: this.ooms,
    });
    this.stats.frames += 1;
    return moving;
  }

  private paintStrata(frame: Frame, plot: Plot) {
    const { width, height } = this.fitBlocks(plot, [...frame.x, ...frame.y]);
    this.blocks.painter.draw([
      { tiles: placeTiles(frame, width, height), look: this.currentLook(frame) },
    ]);
    const widest = (value: (one: Shown) => number) => Math.max(0, ...frame.shown.map(value));
    this.listener.onResolution?.(
      widest((one) => one.column),
      widest((one) => one.tile.thresholdBytes),
    );
    this.stats.tiles = frame.shown.length;
    this.stats.quads = quadsIn(frame.shown);
  }

  private currentLook(frame: Frame): Look {
    if (this.look) return this.look;
    this.look = {
      palette: palette(this.tokens.get, isDark()),
      seam: parseRgba(this.tokens.get("seam")),
      by: { mode: this.mode, ageAt: this.ageAt, steps: Math.max(1, frame.device.events) },
      filter: this.filter,
      mark: this.markLook,
    };
    return this.look;
  }
}
