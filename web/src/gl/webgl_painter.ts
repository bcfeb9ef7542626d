// The strata through WebGL2. One integer texture per tile, uploaded as it came; one draw call per
// tile and frame.
import type { Tile } from "../api/tile";
import { MODES, PALETTE_SIZE } from "./colours";
import { type Filter, isFiltering, type Look, type Painter, type Picture } from "./painter";
import { FILTER_WIDTH, FRAGMENT_SHADER, QUADS_PER_ROW, VERTEX_SHADER } from "./quad_shader";
import { linkProgram, plainSampling, quadTexture, rendererName } from "./webgl_parts";

const UNIFORMS = [
  "u_quads",
  "u_filter",
  "u_x",
  "u_y",
  "u_size",
  "u_palette",
  "u_mode",
  "u_filter_keys",
  "u_filter_rest",
  "u_mark",
  "u_age_at",
  "u_steps",
  "u_seam",
  "u_ratio",
] as const;
type Uniform = (typeof UNIFORMS)[number];

const MOST_FILTER_KEYS = FILTER_WIDTH * 1024;

export class WebGlPainter implements Painter {
  readonly name: string;
  private readonly textures = new Map<Tile, WebGLTexture>();
  private readonly at: Record<Uniform, WebGLUniformLocation | null>;
  private readonly filterTexture: WebGLTexture | null;
  private filter: Filter | null = null;
  private filterKeys = 0;
  private look: Look | null = null;
  private ratio = 1;

  /** null: this browser or machine has no WebGL2 that works. */
  static create(canvas: HTMLCanvasElement): WebGlPainter | null {
    const gl = canvas.getContext("webgl2", { antialias: false, depth: false, stencil: false });
    if (!gl) return null;
    const program = linkProgram(gl, VERTEX_SHADER, FRAGMENT_SHADER);
    return program ? new WebGlPainter(canvas, gl, program) : null;
  }

  private constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
    private readonly program: WebGLProgram,
  ) {
    this.name = rendererName(gl);
    const entries = UNIFORMS.map((name) => [name, gl.getUniformLocation(program, name)]);
    this.at = Object.fromEntries(entries) as Record<Uniform, WebGLUniformLocation | null>;
    gl.bindVertexArray(gl.createVertexArray());
    this.filterTexture = this.newTexture();
    gl.useProgram(program);
    gl.uniform1i(this.at.u_quads, 0);
    gl.uniform1i(this.at.u_filter, 1);
    this.uploadFilter(null);
  }

  resize(width: number, height: number, ratio: number): void {
    this.ratio = ratio;
    if (this.canvas.width === width && this.canvas.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
  }

  draw(pictures: readonly Picture[]): void {
    const { gl } = this;
    if (gl.isContextLost()) return;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.at.u_size, this.canvas.width, this.canvas.height);
    gl.uniform1f(this.at.u_ratio, this.ratio);
    gl.enable(gl.SCISSOR_TEST);
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
      gl.uniform2f(this.at.u_x, placed.xScale, placed.xOffset);
      gl.uniform2f(this.at.u_y, placed.yScale, placed.yOffset);
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
    this.gl.deleteProgram(this.program);
  }

  private useLook(look: Look): void {
    const { gl } = this;
    const colours = new Float32Array(PALETTE_SIZE * 3);
    colours.set(look.palette.flatMap((rgb) => rgb.map((part) => part / 255)));
    gl.uniform3fv(this.at.u_palette, colours);
    const [r, g, b, alpha] = look.seam;
    gl.uniform4f(this.at.u_seam, r / 255, g / 255, b / 255, alpha);
    gl.uniform1i(this.at.u_mode, MODES.indexOf(look.by.mode));
    gl.uniform1i(this.at.u_mark, ["none", "fade", "only"].indexOf(look.mark));
    gl.uniform1f(this.at.u_age_at, look.by.ageAt);
    gl.uniform1f(this.at.u_steps, look.by.steps);
    if (this.filter !== look.filter) {
      this.filter = look.filter;
      this.uploadFilter(look.filter);
    }
    gl.uniform1i(this.at.u_filter_keys, this.filterKeys);
    gl.uniform1i(this.at.u_filter_rest, look.filter.restHidden ? 1 : 0);
    this.look = look;
  }

  /** Texel: 0 not listed, 1 hidden, 2 listed and shown. */
  private uploadFilter(filter: Filter | null): void {
    const { gl } = this;
    let states = new Uint8Array(FILTER_WIDTH);
    this.filterKeys = 0;
    if (filter && isFiltering(filter)) {
      const keys = [...filter.listed, ...filter.hidden].filter(
        (key) => key >= 0 && key < MOST_FILTER_KEYS,
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
    const texture = quadTexture(this.gl, tile.words, tile.quads, QUADS_PER_ROW);
    if (texture) this.textures.set(tile, texture);
    return texture;
  }
}
