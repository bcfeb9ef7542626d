// The canvas of a picture and who paints on it: WebGL2 where it works, else Canvas 2D. A lost
// context comes back by itself; what was uploaded to it is uploaded again.

export interface Disposable {
  readonly name: string;
  dispose(): void;
}

export interface Makers<P> {
  webGl: (canvas: HTMLCanvasElement) => P | null;
  canvas: (canvas: HTMLCanvasElement) => P;
}

export class Glass<P extends Disposable> {
  painter: P;
  private readonly off = new AbortController();

  constructor(
    readonly canvas: HTMLCanvasElement,
    private readonly makers: Makers<P>,
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

  /** Where the glass lies: CSS pixels, and its size in device pixels. */
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
      (allowGl ? this.makers.webGl(this.canvas) : null) ?? this.makers.canvas(this.canvas);
    this.onDrawnBy(painter.name);
    return painter;
  }
}

/** "?gl=0" in the address: draw without WebGL. */
export function glAllowed(): boolean {
  return new URLSearchParams(location.search).get("gl") !== "0";
}
