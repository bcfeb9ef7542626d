// The map in two programs: one rectangle per tile for its planes, then six vertices per quad,
// pulled from an integer texture by their number as in the timeline (quad_shader.ts).
import { HUES } from "../api/map";
import { FILTERED, GLSL_LOG2, glslRules, glslShare, glslStep } from "./colour_rules";
import {
  MAP_PALETTE_SIZE,
  MAX_WITH_HOLE,
  RED_RAMP,
  RED_SMALL,
  RED_STEPS,
  SMALL,
} from "./map_painter";
import { GLSL_CORNERS, GLSL_TEXEL } from "./webgl";

const RAMP_ENDS = ["u_ramp.x", "u_ramp.y"] as const;

const HEAD = `#version 300 es
precision highp float;
precision highp int;
precision highp usampler2D;
uniform vec2 u_x;          // device pixels per column, pixel of column 0
uniform vec2 u_y;          // device pixels per byte, pixel of the tile's y0 (from below)
uniform vec2 u_size;       // of the picture, device pixels
uniform vec3 u_palette[${MAP_PALETTE_SIZE}];
uniform int u_mark;        // 0 no mark, 1 others fade, 2 others are filtered away
`;

export const PLANE_VERTEX = `${HEAD}
uniform vec2 u_cells;      // columns and rows of the tile
uniform float u_bytes;     // height of the tile
out vec2 v_cell;
void main() {
  int corner = gl_VertexID;
  ${GLSL_CORNERS}
  v_cell = vec2(is_right ? u_cells.x : 0.0, is_top ? u_cells.y : 0.0);
  float x = u_x.x * v_cell.x + u_x.y;
  float y = (is_top ? u_y.x * u_bytes : 0.0) + u_y.y;
  gl_Position = vec4(vec2(x, y) / u_size * 2.0 - 1.0, 0.0, 1.0);
}`;

export const PLANE_FRAGMENT = `${HEAD}
uniform sampler2D u_plane;
uniform vec2 u_cells;
uniform vec3 u_tint;
uniform int u_red_cells;   // 1: what passes was live at an out-of-memory
in vec2 v_cell;
out vec4 colour;
void main() {
  ivec2 at = ivec2(clamp(floor(v_cell), vec2(0.0), u_cells - 1.0));
  vec3 cell = texelFetch(u_plane, at, 0).rgb;
  if (cell.r == 0.0 && cell.g == 0.0) discard;
  float passes = cell.r == 0.0 ? 0.0 : min(1.0, cell.b / cell.r);
  vec3 live = u_red_cells == 1
    ? mix(u_palette[${SMALL}], u_palette[${RED_SMALL}], passes)
    : mix(u_palette[${FILTERED}], u_palette[${SMALL}], u_mark == 0 ? passes : 0.28);
  float share = cell.r > 0.998 ? 1.0 : cell.r * ${MAX_WITH_HOLE};
  float alpha = max(cell.r > 0.0 ? 0.3 : 0.0, max(cell.g, cell.r));
  colour = vec4(mix(u_tint, live, share) * alpha, alpha);
}`;

export const MAP_QUAD_VERTEX = `${HEAD}
uniform usampler2D u_quads;
uniform int u_mode;        // number in HUES
uniform int u_red;
uniform int u_red_cells;
uniform vec2 u_ramp;      // log2 of the bytes at both ends of the ramp of sizes
uniform float u_ratio;
flat out vec3 v_fill;
flat out vec4 v_edges;     // left, right, bottom, top
flat out uint v_look;      // 1 hatched, 2 outline, 4 without seam

void main() {
  ${GLSL_TEXEL}
  vec4 edges = uintBitsToFloat(texelFetch(u_quads, at, 0));
  uvec4 b = texelFetch(u_quads, at + ivec2(1, 0), 0);
  uint kinds = b.z;
  uint places = b.w;
  uint flags = (kinds >> 8) & 255u;
  uint provenance = kinds & 255u;
  ${GLSL_LOG2}

  float left = floor(u_x.x * edges.x + u_x.y + 0.5);
  float right = max(left + 1.0, floor(u_x.x * edges.y + u_x.y + 0.5));
  float bottom = floor(u_y.x * edges.z + u_y.y + 0.5);
  float top = max(bottom + 1.0, floor(u_y.x * edges.w + u_y.y + 0.5));

  int colour = 0;
  ${glslRules(HUES, { keys: false, sizeEnds: RAMP_ENDS })}
  if (u_red == 1 && (flags & 4u) != 0u && ((flags & 8u) == 0u || u_red_cells == 1)) {
    colour = ${RED_RAMP} + ${glslStep(glslShare("log2_bytes", RAMP_ENDS), RED_STEPS)};
  }
  bool away = (flags & 8u) != 0u && u_red_cells == 0;
  if (away) colour = ${FILTERED};
  vec3 fill = u_palette[colour];
  bool marked = (flags & 1u) != 0u;
  if (u_mark == 1 && !marked) fill = mix(u_palette[${FILTERED}], fill, 0.28);
  if (u_mark == 2 && !marked) fill = u_palette[${FILTERED}];
  // stripes need room to be read as such
  v_look = provenance != 0u && !away && top - bottom >= 10.0 * u_ratio ? 1u : 0u;
  if (top - bottom <= 4.0 * u_ratio) v_look |= 4u;
  if ((flags & 2u) != 0u) {
    v_look = 2u;
    // an outline that is smaller than its own lines is none
    if (right - left < 6.0 * u_ratio || top - bottom < 6.0 * u_ratio) right = left;
  }
  v_fill = fill;
  v_edges = vec4(left, right, bottom, top);
  ${GLSL_CORNERS}
  vec2 pixel = vec2(is_right ? right : left, is_top ? top : bottom);
  gl_Position = vec4(pixel / u_size * 2.0 - 1.0, 0.0, 1.0);
}`;

export const MAP_QUAD_FRAGMENT = `#version 300 es
precision highp float;
precision highp int;
uniform vec3 u_outline;
uniform vec3 u_stripe;
uniform vec3 u_tint;
uniform float u_ratio;
flat in vec3 v_fill;
flat in vec4 v_edges;
flat in uint v_look;
out vec4 colour;
void main() {
  vec2 at = gl_FragCoord.xy;
  if ((v_look & 2u) != 0u) {
    vec4 inside = vec4(at.x - v_edges.x, v_edges.y - at.x, at.y - v_edges.z, v_edges.w - at.y);
    if (min(min(inside.x, inside.y), min(inside.z, inside.w)) > u_ratio) discard;
    colour = vec4(u_outline, 1.0);
    return;
  }
  vec3 fill = v_fill;
  if ((v_look & 1u) != 0u && mod(at.x - at.y, 7.0 * u_ratio) < 1.3 * u_ratio) {
    fill = mix(fill, u_stripe, 0.55);
  }
  if ((v_look & 4u) == 0u && v_edges.w - at.y < u_ratio) fill = u_tint;
  colour = vec4(fill, 1.0);
}`;
