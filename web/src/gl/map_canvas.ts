// The address map without WebGL2: the planes as a picture that is stretched, the quads one by one.
import { MapFlag, type MapTile, mapQuadAt } from "../api/map";
import { css } from "./colours";
import { cellColour, type MapLook, type MapPainter, mapFill, type PlacedMap } from "./map_painter";
import { OnCanvas } from "./painter";

export class MapCanvas extends OnCanvas implements MapPainter {
  readonly name = "Canvas, no WebGL";
  private readonly context: CanvasRenderingContext2D | null;
  private planes = new Map<MapTile, HTMLCanvasElement>();
  private look: MapLook | null = null;

  constructor(canvas: HTMLCanvasElement) {
    super(canvas);
    this.context = canvas.getContext("2d");
  }

  draw(tiles: readonly PlacedMap[], look: MapLook): void {
    const c = this.context;
    if (!c) return;
    if (this.look !== look) this.planes.clear();
    this.look = look;
    const { height } = this.canvas;
    c.clearRect(0, 0, this.canvas.width, height);
    for (const placed of tiles) {
      const [left, right, low, high] = placed.clip;
      c.save();
      c.beginPath();
      c.rect(left, height - high, right - left, high - low);
      c.clip();
      this.drawPlane(c, placed, look);
      for (let index = 0; index < placed.tile.quads; index += 1) {
        this.drawQuad(c, placed, index, look);
      }
      c.restore();
    }
  }

  forget(tile: MapTile): void {
    this.planes.delete(tile);
  }

  dispose(): void {
    this.planes.clear();
  }

  private drawPlane(c: CanvasRenderingContext2D, placed: PlacedMap, look: MapLook): void {
    const { tile } = placed;
    const bottom = this.canvas.height - placed.yOffset;
    const tall = placed.yScale * (tile.y1 - tile.y0);
    const wide = placed.xScale * tile.columns;
    c.imageSmoothingEnabled = false;
    c.drawImage(this.planeOf(tile, look), placed.xOffset, bottom - tall, wide, tall);
  }

  private planeOf(tile: MapTile, look: MapLook): HTMLCanvasElement {
    const known = this.planes.get(tile);
    if (known) return known;
    const made = document.createElement("canvas");
    made.width = tile.columns;
    made.height = tile.rows;
    const d = made.getContext("2d");
    if (d) {
      const image = d.createImageData(tile.columns, tile.rows);
      const { cells } = tile;
      for (let row = 0; row < tile.rows; row += 1) {
        for (let column = 0; column < tile.columns; column += 1) {
          const from = (row * tile.columns + column) * 4;
          const cell = [cells[from] ?? 0, cells[from + 1] ?? 0, cells[from + 2] ?? 0] as const;
          if (cell[0] === 0 && cell[1] === 0) continue;
          const [rgb, alpha] = cellColour(cell, look);
          const to = ((tile.rows - 1 - row) * tile.columns + column) * 4;
          image.data.set([...rgb, Math.round(alpha * 255)], to);
        }
      }
      d.putImageData(image, 0, 0);
    }
    this.planes.set(tile, made);
    return made;
  }

  private drawQuad(
    c: CanvasRenderingContext2D,
    placed: PlacedMap,
    index: number,
    look: MapLook,
  ): void {
    const quad = mapQuadAt(placed.tile, index);
    const left = Math.round(placed.xScale * quad.column0 + placed.xOffset);
    const right = Math.max(left + 1, Math.round(placed.xScale * quad.column1 + placed.xOffset));
    if (right <= placed.clip[0] || left >= placed.clip[1]) return;
    const low = Math.round(placed.yScale * quad.low + placed.yOffset);
    const high = Math.max(low + 1, Math.round(placed.yScale * quad.high + placed.yOffset));
    if (high <= placed.clip[2] || low >= placed.clip[3]) return;
    const top = this.canvas.height - high;
    const line = this.ratio;
    if ((quad.flags & MapFlag.segment) !== 0) {
      if (right - left < 6 * line || high - low < 6 * line) return;
      c.strokeStyle = css(look.outline);
      c.lineWidth = line;
      c.strokeRect(left + line / 2, top + line / 2, right - left - line, high - low - line);
      return;
    }
    const seam = high - low > 4 * line ? line : 0;
    c.fillStyle = css(mapFill(quad, look));
    c.fillRect(left, top + seam, right - left, high - low - seam);
    if (seam > 0) {
      c.fillStyle = css(look.tint);
      c.fillRect(left, top, right - left, seam);
    }
  }
}
