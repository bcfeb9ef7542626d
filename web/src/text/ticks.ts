// Where the long and the short marks of an axis stand.
//
//   byteTicks(0, 38 GiB, 650 px) → major 8 GiB, minor 1 GiB
//   decimalStep(3400, 900 px, 86 px) → 500

interface TickSteps {
  major: number;
  minor: number;
}

/** Steps of a memory axis: powers of two of the byte units, so that labels are round in GiB. */
export function byteTicks(span: number, pixels: number, labelPixels = 80): TickSteps {
  if (!(span > 0) || !(pixels > 0)) return { major: 1, minor: 1 };
  const wanted = (span / pixels) * labelPixels;
  let power = Math.max(0, Math.ceil(Math.log2(wanted)));
  // prefer 2^k; labels at 1, 2, 4, 8 … of a unit stay whole numbers across units
  if (2 ** (power - 1) >= wanted * 0.82 && power > 0) power -= 1;
  const major = 2 ** power;
  const perMajor = (major / span) * pixels;
  let divisions = 8;
  while (divisions > 1 && perMajor / divisions < 6) divisions /= 2;
  return { major, minor: Math.max(1, major / divisions) };
}

/** 1, 2 or 5 times a power of ten, at least `labelPixels` apart, never below `least`. */
export function decimalStep(span: number, pixels: number, labelPixels: number, least = 1): number {
  if (!(span > 0) || !(pixels > 0)) return least;
  const wanted = (span / pixels) * labelPixels;
  const decade = 10 ** Math.floor(Math.log10(wanted));
  for (const factor of [1, 2, 5, 10]) {
    if (factor * decade >= wanted * 0.999999) return Math.max(least, factor * decade);
  }
  return Math.max(least, 10 * decade);
}

/** Multiples of `step` in [low, high]; a bound keeps a silly span from looping for ever. */
export function multiples(low: number, high: number, step: number, most = 2000): number[] {
  const out: number[] = [];
  if (!(step > 0) || !Number.isFinite(low) || !Number.isFinite(high)) return out;
  // adding zero turns −0 into 0
  for (let k = Math.ceil(low / step - 1e-9) + 0; k * step <= high + step * 1e-9; k += 1) {
    out.push(k * step);
    if (out.length >= most) break;
  }
  return out;
}

/** Label of a time tick: as many decimals as the step needs. `us` counts from the first event. */
export function timeTickLabel(us: number, stepUs: number): string {
  if (us === 0) return "0";
  if (stepUs < 1000 && Math.abs(us) < 1000) return `${us.toLocaleString("en-US")} µs`;
  if (stepUs < 1e6 && Math.abs(us) < 1e6) {
    const digits = stepUs >= 1000 ? 0 : stepUs >= 100 ? 1 : stepUs >= 10 ? 2 : 3;
    return `${(us / 1000).toFixed(digits)} ms`;
  }
  const digits = Math.max(0, Math.min(6, Math.ceil(6 - Math.log10(stepUs) - 1e-9)));
  return `${(us / 1e6).toLocaleString("en-US", {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  })} s`;
}
