// The stacked blocks without WebGL2: the same tiles, rectangle by rectangle on a Canvas 2D.
import { type Quad, QuadFlag, quadAt, type Tile } from "../api/tile";
import { FILTERED, STRIPE } from "./colour_rules";
import { colourOf, css, mix, type Rgb } from "./colours";
import { isHidden, type Look, OnCanvas, type Painter, type Picture, type Placed } from "./painter";

interface Fill {
  colour: Rgb;
  hatched: boolean;
  seam: boolean;
  /** many small blocks in one */
  many: boolean;
}

function fillOf(quad: Quad, look: Look): Fill {
  const { colour: place, key } = colourOf(quad, look.by);
  const plain = look.palette[place] ?? [128, 128, 128];
  const grey = look.palette[FILTERED] ?? [128, 128, 128];
  const marked = (quad.flags & QuadFlag.marked) !== 0;
  const merged = (quad.flags & QuadFlag.merged) !== 0;
  const filtered = (quad.flags & QuadFlag.filtered) !== 0;
  const hidden = filtered || isHidden(key, look.filter);
  if (hidden || (look.mark === "only" && !marked)) {
    return { colour: grey, hatched: false, seam: false, many: false };
  }
  const colour = look.mark === "fade" && !marked ? mix(plain, grey, 0.28) : plain;
  const traced = quad.provenance === 0;
  return { colour, hatched: !traced, seam: !merged && traced, many: merged };
}

export class CanvasPainter extends OnCanvas implements Painter {
  readonly name = "Canvas, no WebGL";
  private readonly context: CanvasRenderingContext2D | null;
  private stripes: { key: string; pattern: CanvasPattern | null } | null = null;

  constructor(canvas: HTMLCanvasElement) {
    super(canvas);
    this.context = canvas.getContext("2d");
  }

  draw(pictures: readonly Picture[]): void {
    const c = this.context;
    if (!c) return;
    c.clearRect(0, 0, this.canvas.width, this.canvas.height);
    for (const picture of pictures) this.drawPicture(c, picture);
  }

  private drawPicture(c: CanvasRenderingContext2D, { tiles, look }: Picture): void {
    const hatch = this.hatch(c, look.palette[STRIPE] ?? [128, 128, 128]);
    const seam = `rgb(${look.seam[0]} ${look.seam[1]} ${look.seam[2]})`;
    for (const placed of tiles) {
      c.save();
      c.beginPath();
      const { clip, rows } = placed;
      c.rect(clip[0], this.canvas.height - rows[1], clip[1] - clip[0], rows[1] - rows[0]);
      c.clip();
      for (let index = 0; index < placed.tile.quads; index += 1) {
        this.drawQuad(c, placed, quadAt(placed.tile, index), look, hatch, seam);
      }
      c.restore();
    }
  }

  forget(_tile: Tile): void {
    // nothing is kept per tile
  }

  dispose(): void {
    this.stripes = null;
  }

  private drawQuad(
    c: CanvasRenderingContext2D,
    placed: Placed,
    quad: Quad,
    look: Look,
    hatch: CanvasPattern | null,
    seam: string,
  ): void {
    const left = Math.round(placed.xScale * quad.column0 + placed.xOffset);
    const right = Math.round(placed.xScale * quad.column1 + placed.xOffset);
    const bottom = this.canvas.height - Math.round(placed.yScale * quad.low + placed.yOffset);
    const top = this.canvas.height - Math.round(placed.yScale * quad.high + placed.yOffset);
    if (right <= placed.clip[0] || left >= placed.clip[1] || bottom <= top) return;
    if (bottom <= 0 || top >= this.canvas.height) return;
    const fill = fillOf(quad, look);
    c.fillStyle = css(fill.colour);
    c.fillRect(left, top, right - left, bottom - top);
    if (fill.hatched && hatch) {
      c.fillStyle = hatch;
      c.fillRect(left, top, right - left, bottom - top);
    }
    if ((quad.flags & QuadFlag.pending) !== 0) {
      c.fillStyle = seam;
      c.globalAlpha = 0.18;
      c.fillRect(left, top, right - left, bottom - top);
      c.globalAlpha = 1;
    }
    const height = (bottom - top) / this.ratio;
    if (fill.many && height >= 5) {
      c.fillStyle = seam;
      c.globalAlpha = look.seam[3] * 0.7;
      for (let y = top; y < bottom; y += 3 * this.ratio) {
        c.fillRect(left, y, right - left, this.ratio);
      }
      c.globalAlpha = 1;
    }
    if (fill.seam && height >= 3) {
      c.fillStyle = seam;
      c.globalAlpha = look.seam[3] * (height >= 9 ? 1 : height >= 6 ? 0.7 : 0.4);
      c.fillRect(left, top, right - left, this.ratio);
      c.globalAlpha = 1;
    }
  }

  private hatch(c: CanvasRenderingContext2D, stripe: Rgb): CanvasPattern | null {
    const key = `${css(stripe)} ${this.ratio}`;
    if (this.stripes?.key === key) return this.stripes.pattern;
    const size = Math.round(7 * this.ratio);
    const cell = document.createElement("canvas");
    cell.width = size;
    cell.height = size;
    const d = cell.getContext("2d");
    if (!d) return null;
    d.strokeStyle = css(stripe);
    d.lineWidth = 1.3 * this.ratio;
    for (const shift of [-size, 0, size]) {
      d.beginPath();
      d.moveTo(shift, size);
      d.lineTo(shift + size, 0);
      d.stroke();
    }
    this.stripes = { key, pattern: c.createPattern(cell, "repeat") };
    return this.stripes.pattern;
  }
}
