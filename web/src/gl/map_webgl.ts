// The address map through WebGL2: two textures per tile, uploaded once; two draw calls per tile.
import { HUES, type MapTile } from "../api/map";
import { STRIPE } from "./colour_rules";
import { MAP_PALETTE_SIZE, type MapLook, type MapPainter, type PlacedMap } from "./map_painter";
import { MAP_QUAD_FRAGMENT, MAP_QUAD_VERTEX, PLANE_FRAGMENT, PLANE_VERTEX } from "./map_shader";
import { OnCanvas, placeOf } from "./painter";
import {
  clearPicture,
  openWebGl,
  Program,
  plainSampling,
  quadTexture,
  rendererName,
} from "./webgl";

interface Textures {
  quads: WebGLTexture | null;
  plane: WebGLTexture | null;
}

export class MapWebGl extends OnCanvas implements MapPainter {
  readonly name: string;
  private readonly textures = new Map<MapTile, Textures>();

  /** null: this browser or machine has no WebGL2 that works. */
  static create(canvas: HTMLCanvasElement): MapWebGl | null {
    const gl = openWebGl(canvas);
    if (!gl) return null;
    const planes = Program.link(gl, PLANE_VERTEX, PLANE_FRAGMENT);
    const quads = Program.link(gl, MAP_QUAD_VERTEX, MAP_QUAD_FRAGMENT);
    return planes && quads ? new MapWebGl(canvas, gl, planes, quads) : null;
  }

  private constructor(
    canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
    private readonly planes: Program,
    private readonly quads: Program,
  ) {
    super(canvas);
    this.name = rendererName(gl);
    gl.bindVertexArray(gl.createVertexArray());
  }

  draw(tiles: readonly PlacedMap[], look: MapLook): void {
    const { gl } = this;
    if (gl.isContextLost()) return;
    if (this.shows([look, ...tiles.flatMap(placeOf)])) return;
    clearPicture(gl);
    gl.activeTexture(gl.TEXTURE0);
    this.use(this.planes, look);
    for (const placed of tiles) this.drawPlane(placed);
    this.use(this.quads, look);
    for (const placed of tiles) this.drawQuads(placed);
  }

  forget(tile: MapTile): void {
    const known = this.textures.get(tile);
    if (!known) return;
    this.gl.deleteTexture(known.quads);
    this.gl.deleteTexture(known.plane);
    this.textures.delete(tile);
  }

  dispose(): void {
    for (const tile of [...this.textures.keys()]) this.forget(tile);
    this.gl.deleteProgram(this.planes.program);
    this.gl.deleteProgram(this.quads.program);
  }

  private use(program: Program, look: MapLook): void {
    const { gl } = this;
    const share = (rgb: readonly number[] | undefined) => (rgb ?? [0, 0, 0]).map((c) => c / 255);
    gl.useProgram(program.program);
    const colours = new Float32Array(MAP_PALETTE_SIZE * 3);
    colours.set(look.palette.flatMap(share));
    gl.uniform3fv(program.at("u_palette"), colours);
    gl.uniform2f(program.at("u_size"), this.canvas.width, this.canvas.height);
    gl.uniform1i(program.at("u_mark"), ["none", "fade", "only"].indexOf(look.mark));
    gl.uniform3fv(program.at("u_tint"), share(look.tint));
    gl.uniform1i(program.at("u_red_cells"), look.redCells ? 1 : 0);
    if (program !== this.quads) return;
    gl.uniform1i(program.at("u_red"), look.red ? 1 : 0);
    gl.uniform1f(program.at("u_ratio"), this.ratio);
    gl.uniform3fv(program.at("u_outline"), share(look.outline));
    gl.uniform3fv(program.at("u_stripe"), share(look.palette[STRIPE]));
    gl.uniform1i(program.at("u_mode"), HUES.indexOf(look.mode));
    gl.uniform2f(program.at("u_ramp"), look.ramp[0], look.ramp[1]);
  }

  private put(program: Program, placed: PlacedMap): void {
    const { gl } = this;
    const [left, right, low, high] = placed.clip;
    gl.scissor(left, low, Math.max(0, right - left), Math.max(0, high - low));
    gl.uniform2f(program.at("u_x"), placed.xScale, placed.xOffset);
    gl.uniform2f(program.at("u_y"), placed.yScale, placed.yOffset);
  }

  private drawPlane(placed: PlacedMap): void {
    const { gl, planes } = this;
    this.put(planes, placed);
    gl.bindTexture(gl.TEXTURE_2D, this.texturesOf(placed.tile).plane);
    gl.uniform2f(planes.at("u_cells"), placed.tile.columns, placed.tile.rows);
    gl.uniform1f(planes.at("u_bytes"), placed.tile.y1 - placed.tile.y0);
    gl.drawArrays(gl.TRIANGLES, 0, 6);
  }

  private drawQuads(placed: PlacedMap): void {
    const { gl, quads } = this;
    if (placed.tile.quads === 0) return;
    this.put(quads, placed);
    gl.bindTexture(gl.TEXTURE_2D, this.texturesOf(placed.tile).quads);
    gl.drawArrays(gl.TRIANGLES, 0, placed.tile.quads * 6);
  }

  private texturesOf(tile: MapTile): Textures {
    const known = this.textures.get(tile);
    if (known) return known;
    const { gl } = this;
    const plane = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, plane);
    plainSampling(gl);
    gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA8, tile.columns, tile.rows);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texSubImage2D(
      gl.TEXTURE_2D,
      0,
      0,
      0,
      tile.columns,
      tile.rows,
      gl.RGBA,
      gl.UNSIGNED_BYTE,
      tile.cells,
    );
    const quads = tile.quads > 0 ? quadTexture(gl, tile.words, tile.quads) : null;
    const made = { quads, plane };
    this.textures.set(tile, made);
    return made;
  }
}
