// What both programs of the pictures need of WebGL2: shaders, and quads as an integer texture.
import { QUAD_BYTES } from "../api/tile";

function compile(gl: WebGL2RenderingContext, kind: GLenum, source: string): WebGLShader | null {
  const shader = gl.createShader(kind);
  if (!shader) return null;
  gl.shaderSource(shader, source);
  gl.compileShader(shader);
  return shader;
}

/** null: this machine cannot. */
export function linkProgram(
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

export function rendererName(gl: WebGL2RenderingContext): string {
  const info = gl.getExtension("WEBGL_debug_renderer_info");
  const name = info ? String(gl.getParameter(info.UNMASKED_RENDERER_WEBGL)) : "";
  return /swiftshader|llvmpipe|software|basic render/i.test(name) ? "software WebGL" : "WebGL";
}

export function plainSampling(gl: WebGL2RenderingContext): void {
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, gl.NEAREST);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.CLAMP_TO_EDGE);
  gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
}

/** Quads of 32 bytes as they came from the server: two texels each, `perRow` of them in a row. */
export function quadTexture(
  gl: WebGL2RenderingContext,
  words: Uint32Array,
  quads: number,
  perRow: number,
): WebGLTexture | null {
  const texture = gl.createTexture();
  gl.bindTexture(gl.TEXTURE_2D, texture);
  plainSampling(gl);
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
