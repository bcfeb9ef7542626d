// Text of a file as it may be shown: what cannot be seen, or would turn the text round, is written
// out, and endless names end. Every label that comes from a file passes here.
//
//   visible("model\u202eyp.tnrap") → "model\u{202e}yp.tnrap" with the escape in letters
//   visible("a\nb")                → "a\nb" in one line
const MAX_CHARACTERS = 2000;

// controls, formats (bidirectional ones, zero width, tags), half surrogates, separators of lines,
// and fillers that are letters by name and blanks by look
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

function written(character: string): string {
  return SHORT[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

export function visible(text: string): string {
  if (text.length <= MAX_CHARACTERS) return text.replace(UNSEEN, written);
  // not through the middle of a pair
  const half = /[\ud800-\udbff]/.test(text.charAt(MAX_CHARACTERS - 1)) ? 1 : 0;
  const end = MAX_CHARACTERS - half;
  const rest = (text.length - end).toLocaleString("en-US");
  return `${text.slice(0, end).replace(UNSEEN, written)}… (${rest} characters more)`;
}

const MAX_LINES = 60;

/** A text of several lines, for a tooltip: each line made visible, and not too many of them. */
export function visibleLines(text: string): string {
  const lines = text.split("\n", MAX_LINES + 1);
  const shown = lines.slice(0, MAX_LINES).map(visible);
  if (lines.length > MAX_LINES) shown.push("…");
  return shown.join("\n");
}

/**
 * Before, in and after a match that is given in bytes of UTF-8, as the server counts.
 *
 *   splitAtBytes("für forward", [5, 12]) → ["für ", "forward", ""]
 */
export function splitAtBytes(text: string, [from, to]: readonly [number, number]) {
  const bytes = new TextEncoder().encode(text);
  const part = (low: number, high: number) => new TextDecoder().decode(bytes.subarray(low, high));
  const end = Math.max(from, to);
  return [part(0, from), part(from, end), part(end, bytes.length)] as const;
}
