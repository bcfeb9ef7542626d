// The stacked blocks through WebGL2. One integer texture per tile, uploaded as it came; one draw
// call per tile and frame.
import { LEGENDS } from "../api/contract";
import type { Tile } from "../api/tile";
import { PALETTE_SIZE } from "./colour_rules";
import {
  type Filter,
  isFiltering,
  type Look,
  OnCanvas,
  type Painter,
  type Picture,
  placeOf,
} from "./painter";
import { FILTER_WIDTH, FRAGMENT_SHADER, VERTEX_SHADER } from "./quad_shader";
import {
  clearPicture,
  openWebGl,
  Program,
  plainSampling,
  quadTexture,
  rendererName,
} from "./webgl";

const MAX_FILTER_KEYS = FILTER_WIDTH * 1024;

export class WebGlPainter extends OnCanvas implements Painter {
  readonly name: string;
  private readonly textures = new Map<Tile, WebGLTexture>();
  private readonly filterTexture: WebGLTexture | null;
  private filter: Filter | null = null;
  private filterKeys = 0;
  private look: Look | null = null;

  /** null: this browser or machine has no WebGL2 that works. */
  static create(canvas: HTMLCanvasElement): WebGlPainter | null {
    const gl = openWebGl(canvas);
    const program = gl && Program.link(gl, VERTEX_SHADER, FRAGMENT_SHADER);
    return gl && program ? new WebGlPainter(canvas, gl, program) : null;
  }

  private constructor(
    canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
    private readonly program: Program,
  ) {
    super(canvas);
    this.name = rendererName(gl);
    gl.bindVertexArray(gl.createVertexArray());
    this.filterTexture = this.newTexture();
    gl.useProgram(program.program);
    gl.uniform1i(this.program.at("u_quads"), 0);
    gl.uniform1i(this.program.at("u_filter"), 1);
    this.uploadFilter(null);
  }

  draw(pictures: readonly Picture[]): void {
    const { gl } = this;
    if (gl.isContextLost()) return;
    if (this.shows(pictures.flatMap((one) => [one.look, ...one.tiles.flatMap(placeOf)]))) return;
    clearPicture(gl);
    gl.uniform2f(this.program.at("u_size"), this.canvas.width, this.canvas.height);
    gl.uniform1f(this.program.at("u_ratio"), this.ratio);
    for (const picture of pictures) {
      if (this.look !== picture.look) this.useLook(picture.look);
      this.drawTiles(picture);
    }
  }

  private drawTiles({ tiles }: Picture): void {
    const { gl } = this;
    gl.activeTexture(gl.TEXTURE0);
    for (const placed of tiles) {
      if (placed.tile.quads === 0) continue;
      const { clip, rows } = placed;
      gl.scissor(clip[0], rows[0], Math.max(0, clip[1] - clip[0]), Math.max(0, rows[1] - rows[0]));
      gl.bindTexture(gl.TEXTURE_2D, this.textureOf(placed.tile));
      gl.uniform2f(this.program.at("u_x"), placed.xScale, placed.xOffset);
      gl.uniform2f(this.program.at("u_y"), placed.yScale, placed.yOffset);
      gl.drawArrays(gl.TRIANGLES, 0, placed.tile.quads * 6);
    }
  }

  forget(tile: Tile): void {
    const texture = this.textures.get(tile);
    if (texture) this.gl.deleteTexture(texture);
    this.textures.delete(tile);
  }

  dispose(): void {
    for (const tile of [...this.textures.keys()]) this.forget(tile);
    this.gl.deleteTexture(this.filterTexture);
    this.gl.deleteProgram(this.program.program);
  }

  private useLook(look: Look): void {
    const { gl } = this;
    const colours = new Float32Array(PALETTE_SIZE * 3);
    colours.set(look.palette.flatMap((rgb) => rgb.map((part) => part / 255)));
    gl.uniform3fv(this.program.at("u_palette"), colours);
    const [r, g, b, alpha] = look.seam;
    gl.uniform4f(this.program.at("u_seam"), r / 255, g / 255, b / 255, alpha);
    gl.uniform1i(this.program.at("u_mode"), LEGENDS.indexOf(look.by.mode));
    gl.uniform1i(this.program.at("u_mark"), ["none", "fade", "only"].indexOf(look.mark));
    gl.uniform1f(this.program.at("u_age_at"), look.by.ageAt);
    gl.uniform1f(this.program.at("u_steps"), look.by.steps);
    if (this.filter !== look.filter) {
      this.filter = look.filter;
      this.uploadFilter(look.filter);
    }
    gl.uniform1i(this.program.at("u_filter_keys"), this.filterKeys);
    gl.uniform1i(this.program.at("u_filter_rest"), look.filter.restHidden ? 1 : 0);
    this.look = look;
  }

  /** Texel: 0 not listed, 1 hidden, 2 listed and shown. */
  private uploadFilter(filter: Filter | null): void {
    const { gl } = this;
    let states = new Uint8Array(FILTER_WIDTH);
    this.filterKeys = 0;
    if (filter && isFiltering(filter)) {
      const keys = [...filter.listed, ...filter.hidden].filter(
        (key) => key >= 0 && key < MAX_FILTER_KEYS,
      );
      this.filterKeys = keys.reduce((most, key) => Math.max(most, key + 1), 0);
      states = new Uint8Array(
        FILTER_WIDTH * Math.max(1, Math.ceil(this.filterKeys / FILTER_WIDTH)),
      );
      for (const key of keys) states[key] = filter.hidden.has(key) ? 1 : 2;
    }
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, this.filterTexture);
    gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
    gl.texImage2D(
      gl.TEXTURE_2D,
      0,
      gl.R8UI,
      FILTER_WIDTH,
      states.length / FILTER_WIDTH,
      0,
      gl.RED_INTEGER,
      gl.UNSIGNED_BYTE,
      states,
    );
    gl.activeTexture(gl.TEXTURE0);
  }

  private newTexture(): WebGLTexture | null {
    const { gl } = this;
    const texture = gl.createTexture();
    gl.activeTexture(gl.TEXTURE1);
    gl.bindTexture(gl.TEXTURE_2D, texture);
    plainSampling(gl);
    return texture;
  }

  private textureOf(tile: Tile): WebGLTexture | null {
    const known = this.textures.get(tile);
    if (known) return known;
    const texture = quadTexture(this.gl, tile.words, tile.quads);
    if (texture) this.textures.set(tile, texture);
    return texture;
  }
}
