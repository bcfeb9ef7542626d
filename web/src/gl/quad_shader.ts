// Vertex pulling: no vertex buffers at all. Six vertices per quad; each reads its quad, 32 bytes as
// they came from the server, from an integer texture by its number. Software renderers draw this
// ten times as fast as instanced rectangles. A pan or a zoom changes u_x and u_y, nothing else.

/** Quads per row of the texture; a quad is two texels of four words. */
export const QUADS_PER_ROW = 512;
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
uniform vec3 u_palette[26];
uniform int u_mode;        // order of MODES in colours.ts
uniform int u_filter_keys; // number of known keys; 0: nothing is filtered
uniform int u_filter_rest; // 1: what has no key is filtered away
uniform int u_mark;        // 0 no mark, 1 others fade, 2 others are filtered away
uniform float u_age_at;
uniform float u_steps;

flat out vec3 v_fill;
flat out float v_height;
flat out uint v_look;      // 1 hatched, 2 without seam, 4 pending, 8 many small blocks
out float v_below_top;     // pixels below the upper edge

int ramp(float share) { return clamp(int(floor(share * 7.0)), 0, 6); }

void main() {
  int quad = gl_VertexID / 6;
  int corner = gl_VertexID - quad * 6;
  ivec2 at = ivec2((quad & 511) * 2, quad >> 9);
  uvec4 a = texelFetch(u_quads, at, 0);
  uvec4 b = texelFetch(u_quads, at + ivec2(1, 0), 0);
  uint flags = (b.y >> 8) & 255u;
  bool merged = (flags & 2u) != 0u;
  uint provenance = b.y & 255u;

  float left = floor(u_x.x * float(a.x & 65535u) + u_x.y + 0.5);
  float right = floor(u_x.x * float(a.x >> 16) + u_x.y + 0.5);
  float bottom = floor(u_y.x * uintBitsToFloat(a.y) + u_y.y + 0.5);
  float top = floor(u_y.x * uintBitsToFloat(a.z) + u_y.y + 0.5);

  int colour = 0;
  int key = -1;
  float log2_bytes = float(b.z >> 16) / 256.0;
  float age = log2(1.0 + max(0.0, u_age_at - float(b.w))) / max(1.0, log2(1.0 + u_steps));
  if (u_mode == 0) {
    colour = min(9, int((b.y >> 16) & 255u));
    if (!merged) key = colour == 9 ? 0 : int(b.x) + 1;
    else if (provenance != 0u) key = 0;
  } else if (u_mode == 1) {
    colour = min(9, int(b.y >> 24));
    key = int(b.y >> 24) + 1;
  } else if (u_mode == 2) {
    int stream = int(b.z & 255u);
    colour = 1 + stream % 8;
    key = stream + 1;
  } else if (u_mode == 3) {
    int pool = int((b.z >> 8) & 255u);
    colour = pool == 255 ? 9 : 1 + pool % 8;
    key = pool == 255 ? 0 : pool + 1;
  } else if (u_mode == 4) {
    colour = 10 + ramp((log2_bytes - 9.0) / 23.0);
    key = int(floor(log2_bytes)) + 1;
  } else if (u_mode == 5) {
    colour = merged ? 0 : 17 + ramp(age);
    if (!merged) key = ramp(age) + 1;
  } else {
    key = int(provenance) + 1;
    colour = provenance == 0u ? 2 : 9;
  }

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
  if (u_mark == 1 && !marked) fill = mix(u_palette[25], fill, 0.28);
  if (hidden || (u_mark == 2 && !marked)) {
    fill = u_palette[25];
    look = 2u;
  }
  v_fill = fill;
  v_look = merged ? look | 10u : look;
  v_height = top - bottom;
  bool is_right = corner == 1 || corner == 2 || corner == 4;
  bool is_top = corner == 2 || corner == 4 || corner == 5;
  v_below_top = is_top ? 0.0 : v_height;
  vec2 pixel = vec2(is_right ? right : left, is_top ? top : bottom);
  gl_Position = vec4(pixel / u_size * 2.0 - 1.0, 0.0, 1.0);
}`;

export const FRAGMENT_SHADER = `#version 300 es
precision highp float;
precision highp int;

uniform vec3 u_palette[26];
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
    fill = mix(fill, u_palette[24], 0.9);
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
