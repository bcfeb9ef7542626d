// The timeline as a machine: holds the window, asks for tiles, paints when something changed. It
// knows nothing of components; timeline_view.tsx feeds it and listens.
//
//   back canvas   grid, staff, hatch          redrawn per frame, cheap
//   glass         the strata, WebGL2          two uniforms per tile and frame
//   front canvas  lines, marks, selection     redrawn per frame, cheap
import type { Annotation, LegendBy } from "../../api/contract";
import type { Shape, Tile } from "../../api/tile";
import { RETRY_AFTER_MS } from "../../gl/answer_cache";
import { CanvasPainter } from "../../gl/canvas_painter";
import { palette } from "../../gl/colours";
import { type Filter, type Look, NO_FILTER, type Painter, parseRgba } from "../../gl/painter";
import { WebGlPainter } from "../../gl/webgl_painter";
import type { Range } from "../../state/url";
import { pixelRatio, surface, Tokens } from "../../ui/plot";
import { drawBack } from "./back_layer";
import { drawable } from "./bands";
import { fittedBytes } from "./fit";
import { type Frame, lanesOf, type OomMark, type Plot, plotOf } from "./frame";
import { drawFront } from "./front_layer";
import { samples } from "./line_sampler";
import { drawMinimap } from "./minimap";
import { type Under, underPixel } from "./pick";
import type { Canvases, Listener, Stats, Subject } from "./scene_parts";
import { type Ask, type Choice, type Shown, Source } from "./source";
import { placeTiles } from "./strata";
import { between, clampRange, everything } from "./window";

const SLIDE_MS = 280;
const FIT_MS = 160;

export class TimelineScene {
  readonly stats: Stats = { quads: 0, tiles: 0, frames: 0, lastTileMs: 0, waiting: 0 };
  subject: Subject | null = null;
  x: Range = [0, 1];
  /** null: fitted */
  y: Range | null = null;
  cursor: number | null = null;
  hover: { position: number; id: number | null } | null = null;
  selected: number | null = null;
  shape: { shape: Shape; x0: number; column: number; slot: number } | null = null;
  frame: Frame | null = null;

  private painter: Painter;
  private readonly source: Source;
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
  private slide: { from: Range; to: Range; start: number } | null = null;
  private ticket = 0;
  private retry = 0;
  private lastFrame = 0;
  private readonly observer = new ResizeObserver(() => this.redraw());

  constructor(
    private readonly canvases: Canvases,
    private readonly listener: Listener,
    allowGl: boolean,
  ) {
    this.painter = this.newPainter(allowGl);
    this.source = new Source(
      (tile) => this.arrived(tile),
      (tile) => this.painter.forget(tile),
      (error) => {
        listener.onError(error);
        // nobody may move the picture: look again when the server may be asked again
        window.clearTimeout(this.retry);
        this.retry = window.setTimeout(() => this.redraw(), RETRY_AFTER_MS + 50);
      },
    );
    this.observer.observe(canvases.front);
    canvases.glass.addEventListener("webglcontextlost", (event) => event.preventDefault());
    canvases.glass.addEventListener("webglcontextrestored", () => {
      this.painter = this.newPainter(true);
      this.redraw();
    });
  }

  dispose(): void {
    cancelAnimationFrame(this.ticket);
    window.clearTimeout(this.retry);
    this.observer.disconnect();
    this.source.dispose();
    this.painter.dispose();
  }

  setSubject(subject: Subject, x: Range | null, y: Range | null): void {
    this.subject = subject;
    this.source.setPlace(subject.place, subject.domain);
    this.x = clampRange(x ?? everything(subject.domain), subject.domain);
    this.y = y;
    this.shape = null;
    this.hover = null;
    this.slide = null;
    this.fitted = [0, 0];
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

  /** At once while a hand moves it; gliding when the page jumps. */
  moveTo(x: Range, glide: boolean): void {
    if (!this.subject) return;
    const to = clampRange(x, this.subject.domain);
    if (glide && !matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.slide = { from: this.x, to, start: performance.now() };
    } else {
      this.slide = null;
      this.x = to;
    }
    this.redraw();
  }

  /** Where the window is, or where it is gliding to. */
  get target(): Range {
    return this.slide?.to ?? this.x;
  }

  get bytes(): Range {
    return this.y ?? this.fitted;
  }

  redraw(): void {
    if (this.ticket !== 0) return;
    this.ticket = requestAnimationFrame((now) => {
      this.ticket = 0;
      this.paint(now);
    });
  }

  under(pixelX: number, pixelY: number): Under | null {
    return this.frame ? underPixel(this.frame, pixelX, pixelY) : null;
  }

  private newPainter(allowGl: boolean): Painter {
    const gl = allowGl ? WebGlPainter.create(this.canvases.glass) : null;
    const painter = gl ?? new CanvasPainter(this.canvases.glass);
    this.listener.onDrawnBy(painter.name);
    return painter;
  }

  private arrived(tile: Tile | null): void {
    this.stats.waiting = this.source.waiting;
    if (tile) {
      this.stats.lastTileMs = tile.engineMs;
      this.listener.onArrival(tile.engineMs);
    }
    this.redraw();
  }

  /** Glides and fits; true: another frame is needed. */
  private advance(now: number, width: number, height: number): boolean {
    let moving = false;
    if (this.slide) {
      const t = Math.min(1, (now - this.slide.start) / SLIDE_MS);
      this.x = between(this.slide.from, this.slide.to, 1 - (1 - t) ** 3);
      if (t >= 1) this.slide = null;
      else moving = true;
    }
    const { subject } = this;
    if (!subject) return moving;
    const ask = { ...this.ask(width, height), x: this.target };
    const list = samples(this.source.lineTiles(ask), ...this.target);
    const { device } = subject;
    const fallback = Math.max(device.peak.reserved.bytes, device.peak.active.bytes);
    const wanted = fittedBytes(list, this.ooms, this.target, device.ceiling_bytes, fallback);
    const away = Math.abs(this.fitted[1] - wanted[1]) / wanted[1];
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (this.fitted[1] === 0 || away < 0.002 || still) this.fitted = wanted;
    else {
      const t = Math.min(1, Math.max(8, now - this.lastFrame) / FIT_MS) * 0.6;
      this.fitted = between(this.fitted, wanted, Math.min(1, t * 2));
      moving = true;
    }
    return moving;
  }

  private ask(width: number, height: number): Ask {
    return { x: this.x, y: this.bytes, width, height, choice: this.choice };
  }

  private paint(now: number): void {
    const { subject } = this;
    const { lanes } = this;
    const back = surface(this.canvases.back, this.tokens);
    const front = surface(this.canvases.front, this.tokens);
    if (!subject || !back || !front) return;
    const plot = plotOf(front, lanes, this.ooms.length > 0);
    const ratio = pixelRatio();
    const width = Math.round((plot.right - plot.left) * ratio);
    const height = Math.round((plot.bottom - plot.top) * ratio);
    if (width <= 0 || height <= 0) return;
    const moving = this.advance(now, width, height);
    this.lastFrame = now;
    const ask = this.ask(width, height);
    this.source.want(this.slide ? { ...ask, x: this.slide.to } : ask);
    const frame: Frame = {
      domain: subject.domain,
      device: subject.device,
      x: this.x,
      y: this.bytes,
      plot,
      samples: samples(this.source.lineTiles(ask), ...this.x),
      shown: this.source.shown(ask),
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
    this.paintStrata(frame, plot, ratio, width, height);
    drawFront(front, frame);
    drawMinimap(this.canvases.minimap, this.tokens, {
      domain: subject.domain,
      x: this.x,
      coarse: this.source.coarse(),
      ooms: this.ooms,
    });
    this.stats.waiting = this.source.waiting;
    this.stats.frames += 1;
    if (moving) this.redraw();
  }

  private paintStrata(frame: Frame, plot: Plot, ratio: number, width: number, height: number) {
    const { style } = this.canvases.glass;
    style.left = `${plot.left}px`;
    style.top = `${plot.top}px`;
    style.width = `${width / ratio}px`;
    style.height = `${height / ratio}px`;
    this.painter.resize(width, height, ratio);
    this.painter.draw(placeTiles(frame, width, height), this.currentLook(frame));
    const widest = (value: (one: Shown) => number) => Math.max(0, ...frame.shown.map(value));
    this.listener.onResolution?.(
      widest((one) => one.column),
      widest((one) => one.tile.thresholdBytes),
    );
    this.stats.tiles = frame.shown.length;
    this.stats.quads = frame.shown.reduce((sum, one) => sum + one.tile.quads, 0);
  }

  private currentLook(frame: Frame): Look {
    if (this.look) return this.look;
    const dark = document.documentElement.dataset.theme === "dark";
    this.look = {
      palette: palette(this.tokens.get, dark),
      seam: parseRgba(this.tokens.get("seam")),
      by: { mode: this.mode, ageAt: this.ageAt, steps: Math.max(1, frame.device.events) },
      filter: this.filter,
      mark: this.markLook,
    };
    return this.look;
  }
}
