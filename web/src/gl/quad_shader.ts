// Vertex pulling: no vertex buffers at all. Six vertices per quad; each reads its quad, 32 bytes as
// they came from the server, from an integer texture by its number. Software renderers draw this
// ten times as fast as instanced rectangles. A pan or a zoom changes u_x and u_y, nothing else.
import { LEGENDS } from "../api/contract";
import { FILTERED, GLSL_AGE, GLSL_LOG2, glslRules, PALETTE_SIZE, STRIPE } from "./colour_rules";
import { GLSL_CORNERS, GLSL_TEXEL } from "./webgl";

/** Width of the texture that says which keys are filtered away. */
export const FILTER_WIDTH = 1024;

export const VERTEX_SHADER = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;

uniform usampler2D u_quads;
uniform usampler2D u_filter;
uniform vec2 u_x;          // device pixels per column, pixel of column 0
uniform vec2 u_y;          // device pixels per byte, pixel of the tile's origin (from below)
uniform vec2 u_size;       // of the picture, device pixels
uniform vec3 u_palette[${PALETTE_SIZE}];
uniform int u_mode;        // number in LEGENDS
uniform int u_filter_keys; // number of known keys; 0: nothing is filtered
uniform int u_filter_rest; // 1: what has no key is filtered away
uniform int u_mark;        // 0 no mark, 1 others fade, 2 others are filtered away
uniform float u_age_at;
uniform float u_steps;

flat out vec3 v_fill;
flat out float v_height;
flat out uint v_look;      // 1 hatched, 2 without seam, 4 pending, 8 many small blocks
out float v_below_top;     // pixels below the upper edge

void main() {
  ${GLSL_TEXEL}
  uvec4 a = texelFetch(u_quads, at, 0);
  uvec4 b = texelFetch(u_quads, at + ivec2(1, 0), 0);
  uint stack = b.x;
  uint kinds = b.y;
  uint places = b.z;
  uint first_step = b.w;
  uint flags = (kinds >> 8) & 255u;
  bool merged = (flags & 2u) != 0u;
  uint provenance = kinds & 255u;

  float left = floor(u_x.x * float(a.x & 65535u) + u_x.y + 0.5);
  float right = floor(u_x.x * float(a.x >> 16) + u_x.y + 0.5);
  float bottom = floor(u_y.x * uintBitsToFloat(a.y) + u_y.y + 0.5);
  float top = floor(u_y.x * uintBitsToFloat(a.z) + u_y.y + 0.5);

  int colour = 0;
  int key = -1;
  ${GLSL_LOG2}
  ${GLSL_AGE}
  ${glslRules(LEGENDS, { keys: true })}

  bool hidden = (flags & 8u) != 0u;
  if (!hidden && (u_filter_keys > 0 || u_filter_rest > 0)) {
    if (key >= 0 && key < u_filter_keys) {
      uint state = texelFetch(u_filter, ivec2(key % 1024, key / 1024), 0).r;
      hidden = state == 1u || (state == 0u && u_filter_rest == 1);
    } else {
      hidden = u_filter_rest == 1;
    }
  }
  bool marked = (flags & 1u) != 0u;
  vec3 fill = u_palette[colour];
  uint look = provenance == 0u ? 0u : 3u;
  if ((flags & 4u) != 0u) look |= 4u;
  if (u_mark == 1 && !marked) fill = mix(u_palette[${FILTERED}], fill, 0.28);
  if (hidden || (u_mark == 2 && !marked)) {
    fill = u_palette[${FILTERED}];
    look = 2u;
  }
  v_fill = fill;
  v_look = merged ? look | 10u : look;
  v_height = top - bottom;
  ${GLSL_CORNERS}
  v_below_top = is_top ? 0.0 : v_height;
  vec2 pixel = vec2(is_right ? right : left, is_top ? top : bottom);
  gl_Position = vec4(pixel / u_size * 2.0 - 1.0, 0.0, 1.0);
}`;

export const FRAGMENT_SHADER = `#version 300 es
precision highp float;
precision highp int;

uniform vec3 u_palette[${PALETTE_SIZE}];
uniform vec4 u_seam;       // straight alpha
uniform float u_ratio;     // device pixels per CSS pixel

flat in vec3 v_fill;
flat in float v_height;
flat in uint v_look;
in float v_below_top;
out vec4 colour;

void main() {
  vec3 fill = v_fill;
  float across = gl_FragCoord.x - gl_FragCoord.y;
  if ((v_look & 1u) != 0u && mod(across, 7.0 * u_ratio) < 1.8 * u_ratio) {
    fill = mix(fill, u_palette[${STRIPE}], 0.9);
  }
  if ((v_look & 4u) != 0u && mod(gl_FragCoord.y, 4.0 * u_ratio) < 2.0 * u_ratio) {
    fill = mix(fill, u_seam.rgb, 0.35);
  }
  // many blocks in one: thin lines, so that it is not taken for one large block
  if ((v_look & 8u) != 0u && v_height >= 5.0 * u_ratio &&
      mod(v_below_top, 3.0 * u_ratio) < u_ratio) {
    fill = mix(fill, u_seam.rgb, u_seam.a * 0.7);
  }
  if ((v_look & 2u) == 0u && v_below_top < u_ratio && v_height >= 3.0 * u_ratio) {
    float strength = v_height >= 9.0 * u_ratio ? 1.0 : v_height >= 6.0 * u_ratio ? 0.7 : 0.4;
    fill = mix(fill, u_seam.rgb, u_seam.a * strength);
  }
  colour = vec4(fill, 1.0);
}`;
