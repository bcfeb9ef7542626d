// The canvas of a picture and its painter: WebGL2 where it works, else Canvas 2D. The browser
// restores a lost context; a new painter then uploads everything again.

export interface Disposable {
  readonly name: string;
  dispose(): void;
}

export interface PainterFactories<P> {
  webGl: (canvas: HTMLCanvasElement) => P | null;
  canvas: (canvas: HTMLCanvasElement) => P;
}

export class PainterCanvas<P extends Disposable> {
  painter: P;
  private readonly off = new AbortController();

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly factories: PainterFactories<P>,
    allowGl: boolean,
    private readonly onDrawnBy: (name: string) => void,
    onRestored: () => void,
  ) {
    this.painter = this.make(allowGl);
    const { signal } = this.off;
    canvas.addEventListener("webglcontextlost", (event) => event.preventDefault(), { signal });
    const restore = () => {
      this.painter = this.make(true);
      onRestored();
    };
    canvas.addEventListener("webglcontextrestored", restore, { signal });
  }

  /** Places the canvas: its corner in CSS pixels, its size in device pixels. */
  place(left: number, top: number, width: number, height: number, ratio: number): void {
    const { style } = this.canvas;
    style.left = `${left}px`;
    style.top = `${top}px`;
    style.width = `${width / ratio}px`;
    style.height = `${height / ratio}px`;
  }

  dispose(): void {
    this.off.abort();
    this.painter.dispose();
  }

  private make(allowGl: boolean): P {
    const painter =
      (allowGl ? this.factories.webGl(this.canvas) : null) ?? this.factories.canvas(this.canvas);
    this.onDrawnBy(painter.name);
    return painter;
  }
}

/** "?gl=0" in the address: draw without WebGL. */
export function glAllowed(): boolean {
  return new URLSearchParams(location.search).get("gl") !== "0";
}
