// By what a quad is coloured, and what the legend calls it: each rule once, read in two ways. The
// Canvas painters read it as numbers of one quad, the shaders as GLSL over the words of a texel.
//
//   stream: 1 + stream mod 8     numbers ─► 2     GLSL ─► (1 + (int((places >> 0) & 255u) % 8))
//
// A rule that is added or changed here changes both painters of both pictures.
import type { LegendBy } from "../api/contract";
import { KIND_FIELDS, type KindField, type Kinds, LOG2_PARTS, LOG2_SHIFT } from "../api/quad";

// Places in the palette; colours.ts fills it in this order.
export const SLOTS = 8;
export const OLDER_SLOT = 9;
export const SIZE_RAMP = 10;
export const AGE_RAMP = 17;
export const RAMP_STEPS = 7;
export const STRIPE = 24;
export const FILTERED = 25;
export const PALETTE_SIZE = 26;
const TRACED_SLOT = 2;

/** What a pool or a stream is called that has no number of its own. */
const MANY = 255;
/** Key of what the legend calls unknown; every other key is one more than the number of its row. */
export const UNKNOWN_KEY = 0;
/** Only "other" can mean it. */
const NO_KEY = -1;

/** log2 of the bytes at both ends of the timeline's ramp of sizes: 512 B and 4 GiB. */
const SIZE_ENDS = [9, 32] as const;

/** How a rule is read: T is a number, or the text of a shader that computes one. */
interface Reading<T> {
  int(value: number): T;
  field(name: KindField | "stack"): T;
  /** not 0: several small blocks in one quad */
  merged: T;
  /** share of the recording's length, on a log scale; the map knows no ages */
  age: T;
  log2Bytes: T;
  /** log2 of the bytes at the ends of the ramp of sizes */
  sizeEnds: readonly [T, T];
  add(a: T, b: number): T;
  rest(a: T, by: number): T;
  atMost(a: T, most: number): T;
  floor(real: T): T;
  /** which of `steps` equal parts a share falls into */
  step(share: T, steps: number): T;
  share(real: T, ends: readonly [T, T]): T;
  isEqual(a: T, to: number): T;
  choose(condition: T, yes: T, no: T): T;
}

interface Rule<T> {
  /** place in the palette */
  colour: T;
  /** number of the row of the legend, for its filter */
  key: T;
}

const ordinal = <T>(r: Reading<T>, a: T): T => r.add(r.rest(a, SLOTS), 1);
const sizeStep = <T>(r: Reading<T>, steps: number): T =>
  r.step(r.share(r.log2Bytes, r.sizeEnds), steps);

const RULES: Readonly<Record<LegendBy, <T>(r: Reading<T>) => Rule<T>>> = {
  stack(r) {
    const slot = r.atMost(r.field("stackSlot"), OLDER_SLOT);
    const isTraced = r.isEqual(r.field("provenance"), 0);
    const known = r.add(r.field("stack"), 1);
    const one = r.choose(r.isEqual(slot, OLDER_SLOT), r.int(UNKNOWN_KEY), known);
    const many = r.choose(isTraced, r.int(NO_KEY), r.int(UNKNOWN_KEY));
    return { colour: slot, key: r.choose(r.merged, many, one) };
  },
  category(r) {
    const slot = r.field("categorySlot");
    return { colour: r.atMost(slot, OLDER_SLOT), key: r.add(slot, 1) };
  },
  stream(r) {
    const stream = r.field("stream");
    return { colour: ordinal(r, stream), key: r.add(stream, 1) };
  },
  pool(r) {
    const pool = r.field("pool");
    const isMany = r.isEqual(pool, MANY);
    return {
      colour: r.choose(isMany, r.int(OLDER_SLOT), ordinal(r, pool)),
      key: r.choose(isMany, r.int(UNKNOWN_KEY), r.add(pool, 1)),
    };
  },
  size(r) {
    return {
      colour: r.add(sizeStep(r, RAMP_STEPS), SIZE_RAMP),
      key: r.add(r.floor(r.log2Bytes), 1),
    };
  },
  age(r) {
    const step = r.step(r.age, RAMP_STEPS);
    return {
      colour: r.choose(r.merged, r.int(0), r.add(step, AGE_RAMP)),
      key: r.choose(r.merged, r.int(NO_KEY), r.add(step, 1)),
    };
  },
  provenance(r) {
    const provenance = r.field("provenance");
    const isTraced = r.isEqual(provenance, 0);
    return {
      colour: r.choose(isTraced, r.int(TRACED_SLOT), r.int(OLDER_SLOT)),
      key: r.add(provenance, 1),
    };
  },
};

function stepOf(share: number, steps: number): number {
  return Math.max(0, Math.min(steps - 1, Math.floor(share * steps)));
}

function shareOf(real: number, [low, high]: readonly [number, number]): number {
  return (real - low) / (high - low);
}

/** Share of an age in steps, on a log scale up to the length of the recording. */
function ageShare(age: number, steps: number): number {
  return Math.log2(1 + Math.max(0, age)) / Math.max(1, Math.log2(1 + steps));
}

export interface Measure {
  merged?: boolean;
  age?: { age: number; steps: number };
  sizeEnds?: readonly [number, number];
}

function numbers(quad: Kinds, of: Measure): Reading<number> {
  return {
    int: (value) => value,
    field: (name) => quad[name],
    merged: of.merged ? 1 : 0,
    age: of.age ? ageShare(of.age.age, of.age.steps) : 0,
    log2Bytes: quad.log2Bytes,
    sizeEnds: of.sizeEnds ?? SIZE_ENDS,
    add: (a, b) => a + b,
    rest: (a, by) => a % by,
    atMost: (a, most) => Math.min(a, most),
    floor: Math.floor,
    step: stepOf,
    share: shareOf,
    isEqual: (a, to) => (a === to ? 1 : 0),
    choose: (condition, yes, no) => (condition !== 0 ? yes : no),
  };
}

/** By what one quad is coloured, and its key. */
export function ruleOf(quad: Kinds, mode: LegendBy, of: Measure): Rule<number> {
  return RULES[mode](numbers(quad, of));
}

/** Step of a ramp between two sizes, given as log2 of their bytes. */
export function sizeStepOf(
  log2Bytes: number,
  steps = RAMP_STEPS,
  ends: readonly [number, number] = SIZE_ENDS,
): number {
  return stepOf(shareOf(log2Bytes, ends), steps);
}

const real = (value: number) => value.toFixed(1);

/** GLSL: a field of the uints `kinds` and `places`. */
export function glslField(name: KindField): string {
  const { word, shift } = KIND_FIELDS[name];
  return `int((${word} >> ${shift}) & 255u)`;
}

/** GLSL: declares what the rules read beside the words. */
export const GLSL_LOG2 = `float log2_bytes = float(places >> ${LOG2_SHIFT}) / ${real(LOG2_PARTS)};`;
export const GLSL_AGE =
  "float age = log2(1.0 + max(0.0, u_age_at - float(first_step))) / max(1.0, log2(1.0 + u_steps));";

export function glslStep(share: string, steps: number): string {
  return `clamp(int(floor(${share} * ${real(steps)})), 0, ${steps - 1})`;
}

function glsl(sizeEnds: readonly [string, string]): Reading<string> {
  return {
    int: (value) => `${value}`,
    field: (name) => (name === "stack" ? "int(stack)" : glslField(name)),
    merged: "merged",
    age: "age",
    log2Bytes: "log2_bytes",
    sizeEnds,
    add: (a, b) => `(${b} + ${a})`,
    rest: (a, by) => `(${a} % ${by})`,
    atMost: (a, most) => `min(${a}, ${most})`,
    floor: (a) => `int(floor(${a}))`,
    step: glslStep,
    share: glslShare,
    isEqual: (a, to) => `(${a} == ${to})`,
    choose: (condition, yes, no) => `(${condition} ? ${yes} : ${no})`,
  };
}

export function glslShare(value: string, [low, high]: readonly [string, string]): string {
  return `((${value} - ${low}) / (${high} - ${low}))`;
}

/** GLSL: sets `colour`, and `key` where it is wanted, by the number of u_mode in `modes`. */
export function glslRules(
  modes: readonly LegendBy[],
  { keys, sizeEnds }: { keys: boolean; sizeEnds?: readonly [string, string] },
): string {
  const reading = glsl(sizeEnds ?? [real(SIZE_ENDS[0]), real(SIZE_ENDS[1])]);
  const cases = modes.map((mode, index) => {
    const { colour, key } = RULES[mode](reading);
    return `if (u_mode == ${index}) { colour = ${colour};${keys ? ` key = ${key};` : ""} }`;
  });
  return cases.join("\n  else ");
}
