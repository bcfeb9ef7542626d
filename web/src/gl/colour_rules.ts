// Which colour a quad has, and which row of the legend it belongs to: each rule once, read in two
// ways. The Canvas painters read a rule as numbers of one quad, the shaders read it as GLSL over
// the words of a texel.
//
//   stream: 1 + stream mod 8   QuadColour ─► 2   GLSL ─► (1 + (int((places >> 0) & 255u) % 8))
//
// A change here changes both painters of both pictures. Cost: no allocation per quad.
import type { LegendBy } from "../api/contract";
import { KIND_FIELDS, type KindField, type Kinds, LOG2_PARTS, LOG2_SHIFT } from "../api/quad";

// Places in the palette; colours.ts fills it in this order.
export const SLOTS = 8;
export const OLDER_SLOT = 9;
export const SIZE_RAMP = 10;
export const AGE_RAMP = 17;
const RAMP_STEPS = 7;
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
  /** a condition: the quad stands for several small blocks */
  merged: T;
  /** age as a share of the recording's length, on a log scale; the map has no colours by age */
  age: T;
  log2Bytes: T;
  /** log2 of the bytes at the ends of the ramp of sizes */
  sizeEnds: readonly [T, T];
  add(a: T, b: number): T;
  mod(a: T, by: number): T;
  atMost(a: T, most: number): T;
  floor(real: T): T;
  /** which of `steps` equal parts a share falls into */
  step(share: T, steps: number): T;
  share(real: T, ends: readonly [T, T]): T;
  isEqual(a: T, to: number): T;
  choose(condition: T, yes: T, no: T): T;
}

interface Rule {
  /** place in the palette */
  colour<T>(r: Reading<T>): T;
  /** number of the row of the legend, for its filter */
  key<T>(r: Reading<T>): T;
}

const ordinal = <T>(r: Reading<T>, a: T): T => r.add(r.mod(a, SLOTS), 1);
const sizeStep = <T>(r: Reading<T>, steps: number): T =>
  r.step(r.share(r.log2Bytes, r.sizeEnds), steps);

const isTraced = <T>(r: Reading<T>): T => r.isEqual(r.field("provenance"), 0);

const RULES: Readonly<Record<LegendBy, Rule>> = {
  stack: {
    colour: (r) => r.atMost(r.field("stackSlot"), OLDER_SLOT),
    key: (r) => {
      const known = r.add(r.field("stack"), 1);
      const isOlder = r.isEqual(r.atMost(r.field("stackSlot"), OLDER_SLOT), OLDER_SLOT);
      const one = r.choose(isOlder, r.int(UNKNOWN_KEY), known);
      const many = r.choose(isTraced(r), r.int(NO_KEY), r.int(UNKNOWN_KEY));
      return r.choose(r.merged, many, one);
    },
  },
  category: {
    colour: (r) => r.atMost(r.field("categorySlot"), OLDER_SLOT),
    key: (r) => r.add(r.field("categorySlot"), 1),
  },
  stream: {
    colour: (r) => ordinal(r, r.field("stream")),
    key: (r) => r.add(r.field("stream"), 1),
  },
  pool: {
    colour: (r) => {
      const pool = r.field("pool");
      return r.choose(r.isEqual(pool, MANY), r.int(OLDER_SLOT), ordinal(r, pool));
    },
    key: (r) => {
      const pool = r.field("pool");
      return r.choose(r.isEqual(pool, MANY), r.int(UNKNOWN_KEY), r.add(pool, 1));
    },
  },
  size: {
    colour: (r) => r.add(sizeStep(r, RAMP_STEPS), SIZE_RAMP),
    key: (r) => r.add(r.floor(r.log2Bytes), 1),
  },
  age: {
    colour: (r) => r.choose(r.merged, r.int(0), r.add(r.step(r.age, RAMP_STEPS), AGE_RAMP)),
    key: (r) => r.choose(r.merged, r.int(NO_KEY), r.add(r.step(r.age, RAMP_STEPS), 1)),
  },
  provenance: {
    colour: (r) => r.choose(isTraced(r), r.int(TRACED_SLOT), r.int(OLDER_SLOT)),
    key: (r) => r.add(r.field("provenance"), 1),
  },
};

function stepOf(share: number, steps: number): number {
  return Math.max(0, Math.min(steps - 1, Math.floor(share * steps)));
}

function shareOf(real: number, [low, high]: readonly [number, number]): number {
  return (real - low) / (high - low);
}

/** An age as a share of the recording's length, both in steps, on a log scale. */
export function ageShare(age: number, steps: number): number {
  return Math.log2(1 + Math.max(0, age)) / Math.max(1, Math.log2(1 + steps));
}

const NO_QUAD: Kinds = {
  stack: 0,
  provenance: 0,
  flags: 0,
  stackSlot: 0,
  categorySlot: 0,
  stream: 0,
  pool: 0,
  log2Bytes: 0,
};

/** The colour and the key of one quad. One object serves all quads of a painter, one by one. */
export class QuadColour implements Reading<number> {
  merged = 0;
  age = 0;
  private quad: Kinds = NO_QUAD;
  private rule = RULES.stack;

  constructor(public sizeEnds: readonly [number, number] = SIZE_ENDS) {}

  /** Turns to another quad; earlier results are overwritten. */
  set(mode: LegendBy, quad: Kinds, merged: boolean, age: number): this {
    this.rule = RULES[mode];
    this.quad = quad;
    this.merged = merged ? 1 : 0;
    this.age = age;
    return this;
  }

  /** Place in the palette. */
  get colour(): number {
    return this.rule.colour(this);
  }

  /** What the legend calls the quad, as a number for filters. −1: only "other" can mean it. */
  get key(): number {
    return this.rule.key(this);
  }

  get log2Bytes(): number {
    return this.quad.log2Bytes;
  }

  int(value: number): number {
    return value;
  }

  field(name: KindField | "stack"): number {
    return this.quad[name];
  }

  add(a: number, b: number): number {
    return a + b;
  }

  mod(a: number, by: number): number {
    return a % by;
  }

  atMost(a: number, most: number): number {
    return Math.min(a, most);
  }

  floor(a: number): number {
    return Math.floor(a);
  }

  step(share: number, steps: number): number {
    return stepOf(share, steps);
  }

  share(value: number, ends: readonly [number, number]): number {
    return shareOf(value, ends);
  }

  isEqual(a: number, to: number): number {
    return a === to ? 1 : 0;
  }

  choose(condition: number, yes: number, no: number): number {
    return condition !== 0 ? yes : no;
  }
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
function glslField(name: KindField): string {
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
    mod: (a, by) => `(${a} % ${by})`,
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
    const colour = `colour = ${RULES[mode].colour(reading)};`;
    const key = keys ? ` key = ${RULES[mode].key(reading)};` : "";
    return `if (u_mode == ${index}) { ${colour}${key} }`;
  });
  return cases.join("\n  else ");
}
