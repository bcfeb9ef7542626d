import { describe, expect, it } from "vitest";
import { LEGENDS } from "../api/contract";
import { HUES } from "../api/map";
import { kindsOf } from "../api/quad";
import { ageShare, GLSL_AGE, GLSL_LOG2, glslRules, QuadColour } from "./colour_rules";

/** The generated GLSL is also JavaScript, but for its types, its literals and its functions. */
function compiled(source: string): (...values: number[]) => { colour: number; key: number } {
  const body = [GLSL_LOG2, GLSL_AGE, source]
    .join("\n")
    .replaceAll(/float (?=\w+ =)/g, "let ")
    .replaceAll(/(\d)u\b/g, "$1")
    .replaceAll(">>", ">>>");
  return new Function(
    "u_mode, stack, kinds, places, first_step, merged, u_age_at, u_steps",
    `const { floor, min, max, log2 } = Math, int = Math.trunc, float = Number;
     const clamp = (v, low, high) => min(high, max(low, v));
     let colour = 0, key = -1;
     ${body}
     return { colour, key };`,
  ) as never;
}

/** Words of quads: every byte takes its ends, the values around them, and some between. */
function* words(): Generator<[kinds: number, places: number]> {
  const bytes = [0, 1, 7, 8, 9, 10, 63, 254, 255];
  for (const [i, one] of bytes.entries()) {
    for (const two of bytes) {
      const three = bytes[(i + 4) % bytes.length] ?? 0;
      yield [
        ((one << 24) | (two << 16) | (three << 8) | (two > 8 ? two : i % 2)) >>> 0,
        ((((i * 9 + two) % 40) << 24) | (two << 16) | (one << 8) | two) >>> 0,
      ];
    }
  }
}

describe("the rules of colours", () => {
  const steps = 5000;
  it.each([...LEGENDS.entries()])("read as a shader and as numbers alike: %i %s", (index, mode) => {
    const shader = compiled(glslRules(LEGENDS, { keys: true }));
    const numbers = new QuadColour();
    let count = 0;
    for (const [kinds, places] of words()) {
      for (const merged of [false, true]) {
        for (const age of [-3, 0, 1, 40, 4999, 90_000]) {
          const quad = kindsOf(17, kinds, places);
          const { colour, key } = numbers.set(mode, quad, merged, ageShare(age, steps));
          const found = shader(index, 17, kinds, places, 100, Number(merged), 100 + age, steps);
          expect(found).toEqual({ colour, key });
          count += 1;
        }
      }
    }
    expect(count).toBe(81 * 2 * 6);
  });
  it.each([...HUES.entries()])("do so for the map: %i %s", (index, mode) => {
    const sizeEnds = [11, 23] as const;
    const shader = compiled(glslRules(HUES, { keys: false, sizeEnds: ["11.0", "23.0"] }));
    const numbers = new QuadColour(sizeEnds);
    for (const [kinds, places] of words()) {
      const wanted = numbers.set(mode, kindsOf(17, kinds, places), false, 0).colour;
      expect(shader(index, 17, kinds, places, 0, 0, 0, 1).colour).toBe(wanted);
    }
  });
});
