// What both painters of WebGL2 share: the context, programs, and quads as an integer texture.
import { QUAD_BYTES } from "../api/tile";

/** Quads per row of the texture; a quad is two texels of four words. */
const QUADS_PER_ROW = 512;

/** GLSL: which quad and corner a vertex belongs to, and where the quad's first texel lies. */
export const GLSL_TEXEL = `int quad = gl_VertexID / 6;
  int corner = gl_VertexID - quad * 6;
  ivec2 at = ivec2((quad & ${QUADS_PER_ROW - 1}) * 2, quad >> ${Math.log2(QUADS_PER_ROW)});`;

/** GLSL: the six corners of two triangles. */
export const GLSL_CORNERS = `bool is_right = corner == 1 || corner == 2 || corner == 4;
  bool is_top = corner == 2 || corner == 4 || corner == 5;`;

/** null: this browser or machine has no WebGL2. */
export function openWebGl(canvas: HTMLCanvasElement): WebGL2RenderingContext | null {
  return canvas.getContext("webgl2", { antialias: false, depth: false, stencil: false });
}

/** Everything transparent; from here on only what lies inside of a tile's clip is drawn. */
export function clearPicture(gl: WebGL2RenderingContext): void {
  gl.viewport(0, 0, gl.canvas.width, gl.canvas.height);
  gl.disable(gl.SCISSOR_TEST);
  gl.clearColor(0, 0, 0, 0);
  gl.clear(gl.COLOR_BUFFER_BIT);
  gl.enable(gl.SCISSOR_TEST);
}

/** A program and its uniforms, looked up once by name. */
export class Program {
  private readonly known = new Map<string, WebGLUniformLocation | null>();

  /** null: this machine cannot. */
  static link(gl: WebGL2RenderingContext, vertex: string, fragment: string): Program | null {
    const program = linkProgram(gl, vertex, fragment);
    return program ? new Program(gl, program) : null;
  }

  private constructor(
    private readonly gl: WebGL2RenderingContext,
    readonly program: WebGLProgram,
  ) {}

  at(name: string): WebGLUniformLocation | null {
    let found = this.known.get(name);
    if (found === undefined) {
      found = this.gl.getUniformLocation(this.program, name);
      this.known.set(name, found);
    }
    return found;
  }
}

function compile(gl: WebGL2RenderingContext, kind: GLenum, source: string): WebGLShader | null {
  const shader = gl.createShader(kind);
  if (!shader) return null;
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  return shader;
}

function linkProgram(
  gl: WebGL2RenderingContext,
  vertexSource: string,
  fragmentSource: string,
): WebGLProgram | null {
  const vertex = compile(gl, gl.VERTEX_SHADER, vertexSource);
  const fragment = compile(gl, gl.FRAGMENT_SHADER, fragmentSource);
  const program = gl.createProgram();
  if (!vertex || !fragment || !program) return null;
  gl.attachShader(program, vertex);
  gl.attachShader(program, fragment);
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : null;
}

/** the name of a renderer without a GPU */
export const SOFTWARE = "software WebGL";

export function rendererName(gl: WebGL2RenderingContext): string {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  return /swiftshader|llvmpipe|software|basic render/i.test(name) ? SOFTWARE : "WebGL";
}

export function plainSampling(gl: WebGL2RenderingContext): void {
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
}

/** Quads of 32 bytes as they came from the server, two texels each. */
export function quadTexture(
  gl: WebGL2RenderingContext,
  words: Uint32Array,
  quads: number,
): WebGLTexture | null {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  plainSampling(gl);
  const perRow = QUADS_PER_ROW;
  const [width, perQuad] = [perRow * 2, QUAD_BYTES / 4];
  gl.texStorage2D(gl.TEXTURE_2D, 1, gl.RGBA32UI, width, Math.max(1, Math.ceil(quads / perRow)));
  const upload = (row: number, rows: number, count: number) => {
    const from = row * perRow * perQuad;
    const part = words.subarray(from, from + count * perQuad);
    gl.texSubImage2D(
      gl.TEXTURE_2D,
      0,
      0,
      row,
      Math.min(width, count * 2),
      rows,
      gl.RGBA_INTEGER,
      gl.UNSIGNED_INT,
      part,
    );
  };
  const whole = Math.floor(quads / perRow);
  if (whole > 0) upload(0, whole, whole * perRow);
  const rest = quads - whole * perRow;
  if (rest > 0) upload(whole, 1, rest);
  return texture;
}
