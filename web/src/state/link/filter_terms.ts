// The text of a filter as terms, and back. The server reads the same text
// (src/view/filter/filter.h):
//
//   stream:1,2 size:>=1MiB stack:"/attention|sdpa/" -category:unknown
//   └ key:value            └ quotes keep spaces      └ "-": what does not
//
// Words that are no terms are kept as they stand, so that the server can say what is wrong with
// them.

export interface Term {
  key: string;
  value: string;
  not: boolean;
}

/** Up to the next space outside of quotes. */
const WORD = /(?:"[^"]*"?|[^\s"])+/g;

export function parseTerms(text: string): Term[] {
  return (text.match(WORD) ?? []).map((word) => {
    const plain = word.replaceAll('"', "");
    const not = plain.startsWith("-");
    const body = not ? plain.slice(1) : plain;
    const colon = body.indexOf(":");
    return colon < 0
      ? { key: "", value: body, not }
      : { key: body.slice(0, colon), value: body.slice(colon + 1), not };
  });
}

function formatTerm({ key, value, not }: Term): string {
  // the server knows no escape: a quote cannot be part of a value
  const plain = value.replaceAll('"', "");
  const body = /\s/.test(plain) ? `"${plain}"` : plain;
  return `${not ? "-" : ""}${key === "" ? "" : `${key}:`}${body}`;
}

export function formatTerms(terms: readonly Term[]): string {
  return terms.map(formatTerm).join(" ");
}

export function termOf(text: string, key: string): Term | null {
  return parseTerms(text).find((term) => term.key === key) ?? null;
}

/** The text with this as the only term of its key; an empty value takes the term away. */
export function withTerm(text: string, key: string, value: string, not = false): string {
  const terms = parseTerms(text);
  const at = terms.findIndex((term) => term.key === key);
  const rest = terms.filter((term) => term.key !== key);
  if (value.trim() === "") return formatTerms(rest);
  rest.splice(at < 0 ? rest.length : Math.min(at, rest.length), 0, { key, value, not });
  return formatTerms(rest);
}

/** Members of a list value: "1,2" → ["1", "2"]. */
export function members(term: Term | null): string[] {
  return term === null ? [] : term.value.split(",").filter((one) => one !== "");
}

/** The same term with a member more or less. */
export function toggleMember(text: string, key: string, member: string): string {
  const term = termOf(text, key);
  const now = members(term);
  const next = now.includes(member) ? now.filter((one) => one !== member) : [...now, member];
  return withTerm(text, key, next.join(","), term?.not ?? false);
}

/** Terms that name things of one file by number mean something else in another file. */
const OF_ONE_FILE = [
  "frame",
  "stack_id",
  "segment",
  "id",
  "stream",
  "pool",
  "live",
  "born",
  "freed",
];

export function withoutFileTerms(text: string): string {
  return formatTerms(parseTerms(text).filter((term) => !OF_ONE_FILE.includes(term.key)));
}

const WORDS: Record<string, string> = {
  device: "device",
  stream: "stream",
  pool: "pool",
  provenance: "provenance",
  category: "category",
  size: "block",
  requested: "requested",
  life: "life in steps",
  born: "allocated at step",
  freed: "freed at step",
  live: "live after step",
  stack: "stack has",
  phase: "in phase",
  frame: "frame",
  stack_id: "stack",
  segment: "segment",
  id: "allocation",
};

/** For a chip: "not category unknown", "block >=1MiB". */
export function termWords(term: Term): string {
  const word = WORDS[term.key] ?? term.key;
  return `${term.not ? "not " : ""}${word === "" ? "" : `${word} `}${term.value
    .replaceAll(",", ", ")
    .replace(/^>=/, "≥ ")
    .replace(/^<=/, "≤ ")}`;
}

/** "1MiB..2MiB" → ["1MiB", "2MiB"]; what is no such range stays as it was written. */
export function rangeEnds(value: string): [string, string] {
  const cut = value.indexOf("..");
  if (cut >= 0) return [value.slice(0, cut), value.slice(cut + 2)];
  if (value.startsWith(">=")) return [value.slice(2), ""];
  if (value.startsWith("<=")) return ["", value.slice(2)];
  return [value, value];
}

export function rangeText(least: string, most: string): string {
  const [low, high] = [least.trim(), most.trim()];
  if (low === "" && high === "") return "";
  if (high === "") return `>=${low}`;
  return low === "" ? `<=${high}` : `${low}..${high}`;
}
