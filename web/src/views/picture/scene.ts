// A picture without components: it holds what is visible and paints at most once per frame, when
// something changed. A view feeds it and listens.
//
//   back canvas   grid, staff, hatch          redrawn per frame, cheap
//   blocks canvas the quads, WebGL2           two uniforms per tile and frame
//   front canvas  lines, marks, selection     redrawn per frame, cheap
import { RETRY_AFTER_MS } from "../../gl/answer_cache";
import type { OnCanvas } from "../../gl/painter";
import { type Disposable, PainterCanvas, type PainterFactories } from "../../gl/painter_canvas";
import { Sharpness } from "../../gl/sharpness";
import { SOFTWARE } from "../../gl/webgl";
import { pixelRatio } from "../../ui/plot";
import type { Plot } from "./window/frame";

export interface Canvases {
  back: HTMLCanvasElement;
  blocks: HTMLCanvasElement;
  front: HTMLCanvasElement;
  minimap: HTMLCanvasElement;
}

export interface Listener {
  onArrival: (engineMs: number) => void;
  onError: (error: unknown) => void;
  onDrawnBy: (name: string) => void;
  /** what a column of the picture stands for, and the lowest block that is drawn as itself */
  onResolution?: (steps: number, bytes: number) => void;
}

export interface Stats {
  quads: number;
  tiles: number;
  frames: number;
  lastTileMs: number;
  /** requests to the server that have no answer yet */
  readonly waiting: number;
  /** no request is open, and no frame is to be painted */
  readonly idle: boolean;
  /** side by side: what is in sight, CSS pixels of the picture */
  lanes?: readonly { key: string; top: number; bottom: number; bytesPerPixel: number }[];
}

declare global {
  interface Window {
    /** read-only figures for tests and for the curious */
    tidegaugeStats?: Readonly<Stats>;
  }
}

type Place = Pick<Plot, "left" | "right" | "top" | "bottom">;
type Fitted = { width: number; height: number; ratio: number };

export abstract class PictureScene<P extends Disposable & Pick<OnCanvas, "resize">> {
  readonly stats: Stats = this.newStats();
  protected readonly blocks: PainterCanvas<P>;
  private readonly sharpness = new Sharpness(() => this.redraw());
  private ticket = 0;
  private retry = 0;
  private readonly observer = new ResizeObserver(() => this.redraw());

  constructor(
    canvases: Pick<Canvases, "blocks" | "front">,
    factories: PainterFactories<P>,
    protected readonly listener: Listener,
    allowGl: boolean,
  ) {
    this.blocks = new PainterCanvas<P>(
      canvases.blocks,
      factories,
      allowGl,
      listener.onDrawnBy,
      () => this.redraw(),
    );
    this.observer.observe(canvases.front);
  }

  dispose(): void {
    cancelAnimationFrame(this.ticket);
    this.ticket = 0;
    window.clearTimeout(this.retry);
    this.observer.disconnect();
    this.sharpness.dispose();
    this.blocks.dispose();
  }

  redraw(): void {
    if (this.ticket !== 0) return;
    this.ticket = requestAnimationFrame((now) => {
      this.ticket = 0;
      if (this.paint(now)) this.redraw();
    });
  }

  /**
   * Fits the canvas of the blocks to a place in CSS pixels; `view` are the ends of the axes. Returns
   * its size, and how many device pixels a CSS pixel has.
   */
  protected fitBlocks(place: Place, view: readonly number[]): Fitted {
    const { painter } = this.blocks;
    const ratio = pixelRatio() * this.sharpness.of(view, painter.name === SOFTWARE);
    const width = Math.round((place.right - place.left) * ratio);
    const height = Math.round((place.bottom - place.top) * ratio);
    this.blocks.place(place.left, place.top, width, height, ratio);
    painter.resize(width, height, ratio);
    return { width, height, ratio };
  }

  /** Another recording is shown, or this one has grown: the axes change without a movement. */
  protected anew(): void {
    this.sharpness.anew();
  }

  /** True: the next frame shows more of the same movement. */
  protected abstract paint(now: number): boolean;

  /** How many requests have no answer yet. */
  protected abstract get waiting(): number;

  /** A tile is here, with the time that the engine took; null: something else. */
  protected arrived(engineMs: number | null): void {
    if (engineMs !== null) {
      this.stats.lastTileMs = engineMs;
      this.listener.onArrival(engineMs);
    }
    this.redraw();
  }

  private newStats(): Stats {
    const waiting = () => this.waiting;
    const isIdle = () => this.ticket === 0 && this.waiting === 0;
    return {
      quads: 0,
      tiles: 0,
      frames: 0,
      lastTileMs: 0,
      get waiting() {
        return waiting();
      },
      get idle() {
        return isIdle();
      },
    };
  }

  protected failed(error: unknown): void {
    this.listener.onError(error);
    // the user may not move the picture: retry when the server may be asked again
    window.clearTimeout(this.retry);
    this.retry = window.setTimeout(() => this.redraw(), RETRY_AFTER_MS + 50);
  }
}

export function isDark(): boolean {
  return document.documentElement.dataset.theme === "dark";
}
